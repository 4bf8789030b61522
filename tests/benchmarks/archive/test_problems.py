"""Problems are reported together, and a report stays short."""

import json

from tests.benchmarks.tarballs import csv_of, pack, refusal, rows_of, with_manifest


def test_all_of_a_text_may_be_invalid_without_a_long_report(files):
    error = refusal(pack(with_manifest(files | {"workloads.json": json.dumps(["x" * 1000] * 500).encode()})))
    assert len(error.problems) == 50
    assert error.more == 450
    assert str(error).endswith("\nand 450 more")
    assert max(map(len, str(error).splitlines())) < 300


def test_problems_of_all_members_are_reported_together(files):
    rows = [row | {"time_ns": "0"} for row in rows_of(files["runs.csv"])]
    platform = json.dumps(json.loads(files["platform.json"]) | {"n_nu": 9}).encode()
    counters = files["counters.csv"].replace(b"ok", b"okay", 1)
    broken = files | {"runs.csv": csv_of(rows), "platform.json": platform, "counters.csv": counters}
    error = refusal(pack(with_manifest(broken)))
    assert [p.member for p in error.problems] == ["platform.json", *["runs.csv"] * 10, "counters.csv"]
    assert error.more == len(rows) - 10
    assert str(error).splitlines()[1] == "runs.csv:2: time_ns 0 is less than 1"
