"""Which resource is said to limit profiles that are known to be limited by it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.scaling.boundness import boundness
from profiles.scaling.roofline import Roof, Roofline, RooflinePoint
from profiles.scaling.runs import scaling_curves
from profiles.scaling.sentences import limit_sentences
from tests.profiles.scaling.known_losses import curves
from tests.samples import sample_runs

ROOFLINE = Roofline(roofs=(Roof(1, 10e9, 10e9), Roof(8, 80e9, 20e9)), handover=(), lock=((1, 5e-9), (8, 60e-9)))


def point(misses):
    return RooflinePoint("w", 8, 1e9, misses, time_s=1.0)


class TestBoundness:
    def test_near_the_roof_it_is_bound_by_memory(self):
        found = boundness(curves([1, 8], [8.0, 4.0]), point(18e9 / 64), ROOFLINE)
        assert (found.kind, found.by) == ("memory", "roofline")
        assert "18 GB/s, 90%" in found.sentence

    def test_far_below_it_by_computation(self):
        found = boundness(curves([1, 8], [8.0, 4.0]), point(2e9 / 64), ROOFLINE)
        assert (found.kind, found.by) == ("computation", "roofline")

    def test_locks_count_before_the_roofline(self):
        of = curves([1, 8], [8.0, 4.0], imbalance=[0, 0], lock=[0, 0.5])
        found = boundness(of, point(18e9 / 64), ROOFLINE)
        assert found.kind == "communication"
        assert "60 ns among 8 threads" in found.sentence

    @pytest.mark.parametrize(("seconds", "kind"), [(4.0, "memory"), (1.0, "computation")])
    def test_without_counters_by_which_ceiling_the_speedup_follows(self, seconds, kind):
        """Bandwidth gains 2 from 1 to 8 threads, arithmetic 8."""
        assert boundness(curves([1, 8], [8.0, seconds]), None, ROOFLINE).kind == kind

    def test_by_the_pattern_alone_it_says_so(self):
        memory = boundness(curves([1, 8], [8.0, 4.0], imbalance=[0, 0.05]))
        assert (memory.kind, memory.by) == ("memory", "scaling")
        assert "by its scaling alone" in memory.sentence
        assert boundness(curves([1, 8], [8.0, 4.0], imbalance=[0, 0.45])).kind == "imbalance"
        assert boundness(curves([1, 8], [8.0, 1.02], imbalance=[0, 0.01])).kind == "computation"

    def test_wall_times_alone_cannot_tell(self):
        found = boundness(curves([1, 8], [8.0, 4.0]))
        assert found.kind is None
        assert "cannot be told" in found.sentence

    @given(st.integers(0, 2**32 - 1), st.booleans())
    def test_something_is_said_of_every_profile_that_scales(self, seed, decomposed):
        of = scaling_curves(sample_runs(np.random.default_rng(seed), decomposed=decomposed))
        assert boundness(of).sentence in limit_sentences(of)
