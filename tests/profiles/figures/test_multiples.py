import math

import numpy as np
import pytest

from profiles.figures.base import MeasuredCurve
from profiles.figures.multiples import HEIGHT, WIDTH, small_multiples

HALVES = MeasuredCurve("a", np.array([1, 2, 4]), np.array([8.0, 4.0, 2.0]), 8.0)
FLAT = MeasuredCurve("b", np.array([1, 8]), np.array([3.0, 3.0]), 3.0)
UNKNOWN = MeasuredCurve("c", np.array([2, 4]), np.array([3.0, 2.0]), None)


def test_all_multiples_have_the_same_axes():
    found = small_multiples([HALVES, FLAT])
    assert found.n_top == 8
    assert found.drawings[0].points[0][0] == 0, "thread counts start at 1"
    assert [x for x, _ in found.drawings[0].points] == pytest.approx([0, WIDTH / 3, 2 * WIDTH / 3], abs=0.1)
    assert found.drawings[1].points[-1][0] == WIDTH
    assert found.drawings[0].points[0][1] == found.drawings[1].points[0][1] == found.drawings[1].points[-1][1]
    (_, lowest), _, (_, highest) = found.drawings[0].points
    height = HEIGHT * math.log(4) / math.log(found.top / found.bottom)
    assert lowest - highest == pytest.approx(height, abs=0.1)


def test_each_names_its_best_speedup_and_the_numbers_are_there_to_be_saved():
    found = small_multiples([UNKNOWN, HALVES, FLAT])
    assert found.drawings[0] is None, "a curve without speedup leaves its place empty"
    assert (found.drawings[1].best, found.drawings[1].best_n) == (4.0, 4)
    assert found.rows == [("a", 1, 1.0), ("a", 2, 2.0), ("a", 4, 4.0), ("b", 1, 1.0), ("b", 8, 1.0)]
    nothing = small_multiples([UNKNOWN])
    assert (nothing.drawings, nothing.rows) == ([None], [])
