"""Known curves with known losses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.scaling.boundness import boundness
from profiles.scaling.losses import LOSSES, bottlenecks, bound_without, loss_shares, pop_efficiencies
from profiles.scaling.roofline import Roof, Roofline, RooflinePoint
from profiles.scaling.runs import CurveTable, scaling_curves
from profiles.scaling.sentences import limit_sentences
from tests.samples import sample_runs


def curves(n, time_s, imbalance=None, lock=None) -> CurveTable:
    """Of a profile whose only losses are work imbalance and lock delay, and what is redundant."""
    n, time_s = np.array(n), np.array(time_s, dtype=float)
    values = np.full((15, len(n)), np.nan)
    values[0] = time_s
    decomposed = imbalance is not None
    if decomposed:
        values[2:8] = 0
        values[LOSSES.index("work_imbalance") + 1] = imbalance
        values[LOSSES.index("lock_delay") + 1] = lock if lock is not None else 0
    used = 1 - values[2:8].sum(axis=0) if decomposed else np.ones(len(n))
    values[1] = n * time_s * used / time_s[0]
    return CurveTable(n, values, decomposed, sequential=False, t1_s=float(time_s[0]))


HALF = curves([1, 2, 4], [16.0, 10.0, 5.0], imbalance=[0.0, 0.1, 0.2])


def test_the_example_of_the_docstring():
    """R = 1.25, w = 0.2: the speedup at 4 is 3.2 - hence 0.64 of 4 - and 4 * 5 * 0.8 / 16 = 1."""
    of = curves([1, 4], [16.0, 6.25], imbalance=[0.0, 0.2])
    assert of.redundancy[1] == pytest.approx(1.25)
    assert loss_shares(of)[:, 1] == pytest.approx([0.16, 0, 0.2, 0, 0, 0, 0])


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_losses_and_the_efficiency_make_up_the_whole_thread_time(seed, decomposed):
    of = scaling_curves(sample_runs(np.random.default_rng(seed), decomposed=decomposed))
    efficiency = of.t1_s / of.time_s / of.n
    assert loss_shares(of).sum(axis=0) + efficiency == pytest.approx(1)
    assert pop_efficiencies(of).whole == pytest.approx(efficiency)


def test_without_a_part_the_others_stay_as_they_are():
    """S(4) = 3.2 with 20 % imbalance: 3.2 / 0.8 = 4, and nothing else is lost there."""
    bound = bound_without(HALF, "work_imbalance", 4)
    assert (bound.share, bound.time_s, bound.speedup) == pytest.approx((0.2, 4.0, 4.0))


def test_removing_a_loss_never_makes_it_slower_and_all_of_them_give_the_ideal():
    of = curves([1, 8], [8.0, 2.0], imbalance=[0, 0.1], lock=[0, 0.2])
    bounds = [bound_without(of, part, 8) for part in LOSSES]
    assert min(bound.speedup for bound in bounds) >= 4.0 - 1e-12
    assert 4.0 / (1 - sum(bound.share for bound in bounds)) == pytest.approx(8)


def test_sentences_name_part_share_and_bound():
    said = " ".join(limit_sentences(HALF))
    assert "4 threads are 3.2 times as fast as one: 80% of the ideal speedup." in said
    assert "Lost thread time at 4 threads: work imbalance 20%." in said
    assert "Without its work imbalance, the speedup at 4 threads could be 4 at best, instead of 3.2." in said


def test_they_tell_where_which_part_leads():
    of = curves([1, 2, 4], [8.0, 5.0, 4.0], imbalance=[0, 0.15, 0.1], lock=[0, 0.02, 0.3])
    assert "The largest loss is work imbalance at n = 2; lock delay at n = 4." in limit_sentences(of)


def test_they_tell_where_more_threads_do_harm_and_what_a_breakpoint_costs():
    of = curves([1, 2, 4, 8], [8.0, 4.0, 2.0, 3.0])
    assert "It is the fastest with 4 threads; with 8 it takes 50% longer." in limit_sentences(of)
    assert any("SMT threads are used (n > 4), the efficiency goes from 100% at n = 4 to 33% at n = 8" in said
               for said in limit_sentences(of, n_ht=4))  # fmt: skip
    assert not any("SMT" in said for said in limit_sentences(of, n_ht=8))


def test_a_perfect_profile_is_told_to_be_one():
    of = curves([1, 2], [8.0, 4.0], imbalance=[0, 0])
    assert "At 2 threads no part loses more than 2% of the thread time." in limit_sentences(of)


def test_a_sequential_profile_has_nothing_to_say():
    assert limit_sentences(curves([1], [8.0])) == []


class TestBottlenecks:
    def test_the_costliest_comes_first_with_its_bound(self):
        of = curves([1, 8], [8.0, 2.0], imbalance=[0, 0.1], lock=[0, 0.2])
        found = bottlenecks(of)
        assert [one.part for one in found] == ["lock_delay", "redundancy", "work_imbalance"]
        for one in found:
            assert one.speedup_without == pytest.approx(one.speedup / (1 - one.share))
        assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)
        assert found[0].first_n == found[0].last_n == 8

    def test_a_sequential_profile_has_none(self):
        assert bottlenecks(curves([1], [8.0])) == []
        assert boundness(curves([1], [8.0])) is None


ROOFLINE = Roofline(roofs=(Roof(1, 10e9, 10e9), Roof(8, 80e9, 20e9)), handover=(), lock=((1, 5e-9), (8, 60e-9)))


def placed(misses):
    return RooflinePoint("w", 8, 1e9, misses, time_s=1.0)


class TestBoundness:
    def test_near_the_roof_it_is_bound_by_memory(self):
        found = boundness(curves([1, 8], [8.0, 4.0]), placed(18e9 / 64), ROOFLINE)
        assert (found.kind, found.by) == ("memory", "roofline")
        assert "18 GB/s, 90%" in found.sentence

    def test_far_below_it_by_computation(self):
        found = boundness(curves([1, 8], [8.0, 4.0]), placed(2e9 / 64), ROOFLINE)
        assert (found.kind, found.by) == ("computation", "roofline")

    def test_locks_count_before_the_roofline(self):
        of = curves([1, 8], [8.0, 4.0], imbalance=[0, 0], lock=[0, 0.5])
        found = boundness(of, placed(18e9 / 64), ROOFLINE)
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
