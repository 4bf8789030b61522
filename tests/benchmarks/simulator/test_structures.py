"""Loops, locks and tasks: how threads get their work, and what that costs."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.simulator.graphs import pipeline_graph, recursion_graph, wavefront_graph
from benchmarks.simulator.programs import Critical, DynamicLoop, Serial, StaticLoop, Tasks
from benchmarks.simulator.structures import cumulated_sizes
from tests.benchmarks.simulator.quiet import program, quiet, redundancy, run, seconds, shares, span, steady


@pytest.mark.parametrize("sizes", ["equal", "triangular", "uneven", "escape", "upper_escape"])
def test_sizes_of_iterations_add_up(sizes):
    shares = cumulated_sizes(100, sizes)
    assert (len(shares), shares[0], shares[-1]) == (101, 0.0, 1.0)
    assert (np.diff(shares) > 0).all()


class TestLocks:
    @pytest.mark.parametrize("n", [2, 4, 8])
    def test_work_under_one_lock_is_done_one_after_the_other(self, n):
        hardware = steady("i9-9900K")
        locked = program(structure=StaticLoop(pieces=200, critical=Critical(1.0)))
        found = shares(hardware, locked, n)
        assert found["lock"] == pytest.approx((n - 1) / n, abs=0.03)
        assert seconds(hardware, locked, n) >= seconds(hardware, locked, 1)

    def test_handing_over_costs(self):
        often = program(structure=StaticLoop(pieces=100, critical=Critical(0.5, batch=20_000)))
        rarely = program(structure=StaticLoop(pieces=100, critical=Critical(0.5, batch=1)))
        hardware = steady("i9-9900K")
        assert seconds(hardware, often, 4) > 1.3 * seconds(hardware, rarely, 4)
        assert run(hardware, often, 1, probed=False).time_ns < 1.1 * run(hardware, rarely, 1, probed=False).time_ns

    def test_more_locks_are_waited_for_less(self):
        hardware = quiet("i9-9900K")
        waits = [
            shares(hardware, program(structure=StaticLoop(pieces=100, critical=Critical(0.5, locks=locks))), 8)["lock"]
            for locks in (1, 8, 64)
        ]
        assert waits[0] > 2 * waits[1] > 4 * waits[2]


class TestLoops:
    def test_a_triangular_loop_cut_in_two(self):
        """Blocks of 1/4 and 3/4: the first waits 1/2 of 3/2."""
        hardware, loop = steady("i7-4771"), program(structure=StaticLoop(4096, "triangular"))
        assert shares(hardware, loop, 2)["imbalance"] == pytest.approx(1 / 3, abs=0.002)
        assert redundancy(hardware, loop, 2) == pytest.approx(1.0, abs=0.002)

    def test_half_a_mandelbrot_image_cut_in_two(self):
        """What the profilers agreed on when this loop was measured: w = 0.385."""
        found = shares(steady("i7-4771"), program(structure=StaticLoop(400, "upper_escape")), 2)
        assert found["imbalance"] == pytest.approx(0.385, abs=0.02)

    def test_few_iterations_cannot_be_divided_evenly(self):
        found = shares(steady("i5-8500T"), program(structure=StaticLoop(7)), 6)
        assert found["imbalance"] == pytest.approx(5 / 12, abs=0.01)

    def test_chunks_from_a_queue_even_out_what_blocks_do_not(self):
        hardware = steady("i9-9900K")
        blocks, chunks = StaticLoop(400, "triangular"), DynamicLoop(400, "triangular")
        assert shares(hardware, program(structure=chunks), 8)["imbalance"] < 0.05
        assert shares(hardware, program(structure=blocks), 8)["imbalance"] > 0.4

    def test_many_small_chunks_queue_at_the_distributor(self):
        hardware = steady("Xeon E5-2630 v3")
        fetching = [
            shares(hardware, program(structure=DynamicLoop(320, batch=batch)), 16)["distribution"]
            for batch in (1, 1000, 30_000)
        ]
        assert fetching[0] < 0.005 < fetching[1] < 0.3 < fetching[2]
        crowd = [
            shares(hardware, program(structure=DynamicLoop(320, batch=3000)), n)["distribution"] for n in (2, 8, 16)
        ]
        assert crowd == sorted(crowd)

    def test_threads_are_woken_in_turn(self):
        hardware = steady("Xeon Gold 6148")
        found = {n: shares(hardware, program(instructions=2e8, batch=20), n)["distribution"] for n in (10, 40)}
        assert found[40] > 4 * found[10] > 0

    def test_a_serial_part_leaves_the_others_waiting(self):
        assert shares(steady("i7-4771"), program(structure=Serial()), 4)["imbalance"] == pytest.approx(0.75, abs=0.01)


class TestTasks:
    @pytest.mark.parametrize("queue", ["central", "stealing"])
    @pytest.mark.parametrize("graph", [recursion_graph(6, 0.05, 0.05, 0.2, 1), wavefront_graph(12, 9)])
    def test_no_faster_than_the_longest_path_and_than_all_threads(self, graph, queue):
        hardware, structure = steady("i9-9900K"), Tasks(graph, queue)
        one = seconds(hardware, program(structure=structure), 1)
        for n in (2, 4, 8):
            took = seconds(hardware, program(structure=structure), n)
            bound = max(span(graph), 1 / n)
            assert bound * 0.999 <= took / one <= (span(graph) + 1 / n) * 1.02  # Brent's bounds

    def test_stealing_keeps_threads_busy(self):
        stealing = program(structure=Tasks(recursion_graph(9, 0.0, 0.0), "stealing", batch=10))
        found = shares(steady("i9-9900K"), stealing, 8)
        assert found["use"] > 0.97
        assert found["distribution"] > 0

    def test_a_pipeline_is_as_fast_as_its_slowest_stage(self):
        stages = (1.0, 3.0, 1.0)
        pipeline = program(structure=Tasks(pipeline_graph(stages, streams=1, items=100), "central"))
        hardware = steady("i9-9900K")
        speedup = seconds(hardware, pipeline, 1) / seconds(hardware, pipeline, 8)
        assert speedup == pytest.approx(sum(stages) / max(stages), rel=0.03)

    def test_creating_small_tasks_costs(self):
        graph = recursion_graph(7, 0.0, 0.0)
        hardware = steady("A7 (BCM2836)")
        few, many = (shares(hardware, program(structure=Tasks(graph, "stealing", batch)), 4) for batch in (1, 3000))
        assert few["creation"] < 0.001
        assert many["creation"] > 0.05
        assert few["switching"] < many["switching"]

    def test_one_thread_that_creates_all_holds_the_others_up(self):
        structure = Tasks(recursion_graph(6, 0.0, 0.0), "central", batch=30_000, created_first=True)
        hardware = steady("i9-9900K")
        forked = replace(structure, created_first=False)
        assert shares(hardware, program(structure=structure), 8)["creation"] > 0
        assert seconds(hardware, program(structure=structure), 8) > seconds(hardware, program(structure=forked), 8)
