"""Commands that evaluate on stored profiles: evaluate_ablation, evaluate_parallelisation, evaluate_programs."""

import json
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from predictor.models import Evaluation
from research.mpet2020_weights import weighted_methods
from research.mpet_ablation import ablation_methods
from tests.predictor.conftest import store
from tests.samples import sample_measurements, sample_workload


@pytest.fixture
def report(db, tmp_path):
    """Runs a command; returns its report."""

    def run(command, *arguments):
        out = tmp_path / "report.json"
        call_command(command, "--json", str(out), *arguments)
        return json.loads(out.read_text())

    return run


def test_an_ablation_of_mpet2020_has_the_weights_of_the_papers_future_work(report):
    store(sample_measurements(4, 6))
    arguments = ("--sample", "2", "--method", "mpet2020", "--ablation", "mpet2020")
    assert list(report("evaluate_ablation", *arguments)["methods"]) == [
        "mpet2020",
        *(one.name for one in weighted_methods()),
    ]


@pytest.mark.lab
def test_an_ablation_is_added_to_the_methods_and_not_saved(report):
    store(sample_measurements(4, 6))
    arguments = ("--sample", "2", "--method", "mpet")
    names = ["mpet", *(method.name for method in ablation_methods())]
    assert list(report("evaluate_ablation", *arguments)["methods"]) == names
    assert not Evaluation.objects.exists()
    with pytest.raises(CommandError, match="an ablation cannot be saved"):
        report("evaluate_ablation", *arguments, "--save")


def test_parallelisation_in_table_and_json(report, capsys):
    store(sample_measurements(3, 12))
    found = report("evaluate_parallelisation")
    assert (found["origin"], found["profiles"]) == ("measured", 36)
    assert list(found["methods"]) == ["mpet", "mpet2020", "ideal", "Amdahl", "median of all"]
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert float(rows[0][1]) == pytest.approx(found["methods"]["mpet"]["mean"], rel=0.01)
    assert found["methods"]["mpet"]["count"] == 36
    assert found["methods"]["mpet"]["refused"] == 0
    assert found["methods"]["ideal"]["coverage"] is None
    # sample_runs: t(n) = (0.1 + 0.9/n) t(1) for all, so that all who know a benchmark are right within the noise
    assert found["methods"]["mpet"]["mean"] < 2 < found["methods"]["ideal"]["mean"]


def test_siblings_are_no_benchmarks_unless_asked_for(report):
    """Two sections of one application, of one strategy, and nothing else of it."""
    records = [sample_workload(index, strategy="locks" if index < 2 else "pipeline") for index in range(6)]
    store(replace(sample_measurements(2, 6), workloads=records))
    found = [report("evaluate_parallelisation", *arguments) for arguments in ([], ["--siblings"])]
    assert [one["methods"]["mpet"]["refused"] for one in found] == [4, 0]


def test_programs_in_table_and_json(report, capsys):
    store(sample_measurements(4, 10, counters=False))
    found = report("evaluate_programs", "--draws", "12")
    first, _, *rules = capsys.readouterr().out.splitlines()
    assert first.startswith("12 programs, 0 refused")
    assert [line.split("  ")[0] for line in rules] == list(found["rules"])
    # sample_runs: t(n) = (0.1 + 0.9/n) t(1) for all, so that every sum is right within the noise
    assert found["error"] < 2
    assert found["rules"]["correlation 0"]["factor"] <= found["rules"]["correlation 1"]["factor"]


def test_sections_of_one_application_and_every_machine_as_a_reference(report):
    store(sample_measurements(3, 10, counters=False))
    options = ["--application", "--references", "all", "--half", "second", "--draws", "4"]
    assert report("evaluate_programs", *options)["programs"] == 4


@pytest.mark.parametrize(
    ("command", "strategy", "reason"),
    [("evaluate_parallelisation", "unknown", "known strategy"), ("evaluate_programs", "locks", "too few workloads")],
)
def test_refusals_say_why(db, command, strategy, reason):
    with pytest.raises(CommandError, match="stored"):
        call_command(command)
    records = [sample_workload(index, strategy=strategy) for index in range(3)]
    store(replace(sample_measurements(3, 3, counters=False), workloads=records))
    with pytest.raises(CommandError, match=reason):
        call_command(command)
