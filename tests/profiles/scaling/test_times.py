"""Eq. 3-4 and its clamps."""

import numpy as np
import pytest

from profiles.scaling.names import FRACTIONS
from profiles.scaling.times import reconstruct

NONE = np.zeros((6, 2))


def test_by_hand():
    fractions = np.array([[0, 0], [0, 0.25], [0, 0], [0.1, 0], [0, 0], [0, 0]])
    rebuilt = reconstruct(12.0, np.array([0.9, 1.2]), fractions, [1, 4])
    np.testing.assert_allclose(rebuilt.time_s, [12.0, 4.8], rtol=1e-15)
    np.testing.assert_allclose(rebuilt.utilisation, [0.9, 0.75], rtol=1e-15)
    assert rebuilt.clamps == ()


def test_time_only():
    rebuilt = reconstruct(12.0, np.array([1.0, 1.5]), None, [1, 3])
    assert rebuilt.time_s.tolist() == [12.0, 6.0]
    assert rebuilt.utilisation.tolist() == [1, 1]


@pytest.mark.parametrize("row", range(6))
def test_each_fraction_is_kept_between_0_and_1_by_name(row):
    below, above = NONE.copy(), NONE.copy()
    below[row, 1] = -0.5
    above[row, 1] = 1.5
    assert reconstruct(1.0, np.ones(2), below, [1, 2]).clamps == (f"{FRACTIONS[row]} below 0",)
    assert reconstruct(1.0, np.ones(2), below, [1, 2]).time_s.tolist() == [1.0, 0.5]
    rebuilt = reconstruct(1.0, np.ones(2), above, [1, 2])
    assert rebuilt.clamps == (f"{FRACTIONS[row]} above 1", "utilisation below 0.01")
    assert rebuilt.time_s.tolist() == [1.0, 50.0]


def test_redundancy_stays_positive():
    rebuilt = reconstruct(1.0, np.array([1.0, -3.0]), None, [1, 2])
    assert rebuilt.clamps == ("redundancy below 1e-09",)
    assert rebuilt.time_s.tolist() == [1.0, 0.5e-9]


def test_invalid_stays_invalid_and_is_no_clamp():
    fractions = NONE.copy()
    fractions[2, 0] = np.nan
    rebuilt = reconstruct(1.0, np.array([1.0, np.nan]), fractions, [1, 2])
    assert np.isnan(rebuilt.time_s).all()
    assert rebuilt.clamps == ()
    assert np.isnan(reconstruct(np.nan, np.ones(2), None, [1, 2]).time_s).all()


def test_batches_have_their_own_t1():
    redundancy = np.array([[1.0, 1.5], [1.0, 2.0]])
    rebuilt = reconstruct(np.array([10.0, 20.0]), redundancy, np.zeros((2, 6, 2)), [1, 2])
    assert rebuilt.time_s.tolist() == [[10.0, 7.5], [20.0, 20.0]]
