"""The kit's view of machines that others recorded: counts, breakpoints and placement."""

import json
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.kit.kit_build import BUILDS, make, output
from tests.benchmarks.kit.machines import (
    Cpu,
    Machine,
    big_little,
    desktop_without_smt,
    epyc,
    listed,
    xeon_adjacent,
    xeon_split,
)

pytestmark = pytest.mark.kit


@pytest.fixture(scope="module")
def topology() -> Path:
    program = BUILDS / "native" / "mpet-topology"
    make(str(program), build="native", OPTIMISE="-O1")
    return program


@pytest.fixture
def read(topology, tmp_path):
    def read(machine: Machine) -> dict:
        return json.loads(output(topology, environment={"MPET_SYSFS": str(machine.write(tmp_path))}))

    return read


def test_split_siblings(read):
    """Socket by socket, one thread a core; then the second threads in the same order."""
    platform = read(xeon_split())
    assert (platform["n_nu"], platform["n_ht"], platform["n_max"]) == (8, 16, 32)
    assert platform["placement"] == list(range(32))
    counts = ("sockets", "numa_nodes", "physical_cores", "threads")
    assert [platform[name] for name in counts] == [2, 2, 16, 32]
    assert (platform["base_mhz"], platform["max_mhz"], platform["memory_bytes"]) == (2400, 3200, 65700000 * 1024)
    assert (platform["l1d_bytes"], platform["l2_bytes"], platform["l3_bytes"]) == (16 << 15, 16 << 18, 2 * 20480 << 10)
    names = ("vendor", "architecture", "device_class")
    assert [platform[name] for name in names] == ["GenuineIntel", "x86_64", "server"]
    assert (platform["virtualised"], platform["kernel"]) == (False, "6.1.0-test")


def test_adjacent_siblings(read):
    platform = read(xeon_adjacent())
    assert (platform["n_nu"], platform["n_ht"], platform["n_max"]) == (8, 16, 32)
    assert platform["placement"] == [*range(0, 32, 2), *range(1, 32, 2)]


def test_no_smt_and_one_node_have_no_breakpoints(read):
    platform = read(desktop_without_smt())
    assert (platform["n_nu"], platform["n_ht"], platform["n_max"]) == (None, None, 6)
    assert (platform["base_mhz"], platform["max_mhz"], platform["device_class"]) == (2900, None, "desktop")


def test_big_cores_come_first(read):
    platform = read(big_little())
    assert platform["placement"] == [4, 5, 6, 7, 0, 1, 2, 3]
    assert (platform["n_nu"], platform["n_ht"], platform["sockets"], platform["numa_nodes"]) == (None, None, 1, 1)
    assert platform["cpu_model"] == "Cortex-A73 + Cortex-A53"
    assert (platform["vendor"], platform["device_class"], platform["max_mhz"]) == ("ARM", "embedded", 2400)


def test_eight_nodes(read):
    platform = read(epyc())
    assert (platform["n_nu"], platform["n_ht"], platform["n_max"]) == (8, 64, 128)
    assert platform["placement"] == list(range(128))
    assert (platform["numa_nodes"], platform["sockets"], platform["base_mhz"]) == (8, 2, 2196)
    assert platform["l3_bytes"] == 8 * 20480 << 10


def test_a_cpuset_hides_the_rest_of_the_machine(read):
    """Six cores of the second socket, two of them with both threads."""
    platform = read(xeon_split(allowed="8-13,24-25"))
    assert (platform["n_nu"], platform["n_ht"], platform["n_max"]) == (None, 6, 8)
    assert platform["placement"] == [8, 9, 10, 11, 12, 13, 24, 25]
    assert (platform["sockets"], platform["physical_cores"], platform["threads"]) == (1, 6, 8)


def test_second_threads_alone_are_cores(read):
    """A cpuset may hold the second thread of a core and not the first."""
    platform = read(xeon_split(allowed="16-19"))
    assert (platform["n_ht"], platform["n_max"], platform["physical_cores"]) == (None, 4, 4)


