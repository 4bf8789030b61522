"""Tasks of kinds that a runtime reports in its own way (profiler_programs/tasks.c), through both profilers."""

import os
import re

import pytest

from tests.benchmarks.kit.profiled import (
    COMPILERS_OF_TESTS,
    LIBRARIES,
    build_profiler,
    compile_program,
    eventually,
    profile,
    run_preloaded,
)

pytestmark = [
    pytest.mark.kit,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors"),
]


@pytest.fixture(scope="module", params=COMPILERS_OF_TESTS)
def tasks(request, tmp_path_factory):
    program = compile_program("tasks.c", request.param, tmp_path_factory.mktemp("tasks"))
    return program, build_profiler() / LIBRARIES[request.param]


def region(program, library, kernel, folder, threads=2):
    """Threads, time and parts of the kernel's region, in ns."""
    _, recording = run_preloaded(program, library, folder, threads, kernel)
    (line,) = [line for line in recording.splitlines() if line.startswith("region")]
    _, _, _, team, _, time_ns, *rest = line.split("\t")
    return int(team), int(time_ns), list(map(int, rest[:7]))


def test_the_end_of_an_untied_part_ends_its_use(tasks, tmp_path):
    """Where the untied task of a waiting thread went on as use, this was 99.9 % use."""

    def check():
        threads, time_ns, parts = region(*tasks, "untied", tmp_path)
        assert threads == 2
        assert sum(parts) == threads * time_ns
        assert parts[0] / sum(parts) == pytest.approx(0.5, abs=0.05)

    eventually(check)


def test_tasks_that_are_not_deferred_are_use(tasks, tmp_path):
    """Each is executed by the call that would create it: nothing is created, switched or waited for."""
    program, library = tasks
    _, _, (use, _, _, creation, _, switching, _) = region(program, library, "undeferred", tmp_path, 1)
    assert use > 0
    assert (creation, switching) == (0, 0)


def test_a_task_goes_on_after_one_that_is_not_deferred(tasks, tmp_path):
    """What follows in the outer task is use of one of two threads."""

    def check():
        threads, time_ns, parts = region(*tasks, "mixed", tmp_path)
        assert sum(parts) == threads * time_ns
        assert parts[0] / sum(parts) == pytest.approx(0.5, abs=0.05)

    eventually(check)


def test_the_time_without_a_tool_is_said_where_libomp_takes_longer_with_one(tasks, tmp_path):
    """Twice as long and more for empty tasks; a region of libgomp's has no such time, as no tool is loaded."""
    program, library = tasks

    def check():
        said = profile([program, "undeferred"], tmp_path, "--n", "1", "--repeats", "1").said
        found = re.search(r"undeferred:\d+ takes about (\S+) s instead of (\S+) s", said)
        if library.name == "libmpet_gomp.so":
            assert "while a tool is loaded" not in said
        else:
            assert found, said
            assert 0.2 < float(found[1]) / float(found[2]) < 1

    eventually(check)


def test_tasks_that_are_not_deferred_cost_half_as_much_again_at_most(tasks, tmp_path):
    """Two million empty ones: 1.7 times the clean pass by libomp, where each of four events read the clock."""
    program, library = tasks
    clean = library.with_name(library.name.replace(".so", "_clean.so"))

    def check():
        times = {
            path: min(region(program, path, "undeferred", tmp_path, 1)[1] for _ in range(7))
            for path in (library, clean)
        }
        assert times[library] < 1.5 * times[clean]

    eventually(check)
