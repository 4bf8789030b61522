"""mpet-profile and the time of a program outside its parallel regions: the workload "serial rest"."""

from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.kit.profiled import COMPILERS_OF_TESTS, REST, Profiled, compile_program, eventually, profile

pytestmark = pytest.mark.kit

NO_MORE_S = 0.15  # what the program may take beside its sleep, without which the test says nothing


@pytest.fixture(scope="module", params=COMPILERS_OF_TESTS)
def program(request, tmp_path_factory) -> Path:
    return compile_program("serial.c", request.param, tmp_path_factory.mktemp("program"), "-pthread")


def measure(program: Path, *arguments: str, least_share: str = "0", n: str = "1") -> Profiled:
    options = ["--n", n, "--repeats", "1", "--min-share", least_share]
    done = profile([program, *arguments], program.parent, *options)
    assert done.status == 0, done.said
    return done


def check_rest(done: Profiled, slept_s: float) -> None:
    """Sleep is never too short; it may be too long on a machine that is busy."""
    rest_s = done.sections()[REST].time_s
    assert np.all(rest_s >= slept_s)
    assert np.all(rest_s < slept_s + NO_MORE_S)


@pytest.fixture(scope="module")
def usual(program) -> Profiled:
    """On one and two threads; the tests that ask for it need no other measurement."""
    measured: list[Profiled] = []

    def check():
        measured.append(measure(program, n="1,2"))
        check_rest(measured[-1], 0.2)

    eventually(check)
    return measured[-1]


def test_half_of_the_time_is_outside_the_regions(program, usual):
    runs = usual.sections()[REST]
    assert runs.n.tolist() == [1, 2]
    assert not runs.is_profile_pass.any()
    assert len(usual.regions()) == 2
    (share,) = [line for line in usual.said.splitlines() if "is outside these regions" in line]
    assert share.endswith(f"the workload {program.name}/{REST}")


def test_it_is_a_sequential_workload_of_the_program(program, usual):
    (rest,) = [workload for workload in usual.measurements.workloads if workload.section == REST]
    assert (rest.name, rest.application, rest.strategy) == (f"{program.name}/{REST}", program.name, "sequential")
    assert "outside the measured parallel regions" in rest.description


def test_regions_that_are_left_out_count_in_it(program):
    def check():
        done = measure(program, least_share="20%")
        (region,) = done.regions()
        assert region.startswith("region:")
        check_rest(done, 0.25)

    eventually(check)


@pytest.mark.parametrize("arguments", [[], ["both"]])
@pytest.mark.parametrize("compiler", COMPILERS_OF_TESTS)
def test_regions_that_exist_on_more_threads_alone_begin_there(compiler, arguments, tmp_path):
    """OpenBLAS and LULESH have such regions; a program with no other ones ended with status 1."""
    program = compile_program("late.c", compiler, tmp_path)
    done = profile([program, *arguments], tmp_path, "--n", "1,2", "--repeats", "1", "--min-share", "0")
    assert done.status == 0, done.said
    regions = done.regions()
    (late,) = [runs for section, runs in regions.items() if section.startswith("sum:")]
    others = [runs for section, runs in regions.items() if section.startswith("main:")]
    assert sorted(zip(late.n, late.is_profile_pass, strict=True)) == [(2, False), (2, True)]
    assert [set(other.n) for other in others] == [{1, 2}] * len(arguments)
    sums = late.parts_ns[late.is_profile_pass].sum(axis=1)
    assert np.array_equal(sums, (late.n * late.time_ns)[late.is_profile_pass])
    rest = done.sections()[REST]
    assert rest.n.tolist() == [1, 2]
    assert rest.time_s[0] > 4 * rest.time_s[1]  # on one thread it has the region's work
    assert "is not executed on fewer than 2 threads, so its times begin there" in done.said


def test_regions_at_the_same_time_count_once(program, usual):
    def check():
        done = measure(program, "together")
        check_rest(done, 0.2)
        assert "the times of the workloads add up to more than the program's" in done.said

    eventually(check)
    assert "add up to more" not in usual.said
