"""The campaign over public histories of benchmarks, on made ones of its two forms."""

import json
import sys

import pytest

from lab import ci_histories
from tests.benchmarks.client.test_ci_translation import made_history


@pytest.mark.lab
def test_it_reports_each_history_with_the_constants_of_the_other(tmp_path, monkeypatch, capsys):
    entries = [
        {
            "commit": {"id": run.commit},
            "date": 1e12 + 1e9 * number,
            "benches": [
                {"name": name, "value": 1 / value.seconds, "unit": "iter/sec", "extra": f"5 on {run.cpu}-CPU @ 3 GHz"}
                for name, value in run.values.items()
            ],
        }
        for number, run in enumerate(made_history(1, runs=12))
    ]  # fmt: skip
    (tmp_path / "data.js").write_text("window.BENCHMARK_DATA = " + json.dumps({"entries": {"speed": entries}}))
    for number, run in enumerate(made_history(2, runs=12)):
        folder = tmp_path / "runs" / f"{number}"
        folder.mkdir(parents=True)
        system = {"cpu_model": run.cpu, "dynoxide_commit": run.commit, "timestamp": run.time}
        times = {name: value.seconds * 1e9 for name, value in run.values.items()}
        steps = [{"step": name, "p50_ms": seconds, "count": 100} for name, seconds in run.calibration.items()]
        for name, content in (
            ("system_info", system),
            ("criterion_baseline", times),
            ("dynamodb_local", {"steps": steps}),
        ):
            (folder / f"{name}.json").write_text(json.dumps(content))
    for name, value in {"GRID": {"CPU_SD": (4.0,)}, "FIRST": (9,), "INJECTED": (1.5,)}.items():
        monkeypatch.setattr(ci_histories, name, value)
    monkeypatch.setattr(ci_histories.translation, "CPU_SD", 4.0)
    options = ["--timezonefinder", str(tmp_path / "data.js"), "--dynoxide", str(tmp_path / "runs")]
    monkeypatch.setattr(sys, "argv", ["ci_histories", *options])
    ci_histories.main()
    told = capsys.readouterr().out
    assert "timezonefinder: 12 runs; constants chosen on dynoxide: {'CPU_SD': 4.0}" in told
    assert told.count("| none: the CPU model alone |") == 2 and told.count("| DynamoDB Local in the same job |") == 1
    assert told.count("9 earlier runs or more: ") == 2 and "an injected 50% found in 100%" in told
