import csv
import json

import pytest
from django.core.management import CommandError, call_command

from predictor.models import PaperReport
from predictor.models.evaluations import PAPER_TABLES
from tests.predictor.conftest import store
from tests.samples import sample_measurements


@pytest.fixture
def output(tmp_path):
    path = tmp_path / "out"
    path.mkdir()
    return path


def test_files_hold_the_same_numbers(measured, output, capsys):
    call_command("paper_figures", "--database", "--output", str(output), "--sample", "6")
    results = json.loads((output / "paper.json").read_text())
    assert tuple(results) == PAPER_TABLES
    for name, rows in results.items():
        with (output / f"{name}.csv").open(newline="") as file:
            written = list(csv.DictReader(file))
        assert len(written) == len(rows) > 0
        assert list(written[0]) == list(rows[0])
    average = float(next(csv.DictReader((output / "table5.csv").open()))["av"])
    assert average == results["table5"][0]["av"]
    figure = json.loads((output / "figure11.plotly.json").read_text())
    assert figure["data"][0]["x"] == [row["distance"] for row in results["figure11"] if row["candidates"] == 1]
    assert "layout" not in figure["layout"]["template"]  # where Plotly's own has its colours
    assert "plotly.min.js" in (output / "figure11.html").read_text()
    assert (output / "plotly.min.js").is_file()
    printed = capsys.readouterr().out
    assert "Table 5: error in %" in printed
    assert "work_imbalance" in printed


def test_results_of_the_database_are_kept(measured):
    call_command("paper_figures", "--sample", "3", "--seed", "8")
    (report,) = PaperReport.objects.all()
    assert (report.origin, report.sample, report.seed) == ("measured", 3, 8)
    assert tuple(report.results) == PAPER_TABLES
    call_command("paper_figures", "--sample", "3", "--no-save")
    assert PaperReport.objects.count() == 1


def test_simulated_profiles_alone_are_said_to_be(db, capsys):
    store(sample_measurements(4, 6, origin="simulated"), "demo", kind="simulator")
    call_command("paper_figures", "--sample", "3")
    assert "simulated" in capsys.readouterr().err
    assert PaperReport.objects.get().origin == "simulated"


def test_a_dataset_needs_no_database(folder, output):
    """Without the db fixture a query would fail."""
    call_command("paper_figures", "--dataset", str(folder), "--output", str(output), "--sample", "5")
    results = json.loads((output / "paper.json").read_text())
    assert results["table5"][0]["count"] == 5
    assert [row["count"] for row in results["influence"]] == [0] * 7


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--save"], "not allowed with --dataset"),
        (["--origin", "measured"], "not allowed with --dataset"),
        (["--output", "/no/such/folder"], "no such folder"),
        (["--sample", "0"], "sample"),
    ],
)
def test_refusals_say_why(folder, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("paper_figures", "--dataset", str(folder), *arguments)


def test_an_empty_database_is_refused(db):
    with pytest.raises(CommandError, match="no measured"):
        call_command("paper_figures")
