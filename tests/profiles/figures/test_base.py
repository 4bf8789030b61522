"""Axes: their ticks, their range, and how many thread counts a line has."""

import numpy as np
import pytest

from profiles.figures import (
    drawn_thread_counts,
    logarithmic_ticks,
)


def test_many_thread_counts_are_thinned_and_keep_their_ends():
    counts = drawn_thread_counts(np.array([1, 1024]))
    assert len(counts) <= 200
    assert (counts[0], counts[-1]) == (1, 1024)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [([1.0, 100.0], ["1", "2", "5", "10", "20", "50", "100"]), ([4.5, 7.0], ["4", "5", "6", "8"])],
)
def test_ticks_of_a_logarithmic_axis(values, ticks):
    assert logarithmic_ticks(values)["ticktext"] == ticks
