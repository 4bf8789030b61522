"""GBM-perf, by files of its form with numbers that we made up."""

import pytest

from benchmarks.public_data.gbm_perf import SWEEPS, GbmPerf
from benchmarks.public_data.interface import RefusedFolder
from tests.benchmarks.public_data.servers import times_of

SOURCE = GbmPerf()
LSCPU = """
c7i.metal-48xl

lscpu
Architecture:             x86_64
  CPU op-mode(s):         32-bit, 64-bit
CPU(s):                   8
Vendor ID:                GenuineIntel
  Model name:             Intel(R) Xeon(R) Platinum 8488C
    CPU family:           6
    Model:                143
    Thread(s) per core:   2
    Core(s) per socket:   2
    Socket(s):            2
    Stepping:             8
Caches (sum of all):
  L1d:                    4.5 MiB (96 instances)
  L3:                     210 MiB (2 instances)
NUMA:
  NUMA node(s):           2
  NUMA node0 CPU(s):      0-1,4-5
"""
LINES = """0.1:xgboost:1:0::4.0:0.73
0.1:xgboost:1:0::4.4:0.73
0.1:xgboost:2:0-1::2.5:0.73
0.1:xgboost:4:0-3:NUMA:1.5:0.73
0.1:xgboost:4:0-1,4-5:HT:2.0:0.73
0.1:xgboost:8:0-7:ALL:1.25:0.73
10:lightgbm:2:0-1::90.5:0.75
10:lightgbm:4:0-3::0:0.75
10:lightgbm:16:0-15::0.5:0.75
10:lightgbm:4:0-3::Killed
"""


def read(folder="aws/c7i.metal-48xl", **files):
    files = {"2024-06/res.csv": LINES, "2024-06/hw.txt": LSCPU} | {
        name.replace("__", "/").replace("_csv", ".csv"): text for name, text in files.items()
    }
    return SOURCE.read(folder, {name: text.encode() for name, text in files.items() if text is not None})


def test_the_machine_is_what_lscpu_printed():
    platform = read().platform
    assert (platform.name, platform.cpu_model) == ("aws/c7i.metal-48xl", "Intel(R) Xeon(R) Platinum 8488C")
    assert (platform.microarchitecture, platform.architecture) == ("Sapphire Rapids", "x86_64")
    assert (platform.sockets, platform.numa_nodes, platform.physical_cores, platform.threads) == (2, 2, 4, 8)
    assert (platform.n_nu, platform.n_ht) == (2, 4)
    assert (platform.l1d_bytes, platform.l2_bytes, platform.l3_bytes) == (4718592, None, 220200960)


def test_machines_of_before_lscpu_was_kept_are_described():
    files = {"2020-09/res.csv": LINES.encode()}
    servers = {folder: SOURCE.read(f"aws/{folder}", files).platform for folder in ("c5.metal", "c5a.24xlarge")}
    assert (servers["c5.metal"].microarchitecture, servers["c5.metal"].threads) == ("Cascade Lake", 96)
    assert (servers["c5.metal"].n_nu, servers["c5.metal"].n_ht) == (24, 48)
    assert (servers["c5a.24xlarge"].microarchitecture, servers["c5a.24xlarge"].n_ht) == ("Zen2", 48)
    assert SOURCE.read("aws/r4.16xlarge", files).platform.n_nu == 16


def test_threads_that_fill_the_cores_are_runs_and_others_are_left_out():
    measured = read()
    assert times_of(measured, "gbm-perf/xgboost/0.1M") == {
        **{(1, 1): 4.0, (1, 2): 4.4, (2, 1): 2.5, (4, 1): 1.5, (8, 1): 1.25}
    }
    assert times_of(measured, "gbm-perf/lightgbm/10M") == {(2, 1): 90.5}
    assert not measured.relative
    assert measured.left_out == {
        "gbm-perf: threads not on consecutive cores": 1,
        "gbm-perf: a rate or a time that is missing, not positive or out of bounds": 1,
        "gbm-perf: more threads than the machine has": 1,
        "gbm-perf: a line in another format": 1,
    }


def test_libraries_of_another_month_are_other_workloads():
    measured = SOURCE.read("aws/r4.16xlarge", {f"{month}/res.csv": LINES.encode() for month in ("2019-05", "2020-09")})
    versions = {workload.version for workload in measured.times if workload.name == "gbm-perf/xgboost/0.1M"}
    assert versions == {"2019-05", "2020-09"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"2024-06__res_csv": "nothing of it\n"}, "no line has a usable time"),
        ({"2024-06/hw.txt": None, "folder": "aws/unknown.metal"}, "lscpu names no processor"),
    ],
)
def test_a_machine_without_facts_or_times_is_refused(changed, reason):
    with pytest.raises(RefusedFolder, match=f"^{reason}$"):
        read(**changed)


def test_one_sweep_of_each_machine_and_month_is_wanted():
    assert len(set(SWEEPS.values())) == len(SWEEPS)
    path = "GBM-perf-master/analysis/multicore-c7metal/results/res.csv"
    assert SOURCE.wanted(path) == ("aws/c7i.metal-48xl", "2024-06/res.csv")
    assert SOURCE.wanted("analysis/multicore-c7metal/results-AMD/hw.txt") == ("aws/c7a.metal-48xl", "2024-06/hw.txt")
    for other in ("analysis/multicore/results-update2020sept/res-old.csv", "analysis/multicore-c7metal/run/run.sh"):
        assert SOURCE.wanted(other) is None