CGROUP_QUOTAS = {
    "version 2": ({"proc/self/cgroup": "0::/box/inner", "sys/fs/cgroup/box/cpu.max": "450000 100000"}, 4),
    "version 2, the group above is smaller": (
        {
            "proc/self/cgroup": "0::/box/inner",
            "sys/fs/cgroup/box/inner/cpu.max": "800000 100000",
            "sys/fs/cgroup/box/cpu.max": "200000 100000",
        },
        2,
    ),
    "version 2, seen from inside": ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "100000 50000"}, 2),
    "version 2, no limit": ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "max 100000"}, 32),
    "less than one processor": ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "50000 100000"}, 1),
    "version 1": (
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/docker/abc\n4:cpuset:/docker/abc",
            "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "300000",
            "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000",
        },
        3,
    ),
    "version 1, seen from inside": (
        {
            "proc/self/cgroup": "5:cpu:/docker/abc",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "600000",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        },
        6,
    ),
    "version 1, no limit": (
        {
            "proc/self/cgroup": "5:cpu:/",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        },
        32,
    ),
}


@pytest.mark.parametrize("case", CGROUP_QUOTAS)
def test_a_cpu_quota_limits_the_threads(case, read):
    files, n_max = CGROUP_QUOTAS[case]
    platform = read(xeon_split(files=files))
    assert platform["n_max"] == n_max
    assert len(platform["placement"]) == n_max
    assert platform["threads"] == 32
    assert (platform["n_nu"], platform["n_ht"]) == ((8, 16) if n_max == 32 else (None, None))


def x86(vendor: str, numbers: tuple[int, int, int], name: str, flags: str = "fpu sse2") -> dict[str, str]:
    """The fields of /proc/cpuinfo in the kernel's order, `model` before `model name`; family, model and stepping."""
    family, model, stepping = numbers
    fields = {"vendor_id": vendor, "cpu family": family, "model": model, "model name": name, "stepping": stepping}
    return {field: str(value) for field, value in (fields | {"flags": flags}).items()}


def arm(implementer: int, part: int) -> dict[str, str]:
    return {"BogoMIPS": "50.00", "CPU implementer": f"0x{implementer:02x}", "CPU part": f"0x{part:03x}"}


