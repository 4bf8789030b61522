"""RRZE's artifact of SPEChpc, by files of its form with numbers that we made up."""

import pytest

from benchmarks.public_data import files as public_files
from benchmarks.public_data.files import UnreadableOrigin, find_folders
from benchmarks.public_data.interface import RefusedFolder
from benchmarks.public_data.rrze_spechpc import NUMBERS, RrzeSpecHpc
from tests.benchmarks.public_data.servers import clone_bare, write_files

SOURCE = RrzeSpecHpc()
STATE = """################################################################################
# Topology
################################################################################
CPU name:\tIntel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz
CPU type:\tIntel Icelake SP processor
CPU stepping:\t6
Sockets:\t\t2
Cores per socket:\t2
Threads per core:\t1
Level:\t\t\t1
Size:\t\t\t48 kB
Cache groups:\t\t( 0 ) ( 1 ) ( 2 ) ( 3 )
--------------------------------------------------------------------------------
Level:\t\t\t3
Size:\t\t\t1.25 MB
Cache groups:\t\t( 0 1 ) ( 2 3 )
--------------------------------------------------------------------------------
NUMA domains:\t\t4
Domain:\t\t\t0
MemTotal:       1024 kB
"""


def run(*times_s):
    """What likwid-mpirun leaves of a run, with the ranks' times."""
    ranks = "".join(f"   f01:{rank}:{rank} |" for rank in range(len(times_s)))
    cells = "".join(f" {time_s:.4f} |" for time_s in times_s)
    statistics = f"|     Runtime (RDTSC) [s] STAT     | {sum(times_s):.4f} | 1.0 | 2.0 | 3.0 | 4.0 | 5.0 | 6.0 |"
    return (
        f"Runtime of a program that prints | 99.0 | too\n|   Metric   |{ranks}\n"
        f"|        Runtime (RDTSC) [s]        |{cells}\n|  Runtime unhalted [s]  |{cells}\n"
        f"{statistics if len(times_s) > 1 else ''}\n"
    )


FILES = {
    "ClusterA-state.csv": STATE,
    "Output_tiny_ClusterA/L3/lbm-FritzRank2-L3.txt": run(5.5, 5.0),
    "Output_tiny_ClusterA/MEM_DP/lbm-FritzRank1-MEM_DP.txt": run(10.25),
    "Output_tiny_ClusterA/MEM_DP/lbm-FritzRank2-MEM_DP.txt": run(5.0, 6.0),
    "Output_tiny_ClusterA/MEM_DP/lbm-FritzRank4-MEM_DP.txt": "srun: error: killed\n",
    "Output_tiny_ClusterA/MEM_DP/lbm-FritzRank5-MEM_DP.txt": run(*[2.0] * 5),
    "Output_tiny_ClusterA/MEM_DP/unknown-FritzRank1-MEM_DP.txt": run(1.0),
    "Output_tiny_ClusterA/MEM_DP_repeat/lbm-FritzRank4-MEM.txt": run(*[99.0] * 4),
    "Output_tiny_ClusterA/MEM_DP_repeat/weather-FritzRank3.txt": run(1.0, 2.0, 3.0),
    "Output_tiny_ClusterB/MEM_DP/lbm-FritzRank1-MEM_DP.txt": run(8.0),
    "Output_small_ClusterA/MEM_DP/lbm-FritzRank4-MEM.txt": run(*[99.0] * 4),
}


def artifact(root):
    return write_files(root, FILES)


@pytest.fixture
def cluster(tmp_path):
    folder = next(found for found in find_folders(SOURCE, artifact(tmp_path)) if found.name == "rrze/ClusterA")
    return SOURCE.read(folder.name, folder.files)


def test_the_machine_is_what_likwid_topology_says(cluster):
    platform = cluster.platform
    assert (platform.name, platform.cpu_model) == ("rrze/ClusterA", "Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz")
    assert (platform.microarchitecture, platform.base_mhz) == ("Ice Lake-SP", 2400.0)
    assert (platform.sockets, platform.numa_nodes, platform.physical_cores, platform.threads) == (2, 4, 4, 4)
    assert (platform.n_nu, platform.n_ht) == (1, None)
    assert (platform.l1d_bytes, platform.l3_bytes, platform.memory_bytes) == (4 * 49152, 2 * 1310720, 2**20)


def test_the_longest_time_of_all_ranks_is_the_time_and_each_file_a_repeat(cluster):
    times = {workload.name: times for workload, times in cluster.times.items()}
    assert times == {
        "spechpc-2021/505.lbm_t": {(1, 1): 10.25, (2, 1): 5.5, (2, 2): 6.0},
        "spechpc-2021/535.weather_t": {(3, 1): 3.0},
    }
    assert {workload.runtime for workload in cluster.times} == {"mpi"}


def test_what_is_no_run_of_the_node_is_counted(cluster):
    assert cluster.left_out == {
        "spechpc: a run without a time for each rank": 1,
        "spechpc-2021: more threads than the machine has": 1,
        "spechpc: a program that is not in the suite": 1,
    }


def test_a_cluster_without_its_state_is_refused(tmp_path):
    folders = {found.name: found for found in find_folders(SOURCE, artifact(tmp_path))}
    with pytest.raises(RefusedFolder, match=r"^no state file of the machine$"):
        SOURCE.read("rrze/ClusterB", folders["rrze/ClusterB"].files)
    with pytest.raises(RefusedFolder, match=r"^its state file has no topology of likwid-topology$"):
        SOURCE.read("rrze/ClusterA", {"state": b"nothing"})


def test_files_of_a_folder_that_lie_apart_are_gathered_from_every_origin(tmp_path):
    of_folder = list(find_folders(SOURCE, artifact(tmp_path / "folder")))
    assert [found.name for found in of_folder] == ["rrze/ClusterA", "rrze/ClusterB"]
    assert list(find_folders(SOURCE, clone_bare(artifact(tmp_path / "work")))) == of_folder
    assert b"prints" not in b"".join(of_folder[0].files.values())


def test_gathering_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(public_files, "MOST_HELD_BYTES", 100)
    with pytest.raises(UnreadableOrigin, match="more than 100 bytes"):
        list(find_folders(SOURCE, artifact(tmp_path)))


def test_all_nine_programs_of_the_suite_are_known():
    assert len(set(NUMBERS.values())) == 9
