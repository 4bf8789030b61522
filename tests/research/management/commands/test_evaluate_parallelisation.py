import json
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from tests.predictor.conftest import store
from tests.samples import sample_measurements, sample_workload

COMMAND = "evaluate_parallelisation"


def test_table_and_json_agree(db, capsys, tmp_path):
    store(sample_measurements(3, 12))
    out = tmp_path / "report.json"
    call_command(COMMAND, "--json", str(out))
    report = json.loads(out.read_text())
    assert (report["origin"], report["profiles"]) == ("measured", 36)
    assert list(report["methods"]) == ["mpet", "mpet2020", "ideal", "Amdahl", "median of all"]
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert float(rows[0][1]) == pytest.approx(report["methods"]["mpet"]["mean"], rel=0.01)
    assert report["methods"]["mpet"]["count"] == 36
    assert report["methods"]["mpet"]["refused"] == 0
    assert report["methods"]["ideal"]["coverage"] is None
    # sample_runs: t(n) = (0.1 + 0.9/n) t(1) for all, so that all who know a benchmark are right within the noise
    assert report["methods"]["mpet"]["mean"] < 2 < report["methods"]["ideal"]["mean"]


def test_siblings_are_no_benchmarks_unless_asked_for(db, capsys, tmp_path):
    """Two sections of one application, of one strategy, and nothing else of it."""
    records = [sample_workload(index, strategy="locks" if index < 2 else "pipeline") for index in range(6)]
    store(replace(sample_measurements(2, 6), workloads=records))
    out = tmp_path / "report.json"
    refused = []
    for arguments in ([], ["--siblings"]):
        call_command(COMMAND, "--json", str(out), *arguments)
        refused.append(json.loads(out.read_text())["methods"]["mpet"]["refused"])
    assert refused == [4, 0]


def test_refusals_say_why(db):
    with pytest.raises(CommandError, match="stored"):
        call_command(COMMAND)
    records = [sample_workload(index, strategy="unknown") for index in range(3)]
    store(replace(sample_measurements(2, 3), workloads=records))
    with pytest.raises(CommandError, match="known strategy"):
        call_command(COMMAND)
