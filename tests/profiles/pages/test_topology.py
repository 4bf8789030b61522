from collections import Counter

import pytest

from profiles.measurements import PlatformRecord
from profiles.pages.topology import draw_sockets


def machine(*counts: int | None, **further: int) -> PlatformRecord:
    names = ("sockets", "numa_nodes", "physical_cores", "threads", "n_nu", "n_ht")
    return PlatformRecord("machine", "cpu", **dict(zip(names, counts, strict=False)), **further)


def kinds(of: PlatformRecord) -> list[Counter]:
    return [Counter(box.kind for box in socket.boxes) for socket in draw_sockets(of)]


def test_two_sockets_with_smt_show_when_each_thread_is_placed():
    """2 x 8 cores: 8 threads stay on the first node, 16 fill the cores, the rest are SMT threads."""
    first, second = kinds(machine(2, 2, 16, 32, n_nu=8, n_ht=16))
    assert first == {"node": 1, "core": 8, "first": 8, "smt": 8}
    assert second == {"node": 1, "core": 8, "numa": 8, "smt": 8}


def test_numa_nodes_are_numbered_over_all_sockets_and_stand_apart():
    sockets = draw_sockets(machine(2, 4, 16, 16, n_nu=4))
    nodes = [[box for box in socket.boxes if box.kind == "node"] for socket in sockets]
    assert [[node.text for node in of] for of in nodes] == [["NUMA 0", "NUMA 1"], ["NUMA 2", "NUMA 3"]]
    assert nodes[0][0].x + nodes[0][0].width < nodes[0][1].x


def test_what_nobody_reported_is_drawn_as_one():
    (only,) = kinds(machine(None, None, 4, None))
    assert only == {"node": 1, "core": 4, "first": 4}
    assert draw_sockets(machine(2, 2, None, 32)) == []


@pytest.mark.parametrize("of", [machine(1, 1, 1, 1), machine(2, 8, 104, 208, 13, 104), machine(3, 5, 7, 14)])
def test_every_box_lies_inside_its_drawing(of):
    for socket in draw_sockets(of):
        for box in socket.boxes:
            assert 0 <= box.x <= box.x + box.width <= socket.width
            assert 0 <= box.y <= box.y + box.height <= socket.height
