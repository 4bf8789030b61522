"""Results of other benchmark tools: what each gives, and what is refused with which words."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mpet.ci import importers
from mpet.ci.history import Run, Value, append_runs, read_history
from mpet.ci.importers import read_results, seconds_of
from mpet.errors import UsageError

PYTEST = {
    "machine_info": {"cpu": {"brand_raw": "AMD EPYC 7763"}, "python_version": "3.12.1"},
    "commit_info": {"id": "4f19952", "branch": "main"},
    "benchmarks": [
        {"fullname": "test_a.py::test_parse[1]", "stats": {"median": 0.25, "mean": 0.3, "stddev": 0.01, "rounds": 7}}
    ],
}
JMH = [
    {
        "benchmark": "org.x.Parse.run",
        "params": {"size": "10"},
        "jdkVersion": "21",
        "primaryMetric": {"score": 4.0, "scoreError": "NaN", "scoreUnit": "us/op", "rawData": [[3.0, 4.0], [5.0]]},
    },
    {
        "benchmark": "org.x.Parse.rate",
        "primaryMetric": {"score": 50.0, "scoreError": 1.0, "scoreUnit": "ops/ms", "rawData": [[50.0]]},
    },
]
GO = """goos: linux
pkg: example.org/x
cpu: Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz
BenchmarkParse-4    100    1000 ns/op    24 B/op
BenchmarkParse-4    100    1200 ns/op    24 B/op
BenchmarkSub/case=1-4   5  2.5e+06 ns/op
PASS
"""
MESSAGES = (
    '{"reason": "group-complete", "id": "g"}\n'
    '{"reason": "benchmark-complete", "id": "g/f", "iteration_count": [1, 2], "measured_values": [10.0, 24.0],'
    ' "typical": {"estimate": 11.0, "lower_bound": 10, "upper_bound": 12, "unit": "ns"}}\n'
)
EXTRA = "mean: 20 msec\nrounds: 59 on AMD EPYC 7763 64-Core Processor @ 3.24 GHz"
SPEED = {"name": "f", "value": 50, "unit": "iter/sec", "range": "stddev: 0.001", "extra": EXTRA}
HEAP = {"name": "heap", "value": 5, "unit": "MiB"}
COMMIT = {"commit": {"id": "abc"}, "date": 1_785_888_682_636, "tool": "pytest"}
DATA = {"entries": {"speed": [COMMIT | {"benches": [SPEED, HEAP]}], "memory": [COMMIT | {"benches": [HEAP]}]}}


def written(folder: Path, content: object, name: str = "results") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_pytest_benchmark(tmp_path):
    (run,) = read_results(written(tmp_path, PYTEST), "pytest-benchmark")
    assert run.values == {"test_a.py::test_parse[1]": Value(0.25, 0.01, 7)}
    assert (run.commit, run.machine) == ("4f19952", {"cpu": "AMD EPYC 7763", "python": "3.12.1"})


def test_the_plugin_of_this_environment_writes_what_is_read(tmp_path):
    test = written(tmp_path, "def test_sum(benchmark):\n    benchmark(sum, [1, 2])\n", "test_it.py")
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:django"]
    # Under pytest-xdist, which the variables tell, the plugin measures nothing.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    options = [f"--rootdir={tmp_path}", f"--benchmark-json={out}", str(test)]
    subprocess.run([*command, *options], cwd=tmp_path, check=True, env=environment)
    (run,) = read_results(out, "pytest-benchmark")
    (value,) = run.values.values()
    assert 0 < value.seconds < 1e-3 and value.repeats > 1 and run.cpu


def test_jmh_times_and_rates(tmp_path):
    (run,) = read_results(written(tmp_path, JMH), "jmh")
    parse = run.values["org.x.Parse.run[size=10]"]
    assert parse == Value(pytest.approx(4e-6), pytest.approx(1e-6), 3)
    assert run.values["org.x.Parse.rate"] == Value(pytest.approx(2e-5), 0.0, 1)
    assert run.machine == {"jdk": "21"}


def test_go(tmp_path):
    (run,) = read_results(written(tmp_path, GO), "go")
    parse = run.values["example.org/x.BenchmarkParse"]
    assert parse == Value(pytest.approx(1.1e-6), pytest.approx(1.414e-7, 1e-3), 2)
    assert run.values["example.org/x.BenchmarkSub/case=1"].seconds == pytest.approx(2.5e-3)
    assert run.cpu == "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz"


def test_criterion_folder_and_messages(tmp_path):
    estimates = {name: {"point_estimate": ns} for name, ns in (("mean", 130.0), ("slope", 120.0), ("std_dev", 4.0))}
    written(tmp_path, estimates, "criterion/group/f/new/estimates.json")
    written(tmp_path, {"full_id": "group/f now"}, "criterion/group/f/new/benchmark.json")
    written(tmp_path, {"times": [1.0, 2.0, 3.0]}, "criterion/group/f/new/sample.json")
    written(tmp_path, {"mean": {"point_estimate": 5.0}, "slope": None}, "criterion/plain/new/estimates.json")
    written(tmp_path, estimates, "criterion/plain/base/estimates.json")
    (run,) = read_results(tmp_path / "criterion", "criterion")
    assert run.values == {
        "group/f now": Value(pytest.approx(1.2e-7), pytest.approx(4e-9), 3),
        "plain": Value(pytest.approx(5e-9), 0.0, 1),
    }
    (run,) = read_results(written(tmp_path, MESSAGES), "criterion")
    assert run.values["g/f"] == Value(pytest.approx(1.1e-8), pytest.approx(math.sqrt(2) * 1e-9), 2)


def test_github_action_benchmark(tmp_path):
    data = written(tmp_path, f"window.BENCHMARK_DATA = {json.dumps(DATA)};\n")
    (run,) = read_results(data, "github-action-benchmark")
    assert run.values == {"f": Value(0.02, 0.001, 59)}  # and no MiB
    assert (run.commit, run.cpu) == ("abc", "AMD EPYC 7763 64-Core Processor")
    assert run.time.startswith("2026-08-05T00:11:22")


def changed(document, *path, to):
    """A copy with one member replaced."""
    copy = json.loads(json.dumps(document))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return copy


DEEP = "[" * 100_000
BENCHES = ("entries", "speed", 0, "benches")


@pytest.mark.parametrize(
    ("form", "content", "reason"),
    [
        ("pytest-benchmark", "{", "line 1, column 2"),
        ("pytest-benchmark", "", "line 1"),
        ("pytest-benchmark", DEEP, "nested too deeply"),
        ("pytest-benchmark", b"\xff\xfe", "not UTF-8 at byte 0"),
        ("pytest-benchmark", "[]", "benchmarks is missing"),
        ("pytest-benchmark", '{"benchmarks": []}', "no benchmark with a time"),
        ("pytest-benchmark", '{"benchmarks": [7]}', r"benchmarks\[0\]: a benchmark needs a name"),
        ("pytest-benchmark", changed(PYTEST, "benchmarks", 0, "stats", to=None), r"test_parse\[1\]: stats is missing"),
        ("pytest-benchmark", changed(PYTEST, "benchmarks", 0, "stats", "median", to="x"), "'x' is not a positive"),
        ("pytest-benchmark", changed(PYTEST, "benchmarks", 0, "stats", "median", to=-1), "'-1' is not a positive"),
        ("pytest-benchmark", changed(PYTEST, "benchmarks", 0, "stats", "median", to=True), "not a positive number"),
        ("pytest-benchmark", changed(PYTEST, "benchmarks", 0, "stats", "median", to=math.nan), "not a positive number"),
        ("pytest-benchmark", changed(PYTEST, "benchmarks", 0, "stats", "median", to=10**400), "not a positive number"),
        ("pytest-benchmark", '{"benchmarks": ' + "9" * 5000 + "}", "4300 digits|is missing"),
        ("pytest-benchmark", changed(PYTEST, "benchmarks", 0, "fullname", to="x" * 501), "1 to 500 characters"),
        ("pytest-benchmark", {"benchmarks": PYTEST["benchmarks"] * 2}, "occurs twice"),
        ("pytest-benchmark", changed(PYTEST, "benchmarks", 0, "stats", "median", to=1e300), "out of range"),
        ("jmh", "{}", "not a list of JMH results"),
        ("jmh", changed(JMH, 0, "primaryMetric", "scoreUnit", to="furlongs"), "'furlongs' is not a unit of time"),
        ("jmh", changed(JMH, 0, "primaryMetric", "rawData", to=[[0]]), r"\[0\] org.x.Parse.run.*'0' is not a positive"),
        ("jmh", changed(JMH, 0, "primaryMetric", to=3), "primaryMetric is missing"),
        ("go", "PASS\n", "no benchmark with a time"),
        ("go", "BenchmarkX-4 1 zero ns/op\n", "line 1 BenchmarkX: 'zero' is not a positive"),
        ("go", "BenchmarkX-4 1 nan ns/op\n", "'nan' is not a positive"),
        ("criterion", '{"reason": "benchmark-complete", "id": "f"}', "line 1 f: typical is missing"),
        ("criterion", "{nonsense", "line 1"),
        ("github-action-benchmark", "window.X = ", "line 1"),
        ("github-action-benchmark", {"entries": {}}, "no run with a time"),
        ("github-action-benchmark", changed(DATA, *BENCHES, to=5), r"speed\[0\]: benches is missing"),
        ("github-action-benchmark", changed(DATA, *BENCHES, 0, "value", to=0), r"speed\[0\] f: '0' is not a positive"),
        ("nonsense", "", "--as nonsense: choose pytest-benchmark, criterion, jmh, go, github-action-benchmark"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_with_the_place_and_the_reason(tmp_path, form, content, reason):
    with pytest.raises(UsageError, match=reason) as raised:
        read_results(written(tmp_path, content), form)
    assert len(str(raised.value)) < 700


def test_a_file_is_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(importers, "MOST_BYTES", 1 << 20)
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        read_results(written(tmp_path, " " * ((1 << 20) + 1)), "go")
    monkeypatch.setattr(importers, "MOST_BENCHMARKS", 1)
    with pytest.raises(UsageError, match="more than 1 benchmarks"):
        read_results(written(tmp_path, JMH), "jmh")


def test_units():
    assert seconds_of("2", "ms/op", "") == pytest.approx(2e-3)
    assert seconds_of(3, "µs/iter", "") == pytest.approx(3e-6)
    assert seconds_of(2, "ops/s", "") == 0.5


def test_the_history_reads_what_it_wrote_in_the_order_of_time(tmp_path):
    path = tmp_path / "folder" / "history.jsonl"
    assert read_history(path) == []
    late = Run({"f\n|": Value(0.5, 0.1, 3)}, "c2", "2026-02-01", "main", {"cpu": "X"}, {"float/1/py3.11": 0.01})
    early = Run({"f\n|": Value(0.6)}, "c1", "2026-01-01")
    append_runs(path, [late])
    append_runs(path, [early])
    assert read_history(path) == [early, late]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 2: "),
        ("{}", "line 2: schema is not mpet-ci-history/1"),
        (DEEP, "line 2: nested too deeply"),
        ({"values": []}, "line 2: machine, calibration and values must be objects"),
        ({"values": {"f": {"s": 0}}}, "line 2: 'f' has a time, spread or number of repeats out of range"),
        ({"values": {"f": {"s": "1"}}}, "line 2: 'f' needs the numbers s, sd and n"),
        ('{"schema": "mpet-ci-history/1", "values": {"f": {"s": 1e999}}}', "line 2: 'f' needs the numbers s, sd and n"),
        ({"values": {"f": {"s": 1, "n": 0}}}, "line 2: 'f' has a time, spread or number of repeats out of range"),
        ({"calibration": {"k": -1}}, "line 2: calibration has a time out of range"),
        ({"commit": 5}, "line 2: commit, branch, time"),
    ],
)
def test_a_bad_line_of_the_history_is_named(tmp_path, line, reason):
    path = tmp_path / "history.jsonl"
    append_runs(path, [Run({"f": Value(1.0)})])
    with path.open("a") as file:
        file.write((line if isinstance(line, str) else json.dumps({"schema": "mpet-ci-history/1"} | line)) + "\n")
    with pytest.raises(UsageError, match=reason):
        read_history(path)