INTEL, AMD = "GenuineIntel", "AuthenticAMD"
WIDE = "fpu sse2 avx2 avx512f"
MICROARCHITECTURES = [
    (x86(INTEL, (6, 63, 2), "Intel(R) Xeon(R) CPU E5-2630 v3 @ 2.40GHz"), "Haswell-EP"),
    (x86(INTEL, (6, 79, 1), "Intel(R) Xeon(R) CPU E5-2697 v4 @ 2.30GHz"), "Broadwell-EP"),
    (x86(INTEL, (6, 85, 4), "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz", WIDE), "Skylake-SP"),
    (x86(INTEL, (6, 85, 7), "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", WIDE), "Cascade Lake"),
    (x86(INTEL, (6, 85, 11), "Intel(R) Xeon(R) Platinum 8370H CPU @ 2.80GHz", WIDE), "Cooper Lake"),
    (x86(INTEL, (6, 106, 6), "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", WIDE), "Ice Lake-SP"),
    (x86(INTEL, (6, 143, 8), "Intel(R) Xeon(R) Platinum 8488C", WIDE + " amx_tile"), "Sapphire Rapids"),
    (x86(INTEL, (6, 158, 10), "Intel(R) Core(TM) i5-9400 CPU @ 2.90GHz"), "Coffee Lake"),
    (x86(INTEL, (6, 158, 9), "Intel(R) Core(TM) i7-7700 CPU @ 3.60GHz"), "Kaby Lake"),
    (x86(INTEL, (6, 167, 1), "11th Gen Intel(R) Core(TM) i7-11700", WIDE), "Rocket Lake"),
    (x86(AMD, (23, 1, 2), "AMD EPYC 7601 32-Core Processor"), "Zen1"),
    (x86(AMD, (23, 8, 2), "AMD Ryzen 7 2700X Eight-Core Processor"), "Zen+"),
    (x86(AMD, (23, 49, 0), "AMD EPYC 7R32"), "Zen2"),
    (x86(AMD, (25, 1, 1), "AMD EPYC 7R13 Processor"), "Zen3"),
    (x86(AMD, (25, 80, 0), "AMD Ryzen 7 5800H with Radeon Graphics"), "Zen3"),
    (x86(AMD, (25, 17, 1), "AMD EPYC 9R14", WIDE), "Zen4"),
    (x86(AMD, (26, 2, 1), "AMD EPYC 9R45", WIDE), "Zen5"),
    (arm(0x41, 0xD0C), "Neoverse-N1"),
    (arm(0x41, 0xD4F), "Neoverse-V2"),
    (arm(0x46, 0x001), "A64FX"),
]
UNKNOWN = {
    "a model that nobody has listed": x86(INTEL, (6, 250, 1), "Intel(R) Something"),
    "an emulated processor": x86(AMD, (15, 107, 1), "QEMU Virtual CPU version 2.5+"),
    "a guest that is told of a processor without AMX": x86(
        INTEL, (6, 167, 1), "Intel(R) Xeon(R) Processor", WIDE + " hypervisor amx_tile"
    ),
    "a guest that is told of a processor without AVX-512": x86(AMD, (25, 1, 1), "AMD EPYC-Milan Processor", WIDE),
    "a later stepping": x86(INTEL, (6, 85, 12), "Intel(R) Xeon(R) Processor"),
    "an unknown part": arm(0x41, 0xFFF),
    "nothing": {"BogoMIPS": "50.00"},
}


@pytest.mark.parametrize(("cpuinfo", "name"), MICROARCHITECTURES)
def test_the_microarchitecture_is_named(read, cpuinfo, name):
    assert read(Machine([Cpu(i, cpuinfo=cpuinfo) for i in range(2)]))["microarchitecture"] == name


@pytest.mark.parametrize("case", UNKNOWN)
def test_a_microarchitecture_that_is_not_known_is_null(read, case):
    assert read(Machine([Cpu(0, cpuinfo=UNKNOWN[case])]))["microarchitecture"] is None


def test_of_two_kinds_of_arm_cores_both_have_to_be_known(read):
    known, unknown = arm(0x41, 0xD0B), arm(0x41, 0xFFF)
    platform = read(Machine([Cpu(0, cpuinfo=known), Cpu(1, cpuinfo=unknown)], "aarch64"))
    assert (platform["microarchitecture"], platform["cpu_model"]) == (None, "Cortex-A76")
    assert read(big_little())["microarchitecture"] == "Cortex-A73 + Cortex-A53"


ALDER_LAKE = x86(INTEL, (6, 151, 2), "12th Gen Intel(R) Core(TM) i9-12900K")


