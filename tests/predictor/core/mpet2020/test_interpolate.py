import numpy as np
import pytest

from predictor.core.mpet2020.interpolate import ValueOrigin, candidate_weights, interpolate

NAN = np.nan


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
    columns = [np.array(column, dtype=float)[:, None] for column in (v_pa, v_pb, v_tb)]
    found = interpolate(*columns, np.array(r, dtype=float))
    assert found.values == pytest.approx([value], rel=1e-12, nan_ok=True)
    assert found.origins == [origin]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_equal_distances_weigh_the_same(k):
    """Also where rounding tells them apart, and for a single candidate."""
    assert candidate_weights(np.array([0.3, 0.1 + 0.2, 0.3]), k).tolist() == [1, 1, 1]
    assert candidate_weights(np.array([0.7]), k).tolist() == [1]
