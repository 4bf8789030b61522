import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictor.core.mpet2020.interpolate import ValueOrigin, candidate_weights, interpolate

NAN = np.nan


def one(v_pa, v_pb, v_tb, r):
    """One element: values of every candidate."""
    columns = [np.array(column, dtype=float)[:, None] for column in (v_pa, v_pb, v_tb)]
    result = interpolate(*columns, np.array(r, dtype=float))
    return result.values[0], ValueOrigin(result.origins[0])


@pytest.mark.parametrize(
    ("v_pa", "v_pb", "v_tb", "r", "value", "origin"),
    [
        ([6], [3], [5], [1], 10, ValueOrigin.INTERPOLATED),
        ([6, 6], [3, 2], [5, 4], [1, 0.5], (10 + 6) / 1.5, ValueOrigin.INTERPOLATED),
        ([6, 6], [3, 0], [5, 4], [1, 1], 10, ValueOrigin.INTERPOLATED),  # no factor over 0
        ([6, 6], [3, 1e-12], [5, 4], [1, 1], 10, ValueOrigin.INTERPOLATED),  # nor over almost 0
        ([6, NAN], [3, 2], [5, 4], [1, 1], 10, ValueOrigin.INTERPOLATED),
        ([-6], [3], [5], [1], -10, ValueOrigin.INTERPOLATED),  # Eq. 21 keeps the sign
        ([NAN, NAN], [3, 2], [5, 4], [1, 0], 4.5, ValueOrigin.TARGET_MEAN),  # plain: weights play no part
        ([NAN, 7], [3, 0], [5, NAN], [1, 1], 5, ValueOrigin.TARGET_MEAN),  # the first candidate's (P,A) decides
        ([6, 8], [0, 0], [5, 4], [1, 1], 6, ValueOrigin.CARRIED_OVER),
        ([6, 8], [0, 2], [5, 4], [1, 0], 6, ValueOrigin.CARRIED_OVER),  # usable, but the weights sum to 0
        ([6], [3], [NAN], [1], 6, ValueOrigin.CARRIED_OVER),
        ([NAN], [3], [NAN], [1], NAN, ValueOrigin.INVALID),
        ([], [], [], [], NAN, ValueOrigin.INVALID),
    ],
)
def test_one_element(*, v_pa, v_pb, v_tb, r, value, origin):
    assert one(v_pa, v_pb, v_tb, r) == (pytest.approx(value, rel=1e-12, nan_ok=True), origin)


def test_elements_are_independent():
    rng = np.random.default_rng(0)
    v = rng.normal(size=(3, 4, 20))
    v[rng.random(v.shape) < 0.4] = NAN
    together = interpolate(*v, np.array([1.0, 0.5, 0.1, 0.0]))
    for element in range(20):
        alone = interpolate(*v[:, :, [element]], np.array([1.0, 0.5, 0.1, 0.0]))
        np.testing.assert_allclose(together.values[element], alone.values[0], rtol=1e-15)
        assert together.origins[element] == alone.origins[0]


def test_cubic_weights():
    np.testing.assert_allclose(candidate_weights(np.array([0.3, 0.1, 0.2]), 3), [0, 1, 1 / 8], atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_equal_distances_weigh_the_same(k):
    """Also where rounding tells them apart, and for a single candidate."""
    assert candidate_weights(np.array([0.3, 0.1 + 0.2, 0.3]), k).tolist() == [1, 1, 1]
    assert candidate_weights(np.array([0.7]), k).tolist() == [1]


@given(st.lists(st.floats(0, 1), max_size=8), st.integers(0, 3))
def test_weights_fall_with_the_distance_within_0_and_1(distances, k):
    weights = candidate_weights(np.array(distances), k)
    assert ((weights >= 0) & (weights <= 1)).all()
    assert (np.diff(weights[np.argsort(distances)]) <= 0).all()
    if k == 0:
        assert (weights == 1).all()
