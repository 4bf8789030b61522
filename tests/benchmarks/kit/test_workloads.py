"""The kit's workloads: what they say about themselves, and that threads change nothing about their results."""

import re

import pytest

from profiles.measurements import BOUNDS, PARTS, STRATEGIES
from tests.benchmarks.kit.kit_build import BUILDS, KIT, make, output, records

pytestmark = pytest.mark.kit

SOURCES = sorted((KIT / "workloads").glob("*.cpp"))
A_LOOP_A_PIPELINE_AND_TASKS = {"census", "edge_pipeline", "fib"}
TINY = ("--n", "2", "--scale", "tiny", "--repeats", "1")
PIPELINES = {"hog": 3, "sgm": 4, "kdtree": 2}  # applications of several sections


def test_make_list_prints_it_by_the_names_that_workloads_takes(applications):
    listing = make("list", build="native")
    entries = re.findall(r"^(\w+(?: \w+)*)\n    computes: .*\n    stresses: .*\n    here because: .*$", listing, re.M)
    assert len(entries) == len(SOURCES)
    assert sorted(" ".join(entries).split()) == sorted(applications)


def test_the_workloads_cover_every_strategy(native):
    rows = [line.split("\t") for line in output(native / "mpet-bench-clean", "--list").splitlines()]
    assert len({row[0] for row in rows}) == len(rows) >= 21
    assert {row[3] for row in rows} == set(STRATEGIES) - {"unknown"}
    assert {row[4] for row in rows} <= {*BOUNDS, ""}
    for application, sections in PIPELINES.items():
        assert sum(row[1] == application for row in rows) == sections
    assert output(native / "mpet-bench-profile", "--list") == output(native / "mpet-bench-clean", "--list")


def test_results_are_the_same_for_every_number_of_threads(native, applications):
    """In both builds, with 1, 2 and, for three of them, 3 threads; and the parts of each profiled run add up."""
    for application in applications:
        checksums: dict[str, str] = {}
        on_three = [("profile", 3)] if application in A_LOOP_A_PIPELINE_AND_TASKS else []
        for program, n in [("clean", 1), ("profile", 2), *on_three]:
            command = [native / f"mpet-bench-{program}", "--application", application, "--n", n]
            runs = records(output(*command, "--scale", "tiny", "--repeats", "1"), "run")
            assert runs
            for workload, _, time_ns, *parts, checksum in runs:
                assert checksums.setdefault(workload, checksum) == checksum, f"{workload} n={n} {program}"
                if program == "clean":
                    assert parts == [""] * len(PARTS)
                else:
                    assert sum(map(int, parts)) == n * int(time_ns) > 0


@pytest.mark.lab
def test_workloads_that_are_compiled_one_by_one_give_the_same(native, applications):
    """As users compile them, under every warning; the other tests compile them as one file, in a third of the time."""
    folder = BUILDS / "one-by-one"
    programs = [folder / f"mpet-bench-{kind}" for kind in ("clean", "profile")]
    make(*map(str, programs), build=folder, OPTIMISE="-O1")
    for application in applications:
        expected, *found = (
            [run[-1] for run in records(output(program, "--application", application, *TINY), "run")]
            for program in (native / "mpet-bench-clean", *programs)
        )
        assert found == [expected] * 2, application


def test_known_results(native):
    """Problems whose answer is known: Fibonacci number 18 and the solutions of seven queens."""
    for application, answer in [("fib", 2584), ("nqueens", 40)]:
        listing = output(native / "mpet-bench-clean", "--application", application, "--scale", "tiny", "--repeats", "1")
        assert int(records(listing, "run")[0][-1], 16) == answer


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--application", "nothing"], "unknown application 'nothing'"),
        (["--application", "fib", "--n", "0"], "--n must be 1 or more"),
        (["--application", "fib", "--scale", "huge"], "--scale must be tiny, quick or full"),
        (["--application"], "needs a value"),
        (["--fast", "1"], "unknown option --fast"),
        ([], "expected --application NAME or --list"),
    ],
)
def test_wrong_arguments_are_named(native, arguments, complaint):
    with pytest.raises(AssertionError, match=re.escape(complaint)):
        output(native / "mpet-bench-clean", *arguments)
