"""Conversion of public measurements to dataset folders, from made results in the form of the sources."""

import json

import pytest

from profiles.measurements.datasets import DATASET_PLATFORM_COLUMNS, read_dataset
from research.unseen_data import main

SPEC = """Built with GCC
Benchmarks       Copies  Run Time     Rate
503.bwaves_r          1        274      36.6   *
503.bwaves_r          1        275      36.5   S
505.mcf_r             1        100       5.4  *
==============
503.bwaves_r          1        274      36.6   *
"""
BOARD = """sbc-bench v0.9 Made Board (aarch64)
Checking cpufreq OPP for cpu0-cpu3 (Cortex-A1):

Cpufreq OPP: 1804    Measured: 1790 (1791.822/1791.123/1787.945)

Executing benchmark on cpu0 (Cortex-A1):

tinymembench v0.4.9

 C copy backwards                                     :   1000.0 MB/s (0.8%)
    262144 :    8.0 ns          /    11.6 ns
      1024 :    0.0 ns          /     0.0 ns
block size : single random read / dual random read, [MADV_HUGEPAGE]
    262144 :    4.0 ns          /     5.0 ns

Executing benchmark on cpu4 (Cortex-A2):

tinymembench v0.4.9

 C copy backwards                                     :   4000.0 MB/s

Executing ramlat on cpu4 (Cortex-A2), results in ns:

       size:  1x32  2x32  1x64  2x64 1xPTR 2xPTR 4xPTR 8xPTR
         4k: 1.678 1.676 1.677 1.676 1.120 1.676 2.269 4.578

Executing benchmark on each cluster individually

aes-128-cbc     1000.00k   2000.00k   2000.00k  2000.00k  2000.00k  2000.00k (Cortex-A1)
aes-128-cbc     4000.00k   8000.00k   8000.00k  8000.00k  8000.00k  8000.00k (Cortex-A2)

Executing benchmark single-threaded on cpu4 (Cortex-A2)

7-Zip (a) [64] 16.02
Avr:             100   3434   2000  |              100   4384   4000

Executing benchmark 3 times multi-threaded on CPUs 0-4

Avr:             400   3434   8000  |              400   4384   9000
"""


def converted(monkeypatch, folder, *arguments):
    """Return the times in the written folder, by platform and workload."""
    monkeypatch.setattr("sys.argv", ["unseen_data", *map(str, arguments)])
    main()
    measurements = read_dataset(folder)
    return {
        (measurements.platforms[profile.platform].name, measurements.workloads[profile.workload].name): (
            profile.runs.time_s.tolist()
        )
        for profile in measurements.profiles
    }


@pytest.mark.parametrize(("options", "builds"), [((), ["O3", "O3-flto"]), (("--flags", "O3"), ["O3"])])
def test_a_spec_benchmark_has_its_repeats_and_each_build_is_a_workload(tmp_path, monkeypatch, options, builds):
    results = tmp_path / "clone" / "docs" / "benchmark" / "data-bookworm" / "fp2017_rate1"
    results.mkdir(parents=True)
    for build in ("O3", "O3-flto"):
        (results / f"Made_CPU_1_{build}_001.txt").write_text(SPEC)
    folder = tmp_path / "folder"
    times = converted(monkeypatch, folder, "spec-cpu2017", tmp_path / "clone", folder, *options)
    expected = {}
    for build in builds:
        expected["Made CPU 1", f"spec/503.bwaves_r@{build}"] = [274.0, 275.0]
        expected["Made CPU 1", f"spec/505.mcf_r@{build}"] = [100.0]
    assert times == expected


def test_each_kind_of_core_of_a_board_is_a_platform(tmp_path, monkeypatch):
    results = tmp_path / "clone" / "results"
    results.mkdir(parents=True)
    for number in range(10):  # rarer workloads are left out
        (results / f"b{number}.txt").write_text(BOARD)
    (results / "other.txt").write_text("something else")
    folder = tmp_path / "folder"
    times = converted(monkeypatch, folder, "sbc-bench", tmp_path / "clone", folder)
    of_first = {workload: time for (platform, workload), time in times.items() if platform == "b0-cpu0"}
    of_second = {workload: time for (platform, workload), time in times.items() if platform == "b0-cpu4"}
    assert len({platform for platform, _ in times}) == 20
    assert of_first["tinymembench/C-copy-backwards"] == [1.0]
    assert of_first["tinymembench/read-262144"] == [8.0]  # without huge pages
    assert of_first["openssl/aes-128-cbc-16"] == [1000.0]
    assert "7zip/compress" not in of_first
    assert of_second["openssl/aes-128-cbc-64"] == [125.0]
    assert of_second["ramlat/8xPTR-4k"] == [4.578]
    assert of_second["7zip/compress"] == [500.0]  # of one thread


def test_a_query_has_its_fastest_warm_run_of_the_newest_result_with_all_threads(tmp_path, monkeypatch):
    clone, machines, folder = tmp_path / "clone", tmp_path / "machines", tmp_path / "folder"
    machines.mkdir()
    head = ",".join(DATASET_PLATFORM_COLUMNS)
    described = {"platform_id": "aws/m.large", "name": "aws/m.large", "cpu_model": "Made CPU", "threads": "8"}
    row = ",".join(described.get(column, "") for column in DATASET_PLATFORM_COLUMNS)
    (machines / "platforms.csv").write_text(f"{head}\n{row}\n")
    older, newer = [[9.0, 9.0, 9.0]], [[1.0, 0.5, 0.4], [1.0, 0.002, 0.003], None, [1.0, None, 0.25]]
    for path, runs, nodes in (
        ("fast/results/20250101/m.large.json", older, 1),
        ("fast/results/20260101/m.large.json", newer, 1),
        ("fast/results/20260101/serverless.json", newer, 1),
        ("cluster/results/20260101/m.large.json", newer, 3),
    ):
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(json.dumps({"cluster_size": nodes, "result": runs}))
    with pytest.raises(SystemExit):
        converted(monkeypatch, folder, "clickbench", clone, folder)
    times = converted(monkeypatch, folder, "clickbench", clone, folder, "--machines", machines)
    assert times == {("aws/m.large", "fast/q00"): [0.4], ("aws/m.large", "fast/q03"): [0.25]}
    assert [profile.runs.n.tolist() for profile in read_dataset(folder).profiles] == [[8], [8]]
