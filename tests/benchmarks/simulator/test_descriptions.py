"""Machines, programs and task graphs as they are described, before anything runs."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.simulator import HARDWARE, PROGRAMS, find_hardware
from benchmarks.simulator.caches import Sharers, hit_share, instruction_costs
from benchmarks.simulator.graphs import (
    nested_graph,
    pipeline_graph,
    recursion_graph,
    search_tree_graph,
    sparse_lu_graph,
    wavefront_graph,
)
from benchmarks.simulator.programs import Access, Kernel, Tasks
from benchmarks.simulator.structures import cumulated_sizes
from profiles.measurements import BOUNDS, DEVICE_CLASSES, STRATEGIES

TABLE_4 = {  # the paper's: cores, threads, bits of a word
    "Xeon Gold 6148": (2 * 20, 80, 64),
    "Xeon E5-2630 v3": (2 * 8, 32, 64),
    "Xeon E5-2680": (2 * 8, 32, 64),
    "Opteron 6220": (2 * 8, 16, 64),
    "Opteron 6172": (2 * 12, 24, 64),
    "Xeon E5620": (2 * 4, 16, 64),
    "i9-9900K": (8, 16, 64),
    "i5-8500T": (6, 6, 64),
    "i7-8550U": (4, 8, 64),
    "i5-7300HQ": (4, 4, 64),
    "i7-4771": (4, 8, 64),
    "i7-3667U": (2, 4, 64),
    "A53 (S905)": (4, 4, 64),
    "A15 (Exynos 5422)": (4, 4, 32),
    "A7 (BCM2836)": (4, 4, 32),
}
GRAPHS = {
    "recursion": recursion_graph(6, 0.02, 0.03, skew=0.3, seed=1),
    "recursion without joins": recursion_graph(5, 0.1, 0.0),
    "search": search_tree_graph(100, 0.9, seed=2),
    "nested": nested_graph([1.0, 0.5], 7),
    "wavefront": wavefront_graph(7, 5),
    "pipeline": pipeline_graph((1.0, 2.0), streams=3, items=10),
    "lu": sparse_lu_graph(6, 0.4, seed=3),
}


class TestHardware:
    def test_the_machines_of_the_papers_table(self):
        found = {one.name: (one.physical_cores, one.threads, one.core.word_bits) for one in HARDWARE}
        assert found == TABLE_4

    def test_every_kind_of_machine_is_there(self):
        assert {one.device_class for one in HARDWARE} == set(DEVICE_CLASSES)
        breakpoints = {(one.n_nu is not None, one.n_ht is not None) for one in HARDWARE}
        assert breakpoints == {(True, True), (True, False), (False, True), (False, False)}
        assert any(len(one.core.counters) < 11 for one in HARDWARE)

    @pytest.mark.parametrize("hardware", HARDWARE, ids=lambda one: one.name)
    def test_a_record_says_that_it_is_simulated_and_holds_together(self, hardware):
        record = hardware.record()
        assert record.name == f"{hardware.name} (simulated)"
        assert record.base_mhz <= hardware.all_cores_mhz <= record.max_mhz
        assert record.n_nu is None or record.n_ht is None or record.n_nu < record.n_ht
        assert hardware.nodes % hardware.sockets == 0
        assert hardware.physical_cores % hardware.l2_cores == hardware.physical_cores % hardware.module_cores == 0

    def test_thread_counts_of_the_kit(self):
        counts = find_hardware("Xeon E5-2630 v3").thread_counts()
        assert counts == [*range(1, 11), 12, 15, 16, 17, 18, 24, 32]
        assert find_hardware("A7 (BCM2836)").thread_counts() == [1, 2, 3, 4]

    @pytest.mark.parametrize("hardware", HARDWARE, ids=lambda one: one.name)
    def test_three_thread_counts_in_a_segment_where_it_has_as_many(self, hardware):
        counts = np.array(hardware.thread_counts())
        edges = [0, *(edge for edge in (hardware.n_nu, hardware.n_ht) if edge), hardware.threads]
        for low, high in pairwise(edges):
            assert ((counts > low) & (counts <= high)).sum() >= min(3, high - low)

    def test_names(self):
        assert find_hardware("i7-4771 (simulated)") is find_hardware("i7-4771")
        with pytest.raises(KeyError):
            find_hardware("i7")


class TestPrograms:
    def test_every_strategy_and_bound_occurs(self):
        assert {one.strategy for one in PROGRAMS} == set(STRATEGIES)
        assert {one.bound for one in PROGRAMS} == {*BOUNDS, None}
        assert len(PROGRAMS) >= 17

    def test_names_are_unique_and_say_that_they_are_simulated(self):
        records = [one.record() for one in PROGRAMS]
        assert len({record.name for record in records}) == len(records)
        assert all(record.name.endswith(" (simulated)") and record.runtime == "simulated" for record in records)
        assert all("not a program" in record.description for record in records)

    def test_shares_are_shares(self):
        for kernel in {phase.kernel for one in PROGRAMS for phase in one.phases}:
            assert sum(access.share for access in kernel.accesses) <= 1.0
            assert kernel.loads + kernel.stores + kernel.branches < 1.0


class TestGraphs:
    @pytest.mark.parametrize("name", GRAPHS)
    def test_every_task_can_be_reached_and_the_work_is_one(self, name):
        graph = GRAPHS[name]
        waiting = list(graph.waits)
        ready = [task for task, count in enumerate(waiting) if not count]
        done = 0
        while ready:
            done += 1
            for after in graph.successors[ready.pop()]:
                waiting[after] -= 1
                ready += [after] * (not waiting[after])
        assert done == len(graph)
        assert sum(graph.work) == pytest.approx(1.0)
        assert 0 < graph.span <= 1.0
        assert all(0 <= place < 1 for place in graph.place)

    def test_spawned_tasks_have_one_creator(self):
        """Who pays for a task must be clear."""
        for graph in [*GRAPHS.values(), *(p.structure.graph for o in PROGRAMS for p in o.phases if is_tasks(p))]:
            assert all(count == 1 for count, spawned in zip(graph.waits, graph.spawned, strict=True) if spawned)

    def test_longest_paths(self):
        assert wavefront_graph(7, 5).span == pytest.approx(11 / 35)
        assert pipeline_graph((1.0, 2.0), streams=1, items=10).span == pytest.approx(21 / 30)
        assert recursion_graph(3, 0.0, 0.0).span == pytest.approx(1 / 8)

    def test_fill_in_makes_a_factorisation_denser(self):
        empty, full = sparse_lu_graph(6, 0.0, 0), sparse_lu_graph(6, 1.0, 0)
        assert len(empty) == 6
        assert len(full) == sum(1 + 2 * rest + rest * rest for rest in range(6))


def is_tasks(phase):
    return isinstance(phase.structure, Tasks)


@pytest.mark.parametrize("sizes", ["equal", "triangular", "uneven", "escape", "upper_escape"])
def test_sizes_of_iterations_add_up(sizes):
    shares = cumulated_sizes(100, sizes)
    assert (len(shares), shares[0], shares[-1]) == (101, 0.0, 1.0)
    assert (np.diff(shares) > 0).all()


class TestCosts:
    STREAM = Kernel(accesses=(Access(1.0, 1 << 30),))

    def test_hits(self):
        assert hit_share(1 << 20, 1 << 10) > 0.999
        assert hit_share(1 << 20, 1 << 24) < 0.001
        assert hit_share(1 << 10, 1 << 10) == 0.5

    def test_a_sibling_leaves_half_of_the_misses_in_flight(self):
        hardware = find_hardware("i9-9900K")
        deep = Kernel(accesses=(Access(1.0, 1 << 30, parallel=100.0),))
        alone, beside = (instruction_costs(hardware, deep, Sharers(issue=issue), 1).waited_misses for issue in (1, 2))
        assert beside == pytest.approx(2 * alone)

    def test_wide_vectors_need_fewer_instructions(self):
        vectors = Kernel(vector=1.0)
        narrow, wide = (
            instruction_costs(find_hardware(name), vectors, Sharers(), 1) for name in ("Xeon E5620", "i9-9900K")
        )
        assert wide.counts[0] == pytest.approx(narrow.counts[0] / 2)

    def test_without_a_third_level_the_second_is_the_last(self):
        arm = instruction_costs(find_hardware("A53 (S905)"), self.STREAM, Sharers(), 1)
        assert arm.counts[7] == pytest.approx(arm.counts[5])  # LLC-LD: what misses the first level
        assert arm.traffic_bytes > 0

    def test_nothing_touched_costs_nothing(self):
        found = instruction_costs(find_hardware("i9-9900K"), Kernel(loads=0.0, stores=0.0), Sharers(), 1)
        assert (found.cache_cycles, found.waited_misses, found.traffic_bytes) == (0.0, 0.0, 0.0)
