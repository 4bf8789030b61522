"""The command of the case study: what it prints, what it writes, what it refuses."""

import csv
import io
import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from benchmarks.archive import read_archive
from research.case_study import CASE_WAYS
from research.management.commands.case_study import COST_COLUMNS, counted_costs
from tests.paths import ROOT

REFERENCE = ROOT / "benchmarks" / "reference"
KITS = [
    argument
    for name in ("amd-epyc-kvm-2vcpu", "intel-xeon-amx-kvm-2vcpu")
    for argument in ("--kit", str(REFERENCE / f"{name}.tar.gz"))
]
EPYC = "KVM guest, 2 vCPUs of an AMD EPYC"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return the folder of the results, and what was printed."""
    folder, printed = tmp_path_factory.mktemp("study"), io.StringIO()
    costs = folder / "costs.csv"
    costs.write_text(f"{','.join(COST_COLUMNS)}\nsgm/census,2e9,1e7,1e6,30\n")
    arguments = ("--target", EPYC, "--costs", str(costs), "--output", str(folder))
    call_command("case_study", *KITS, *arguments, stdout=printed)
    return folder, printed.getvalue()


@pytest.fixture(scope="module")
def report(study):
    return json.loads((study[0] / "case-study.json").read_text())


@pytest.fixture(scope="module")
def rows(study):
    with (study[0] / "case-study.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_what_is_printed_is_what_is_written(study, report, rows):
    printed = study[1]
    assert f"{EPYC}, predicted from KVM guest" in printed
    assert tuple(report) == CASE_WAYS
    summary = printed[printed.index("Errors over 1 pairs") :].splitlines()
    line = next(line for line in summary if line.startswith("roofline"))
    assert float(line.split()[1]) == pytest.approx(report["roofline"]["mean"], rel=0.01)
    by_stage = {}
    for row in rows:
        if row["way"] == "roofline":
            error = 100 * abs(float(row["predicted_s"]) / float(row["measured_s"]) - 1)
            by_stage.setdefault(row["stage"], []).append(error)
    assert [len(errors) for errors in by_stage.values()] == [2] * 7
    assert np.mean(list(by_stage.values())) == pytest.approx(report["roofline"]["mean"])


def test_figures_12_and_13_show_the_same_numbers(study, report, rows):
    folder = study[0]
    bars = json.loads((folder / "case-study-1.plotly.json").read_text())["data"]
    assert [trace["name"] for trace in bars] == list(CASE_WAYS)
    answered = {(row["way"], row["stage"]) for row in rows}
    assert {(trace["name"], stage) for trace in bars for stage in trace["x"]} == answered
    points = json.loads((folder / "case-study-worth.plotly.json").read_text())["data"]
    means = {way: pytest.approx([report[way]["mean"]]) for way in CASE_WAYS}
    assert {trace["name"]: trace["y"] for trace in points} == means
    assert "plotly.min.js" in (folder / "case-study-worth.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([*KITS, "--target", "moon"], "unknown machine 'moon'; known: KVM guest"),
        ([*KITS, "--output", "/no/such/folder"], "no such folder"),
        ([*KITS, "--costs", "/no/such/file.csv"], "file.csv"),
        (["--kit", "/no/such/file.tar.gz"], "file.tar.gz"),
        (KITS[:2], "no stage of HOG or SGM"),
    ],
)
def test_refusals_say_why(arguments, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("case_study", *arguments)


@pytest.mark.parametrize("row", ["sgm/census,2e9,1e7,many,30", "sgm/census,2e9,1e7,-1,30", "sgm/census,2e9,nan,1,30"])
def test_a_bad_cost_is_named_by_its_line(tmp_path, row):
    costs = tmp_path / "costs.csv"
    costs.write_text(f"{','.join(COST_COLUMNS)}\nsgm/census,2e9,1e7,1e6,30\n{row}\n")
    with pytest.raises(CommandError, match=r"costs\.csv, line 3"):
        call_command("case_study", *KITS, "--costs", str(costs))


def test_machines_without_counters_give_no_costs():
    with (REFERENCE / "amd-epyc-kvm-2vcpu.tar.gz").open("rb") as file:
        delivery = read_archive(file)
    assert counted_costs([delivery], EPYC) == {}
