"""Task graphs: what waits for what, and how much work there is."""

import pytest

from benchmarks.simulator import PROGRAMS
from benchmarks.simulator.graphs import (
    nested_graph,
    pipeline_graph,
    recursion_graph,
    search_tree_graph,
    sparse_lu_graph,
    wavefront_graph,
)
from benchmarks.simulator.programs import Tasks
from tests.benchmarks.simulator.quiet import span

GRAPHS = {
    "recursion": recursion_graph(6, 0.02, 0.03, skew=0.3, seed=1),
    "recursion without joins": recursion_graph(5, 0.1, 0.0),
    "search": search_tree_graph(100, 0.9, seed=2),
    "nested": nested_graph([1.0, 0.5], 7),
    "wavefront": wavefront_graph(7, 5),
    "pipeline": pipeline_graph((1.0, 2.0), streams=3, items=10),
    "lu": sparse_lu_graph(6, 0.4, seed=3),
}


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
        assert 0 < span(graph) <= 1.0
        assert all(0 <= place < 1 for place in graph.place)

    def test_spawned_tasks_have_one_creator(self):
        """Who pays for a task must be clear."""
        for graph in [*GRAPHS.values(), *(p.structure.graph for o in PROGRAMS for p in o.phases if is_tasks(p))]:
            assert all(count == 1 for count, spawned in zip(graph.waits, graph.spawned, strict=True) if spawned)

    def test_longest_paths(self):
        assert span(wavefront_graph(7, 5)) == pytest.approx(11 / 35)
        assert span(pipeline_graph((1.0, 2.0), streams=1, items=10)) == pytest.approx(21 / 30)
        assert span(recursion_graph(3, 0.0, 0.0)) == pytest.approx(1 / 8)

    def test_fill_in_makes_a_factorisation_denser(self):
        empty, full = sparse_lu_graph(6, 0.0, 0), sparse_lu_graph(6, 1.0, 0)
        assert len(empty) == 6
        assert len(full) == sum(1 + 2 * rest + rest * rest for rest in range(6))


def is_tasks(phase):
    return isinstance(phase.structure, Tasks)
