"""Known curves with known losses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.bottlenecks import LOSSES, bound_without, loss_shares, pop_efficiencies, sentences
from profiles.scaling.runs import ScalingCurves, scaling_curves
from tests.samples import sample_runs


def curves(n, time_s, imbalance=None, lock=None) -> ScalingCurves:
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
    return ScalingCurves(n, values, decomposed, sequential=False, t1_s=float(time_s[0]))


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
    said = " ".join(sentences(HALF))
    assert "4 threads are 3.2 times as fast as one: 80% of the ideal speedup." in said
    assert "At 4 threads, of the thread time are lost: work imbalance 20%." in said
    assert "Without its work imbalance, the speedup at 4 threads could be 4 at best, instead of 3.2." in said


def test_they_tell_where_which_part_leads():
    of = curves([1, 2, 4], [8.0, 5.0, 4.0], imbalance=[0, 0.15, 0.1], lock=[0, 0.02, 0.3])
    assert "The largest loss is work imbalance at n = 2; lock delay at n = 4." in sentences(of)


def test_they_tell_where_more_threads_do_harm_and_what_a_breakpoint_costs():
    of = curves([1, 2, 4, 8], [8.0, 4.0, 2.0, 3.0])
    assert "It is the fastest with 4 threads; with 8 it takes 50% longer." in sentences(of)
    assert any("hyperthreads are used (n > 4), the efficiency goes from 100% at n = 4 to 33% at n = 8" in said
               for said in sentences(of, n_ht=4))  # fmt: skip
    assert not any("hyperthreads" in said for said in sentences(of, n_ht=8))


def test_a_perfect_profile_is_told_to_be_one():
    of = curves([1, 2], [8.0, 4.0], imbalance=[0, 0])
    assert "At 2 threads no part loses more than 2% of the thread time." in sentences(of)


def test_a_sequential_profile_has_nothing_to_say():
    assert sentences(curves([1], [8.0])) == []
