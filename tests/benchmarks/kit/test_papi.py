"""PAPI as a second source of counters; a stand-in for it (stand_in/papi/) gives every answer that it can give."""

from pathlib import Path

import pytest

from tests.benchmarks.kit.kit_build import BUILDS, make, need, output, records

pytestmark = pytest.mark.kit

PAPI = Path(__file__).resolve().parent / "stand_in" / "papi"
THREADS = 2


@pytest.fixture(scope="module")
def bench() -> Path:
    """One workload, built where papi.h and its library are found, and its counters."""
    need("g++")
    folder = BUILDS / "papi"
    folder.mkdir(parents=True, exist_ok=True)
    output("g++", "-std=c++17", "-fPIC", "-shared", PAPI / "papi.cpp", "-o", folder / "libpapi.so")
    settings = {"OPTIMISE": f"-O1 -isystem {PAPI}", "LDFLAGS": f"-L{folder} -Wl,-rpath,{folder}", "PAPI": None}
    make(str(folder / "mpet-bench-clean"), build=folder, WORKLOAD_SOURCES="workloads/fib.cpp", **settings)
    return folder / "mpet-bench-clean"


def counters(bench: Path, **environment: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """What they were read through, and of each counter its value and status."""
    options = ["--application", "fib", "--scale", "tiny", "--repeats", "1", "--n", THREADS, "--counters"]
    listing = output(bench, *options, environment=environment)
    (source,) = records(listing, "source")
    return source[0], {name: (value, status) for _, _, name, value, status in records(listing, "counter")}


def test_counters_are_read_through_papi_when_asked(bench):
    """Sums over the threads; the third level's stand for the second's where there is no third."""
    source, read = counters(bench, MPET_COUNTERS="papi")
    counted = (str(1000 * THREADS), "ok")
    assert source == "papi"
    for name in ("INSTR", "CYCLES", "BR", "L1-LD", "L1-STM", "LLC-LD", "LLC-LDM", "LLC-ST", "LLC-STM"):
        assert read[name] == counted, name
    assert read["L1-ST"] == ("", "unsupported")
    assert read["BR-M"] == ("", "no-permission")
    assert read["L1-LDM"] == ("", "not-scheduled")


def test_the_kernel_comes_first(bench):
    """PAPI only where perf_event_open gives nothing; never where it is not wanted."""
    source, read = counters(bench, MPET_COUNTERS="perf_event")
    kernel_counts = read["INSTR"][1] not in {"unsupported", "no-permission"}
    assert source == "perf_event"
    assert counters(bench)[0] == ("perf_event" if kernel_counts else "papi")


@pytest.mark.lab
def test_without_papi_nothing_changes(native, bench):
    assert "libpapi" in output("ldd", bench)
    with pytest.raises(AssertionError, match=r"MPET_COUNTERS=papi: this kit was built without papi\.h"):
        counters(native / "mpet-bench-clean", MPET_COUNTERS="papi")
    assert counters(native / "mpet-bench-clean")[0] == "perf_event"


def test_what_is_asked_for_has_to_exist(bench):
    with pytest.raises(AssertionError, match="MPET_COUNTERS must be perf_event or papi, not likwid"):
        counters(bench, MPET_COUNTERS="likwid")