@pytest.mark.parametrize(
    ("allowed", "name"), [("0-5", "Golden Cove + Gracemont"), ("0-3", "Golden Cove"), ("4-5", "Gracemont")]
)
def test_hybrid_processors_are_called_by_the_cores_in_use(read, allowed, name):
    """One model number for both kinds: the kernel's folders say which is which."""
    cpus = [Cpu(i, siblings=(i // 2 * 2, i // 2 * 2 + 1) if i < 4 else (), cpuinfo=ALDER_LAKE) for i in range(6)]
    kinds = {"sys/devices/cpu_core/cpus": "0-3", "sys/devices/cpu_atom/cpus": "4-5"}
    assert read(Machine(cpus, allowed=allowed, files=kinds))["microarchitecture"] == name


def test_a_hybrid_processor_whose_cores_are_not_told_apart_is_unknown(read):
    """As in a guest, or with an old kernel."""
    assert read(Machine([Cpu(0, cpuinfo=ALDER_LAKE)]))["microarchitecture"] is None


def test_hypervisors_are_seen(read):
    guest = {"vendor_id": "GenuineIntel", "model name": "Intel(R) Xeon(R) Processor", "flags": "fpu hypervisor sse2"}
    assert read(Machine([Cpu(0, cpuinfo=guest)]))["virtualised"] is True


def test_a_machine_that_shows_nothing_still_has_a_processor(topology, tmp_path):
    platform = json.loads(output(topology, environment={"MPET_SYSFS": str(tmp_path)}))
    assert platform["n_max"] >= 1
    assert (platform["cpu_model"], platform["memory_bytes"], platform["virtualised"]) == ("unknown", None, None)


def test_counts_that_are_measured(topology, tmp_path):
    """1..8, then geometric, and at least three counts in each segment."""
    environment = {"MPET_SYSFS": str(xeon_split().write(tmp_path))}
    assert output(topology, "--threads", environment=environment) == "1,2,3,4,5,6,7,8,9,10,12,15,16,17,18,24,32\n"
    assert output(topology, "--threads", "--quick", environment=environment) == "1,2,4,8,9,10,16,17,18,32\n"


def test_openmp_places(topology, tmp_path):
    machine = Machine([Cpu(i, siblings=(i // 2 * 2, i // 2 * 2 + 1)) for i in range(4)])
    environment = {"MPET_SYSFS": str(machine.write(tmp_path))}
    assert output(topology, "--places", environment=environment) == "{0},{2},{1},{3}\n"
    assert output(topology, "--placement", environment=environment) == "0,2,1,3\n"


@st.composite
def machines(draw):
    nodes, cores, threads = draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 4]))
    adjacent = draw(st.booleans())
    count = nodes * cores
    cpus = []
    for core in range(count):
        ids = [core * threads + t if adjacent else core + t * count for t in range(threads)]
        cpus += [Cpu(i, core // cores, core // cores, tuple(ids)) for i in ids]
    allowed = draw(st.sets(st.sampled_from([cpu.id for cpu in cpus]), min_size=1))
    return Machine(sorted(cpus, key=lambda cpu: cpu.id), allowed=listed(list(allowed))), allowed


@given(machines())
def test_every_processor_in_reach_is_used_once_and_cores_before_siblings(topology, tmp_path_factory, drawn):
    machine, allowed = drawn
    root = machine.write(tmp_path_factory.mktemp("machine"))
    platform = json.loads(output(topology, environment={"MPET_SYSFS": str(root)}))
    core_of = {cpu.id: cpu.core for cpu in machine.cpus}
    assert sorted(platform["placement"]) == sorted(allowed)
    cores = [core_of[i] for i in platform["placement"]]
    assert len(set(cores[: platform["physical_cores"]])) == platform["physical_cores"] == len(set(cores))
    n_nu, n_ht = platform["n_nu"], platform["n_ht"]
    assert n_ht == (platform["physical_cores"] if len(allowed) > len(set(cores)) else None)
    assert n_nu is None or n_ht is None or n_nu < n_ht
    node_of = {cpu.id: cpu.node for cpu in machine.cpus}
    assert (n_nu is None) == (len({node_of[i] for i in allowed}) == 1)


def test_the_fingerprint_is_of_the_hardware_and_not_of_the_name(topology, tmp_path):
    def fingerprint(machine: Machine, *options: str) -> str:
        root = machine.write(tmp_path / "machine")
        return json.loads(output(topology, *options, environment={"MPET_SYSFS": str(root)}))["fingerprint"]

    here = fingerprint(xeon_split())
    assert re.fullmatch("[0-9a-f]{64}", here)
    assert fingerprint(xeon_split(), "--name", "another name", "--compiler", "another compiler") == here
    shutil.rmtree(tmp_path / "machine")
    assert fingerprint(epyc()) != here
