"""What is lost, part by part, and what one part less would give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.scaling.boundness import boundness
from profiles.scaling.limits import limit_sentences
from profiles.scaling.losses import bottlenecks, loss_shares, pop_efficiencies, speedup_without
from profiles.scaling.roofline import MachineFacts, Roof, Roofline
from profiles.scaling.runs import scaling_curves
from tests.profiles.scaling.known_losses import HALF, curves
from tests.samples import sample_runs


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
    assert pop_efficiencies(of)[2] == pytest.approx(efficiency)


OF = curves([1, 8, 16], [8.0, 1.2, 1.0], imbalance=[0, 0.02, 0.02])
SMT = MachineFacts(n_ht=8)
CEILINGS = MachineFacts(n_ht=8, roofline=Roofline((Roof(1, 10e9, 10e9), Roof(16, 102e9, 40e9)), (), ()))


@pytest.mark.parametrize(
    ("of", "part", "n", "machine", "speedup"),
    [
        # S(4) = 3.2 with 20 % imbalance: 3.2 / 0.8 = 4, and nothing else is lost there.
        (HALF, "work_imbalance", 4, MachineFacts(), 4),
        (curves([1, 8], [8.0, 1.05], imbalance=[0, 0.6]), "work_imbalance", 8, MachineFacts(), 8),  # n at best
        # SMT threads share a core whatever the program does, and what the arithmetic gains is known if measured.
        (OF, "redundancy", 8, SMT, 7.8125),
        (OF, "redundancy", 16, SMT, np.nan),
        (OF, "work_imbalance", 16, SMT, 8 / 0.98),
        (OF, "redundancy", 16, CEILINGS, 10.2),
    ],
)
def test_without_a_part_the_others_stay_as_they_are(of, part, n, machine, speedup):
    assert speedup_without(of, part, n, machine) == pytest.approx(speedup, nan_ok=True)


def test_where_n_threads_are_faster_already_there_is_no_bound():
    of = curves([1, 8], [8.0, 0.9], imbalance=[0, 0.2])
    assert [(found.part, found.speedup_without) for found in bottlenecks(of)] == [("work_imbalance", None)]


@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 4))
def test_no_bound_is_above_n(seed, decomposed, n_ht):
    of = scaling_curves(sample_runs(np.random.default_rng(seed), decomposed=decomposed))
    for found in bottlenecks(of, MachineFacts(n_ht=n_ht)):
        assert found.speedup_without is None or found.speedup <= found.speedup_without <= found.n


def test_the_costliest_comes_first_with_its_bound():
    found = bottlenecks(curves([1, 8], [8.0, 2.0], imbalance=[0, 0.1], lock=[0, 0.2]))
    assert [one.part for one in found] == ["lock_delay", "redundancy", "work_imbalance"]
    for one in found:
        assert one.speedup_without == pytest.approx(one.speedup / (1 - one.share))
    assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)
    assert found[0].first_n == found[0].last_n == 8


def test_a_sequential_profile_has_none():
    assert bottlenecks(curves([1], [8.0])) == []
    assert boundness(curves([1], [8.0])) is None
    assert limit_sentences(curves([1], [8.0])) == []
