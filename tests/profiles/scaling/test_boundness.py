"""Which resource is said to limit profiles that are known to be limited by it, and where it is said to be untold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.scaling.boundness import FEW_MISSES, MANY_MISSES, WAITING_SHARE, boundness, misses_per_kilo_instruction
from profiles.scaling.limits import limit_sentences
from profiles.scaling.names import CURVE_NAMES
from profiles.scaling.roofline import MachineFacts, Roof, Roofline, RooflinePoint
from profiles.scaling.runs import scaling_curves
from tests.profiles.scaling.known_losses import curves
from tests.samples import sample_runs

ROOFLINE = Roofline(roofs=(Roof(1, 10e9, 10e9), Roof(8, 80e9, 20e9)), handover=(), lock=((1, 5e-9), (8, 60e-9)))
MEASURED = MachineFacts(roofline=ROOFLINE)
PARALLEL = curves([1, 8], [8.0, 4.0], imbalance=[0, 0.05])


def point(bytes_per_s, n=8):
    return RooflinePoint("w", n, 1e9, bytes_per_s / 64, time_s=1.0)


def counted(of, misses, hits=0.0):
    """The curves with so many misses of the last-level cache in 1000 instructions, and hits."""
    measures = {"L1-LD/INSTR": 0.3, "LLC-LD/INSTR": (misses + hits) / 1000, "L1-LD/LLC-LDM": np.nan}
    if misses:
        measures["L1-LD/LLC-LDM"] = 300 / misses
    values = of.values.copy()
    for name, value in measures.items():
        values[1 + CURVE_NAMES.index(name)] = value
    return replace(of, values=values)


class TestWaiting:
    def test_imbalance(self):
        found = boundness(counted(curves([1, 8], [8.0, 2.0], imbalance=[0, 0.45]), 20))
        assert (found.kind, found.by) == ("imbalance", "scaling")
        assert "45 %" in found.sentence

    def test_locks_count_before_the_roofline(self):
        of = curves([1, 8], [8.0, 4.0], imbalance=[0, 0], lock=[0, 0.5])
        found = boundness(of, MEASURED, point(18e9))
        assert found.kind == "communication"
        assert "60 ns among 8 threads" in found.sentence

    def test_less_does_not_limit(self):
        of = curves([1, 8], [8.0, 1.5], imbalance=[0, WAITING_SHARE - 0.01])
        assert boundness(of).kind is None

    @pytest.mark.parametrize(("share", "kind"), [(0.25, None), (0.35, None), (0.41, "imbalance")])
    def test_a_predicted_share_near_the_limit_does_not_tell(self, share, kind):
        of = curves([1, 8], [8.0, 2.0], imbalance=[0, share])
        assert boundness(of, predicted=True).kind == kind
        assert boundness(of).kind == ("imbalance" if share >= WAITING_SHARE else None)


class TestCounters:
    @pytest.mark.parametrize(
        ("misses", "hits", "kind"),
        [
            (MANY_MISSES + 0.1, 0, "memory"),
            (0.5 * (FEW_MISSES + MANY_MISSES), 0, None),
            (FEW_MISSES - 0.1, 0, "computation"),
            (0.1, 10 * MANY_MISSES, "memory"),
            (0, 0, "computation"),
        ],
    )
    def test_misses_tell_computing_from_memory(self, misses, hits, kind):
        found = boundness(counted(PARALLEL, misses, hits))
        assert (found.kind, found.by) == (kind, "counters")
        assert "of 1000 instructions" in found.sentence

    def test_redundancy_of_smt_threads_is_no_memory(self):
        """16 threads on 8 cores that are no faster than 8, of a program that misses no cache."""
        of = counted(curves([1, 8, 16], [8.0, 1.0, 1.0], imbalance=[0, 0, 0]), 0.1)
        assert boundness(of, MachineFacts(n_ht=8, clock_ratio=1.1)).kind == "computation"

    def test_a_miss_has_reached_the_cache_that_it_misses(self):
        of = counted(PARALLEL, 1.0)
        of.values[1 + CURVE_NAMES.index("L1-LD/LLC-LDM")] = 0.5  # as a prediction may say it
        assert misses_per_kilo_instruction(of) == pytest.approx(1.0)

    def test_wall_times_beside_them_do_not_tell_what_is_lost(self):
        assert boundness(counted(curves([1, 8], [8.0, 4.0]), 0.1)).kind is None
        assert boundness(counted(curves([1, 8], [8.0, 1.1]), 0.1)).kind == "computation"

    def test_at_any_n(self):
        of = counted(PARALLEL, 20)
        assert boundness(of, n=1).sentence.startswith("At 1 thread 20 of")
        with pytest.raises(ValueError, match="2"):
            boundness(of, n=2)


class TestCeilings:
    def test_near_the_roof_it_is_bound_by_memory(self):
        found = boundness(counted(PARALLEL, 0.1), MEASURED, point(18e9))
        assert (found.kind, found.by) == ("memory", "roofline")
        assert "18 GB/s, 90 %" in found.sentence

    def test_far_below_it_the_counters_tell(self):
        assert boundness(counted(PARALLEL, 0.1), MEASURED, point(2e9)).kind == "computation"
        assert boundness(counted(PARALLEL, 20), MEASURED, point(2e9)).kind == "memory"

    def test_useful_work_that_gains_what_the_bandwidth_gains(self):
        """Bandwidth gains 2 from 1 to 8 threads, arithmetic 8."""
        found = boundness(PARALLEL, MEASURED)
        assert (found.kind, found.by) == ("memory", "roofline")

    def test_beyond_the_bandwidth_computing_and_latency_look_alike(self):
        found = boundness(curves([1, 8], [8.0, 1.0], imbalance=[0, 0]), MEASURED)
        assert (found.kind, found.by) == (None, "roofline")
        assert "memory bandwidth does not limit it" in found.sentence

    def test_locks_move_lines_too(self):
        of = curves([1, 8], [8.0, 4.0], imbalance=[0, 0], lock=[0, 0.1])
        assert boundness(of, MEASURED).kind is None


class TestRedundancy:
    def test_more_than_clock_and_smt_explain_is_memory(self):
        of = curves([1, 8, 16], [8.0, 2.0, 2.0], imbalance=[0, 0, 0])  # R = 2 at 8, 4 at 16
        assert boundness(of, MachineFacts(n_ht=8, clock_ratio=1.3)).kind == "memory"
        assert boundness(of, MachineFacts(n_ht=8, clock_ratio=1.7)).kind is None
        assert boundness(of, MachineFacts(n_ht=4, clock_ratio=1.3)).kind is None

    @pytest.mark.parametrize("machine", [MachineFacts(), MachineFacts(clock_ratio=1.0, virtualised=True)])
    def test_nothing_is_explained_where_nothing_is_known(self, machine):
        assert boundness(curves([1, 8], [8.0, 4.0], imbalance=[0, 0]), machine).kind is None

    def test_perfect_scaling_is_not_computing(self):
        found = boundness(curves([1, 8], [8.0, 1.0], imbalance=[0, 0]))
        assert found.kind is None
        assert "Without counters, computation-bound and memory-bound cannot be distinguished" in found.sentence


def test_wall_times_alone_cannot_tell():
    found = boundness(curves([1, 8], [8.0, 4.0]), replace(MEASURED, clock_ratio=1.0))
    assert found.kind is None
    assert "Wall times alone" in found.sentence


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_something_is_said_of_every_profile_that_scales(seed, decomposed):
    of = scaling_curves(sample_runs(np.random.default_rng(seed), decomposed=decomposed))
    assert boundness(of).sentence in limit_sentences(of)
