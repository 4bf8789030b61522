import json

import pytest
from django.core.management import CommandError, call_command

from tests.predictor.conftest import store
from tests.samples import sample_measurements

COMMAND = "evaluate_programs"


def test_table_and_json_agree(db, capsys, tmp_path):
    store(sample_measurements(4, 10, counters=False))
    out = tmp_path / "report.json"
    call_command(COMMAND, "--draws", "12", "--json", str(out))
    report = json.loads(out.read_text())
    first, _, *rules = capsys.readouterr().out.splitlines()
    assert first.startswith("12 programs, 0 refused")
    assert [line.split("  ")[0] for line in rules] == list(report["rules"])
    # sample_runs: t(n) = (0.1 + 0.9/n) t(1) for all, so that every sum is right within the noise
    assert report["error"] < 2
    assert report["rules"]["correlation 0"]["factor"] <= report["rules"]["correlation 1"]["factor"]


def test_sections_of_one_application_and_every_machine_as_a_reference(db, tmp_path):
    store(sample_measurements(3, 10, counters=False))
    out = tmp_path / "report.json"
    options = ["--application", "--references", "all", "--half", "second", "--draws", "4"]
    call_command(COMMAND, *options, "--json", str(out))
    assert json.loads(out.read_text())["programs"] == 4


def test_refusals_say_why(db):
    with pytest.raises(CommandError, match="stored"):
        call_command(COMMAND)
    store(sample_measurements(3, 3, counters=False))
    with pytest.raises(CommandError, match="too few workloads"):
        call_command(COMMAND, "--draws", "2")
