import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from predictor.core.distance import dimensions, distance, mean_distance, tuple_distance
from predictor.core.normalise import normalise

ELEMENTS = st.one_of(st.floats(0, 1), st.just(np.nan))
VECTORS = arrays(np.float64, 12, elements=ELEMENTS)
UNIT = st.floats(0, 1)


def test_the_papers_example():
    """Eq. 14-15: 0.136, over the two dimensions that both vectors have."""
    a, b = np.array([0.01, 0.04, 0.20]), np.array([0.20, 0.01, np.nan])
    assert round(float(distance(a, b)), 3) == 0.136
    assert dimensions(a, b) == 2


@given(VECTORS, VECTORS)
def test_symmetric_and_between_0_and_1(a, b):
    there, back = distance(a, b), distance(b, a)
    np.testing.assert_array_equal(there, back)
    if dimensions(a, b):
        assert 0 <= there <= 1
    else:
        assert np.isnan(there)


@given(VECTORS)
def test_a_vector_is_at_no_distance_from_itself(a):
    assert np.isnan(a).all() or distance(a, a) == 0


@given(VECTORS, VECTORS, arrays(np.float64, 5, elements=UNIT))
def test_dimensions_that_one_vector_lacks_are_ignored(a, b, extra):
    longer = distance(np.append(a, extra), np.append(b, np.full(5, np.nan)))
    np.testing.assert_allclose(longer, distance(a, b), rtol=1e-12)


def test_opposite_corners_are_at_1():
    assert distance(np.zeros(7), np.ones(7)) == 1


def test_broadcasts_over_leading_axes():
    a = np.random.default_rng(0).random((3, 1, 5))
    b = np.random.default_rng(1).random((4, 5))
    expected = [[distance(a[i, 0], b[j]) for j in range(4)] for i in range(3)]
    np.testing.assert_allclose(distance(a, b), expected, rtol=1e-15)


def test_means_skip_undefined_distances():
    means = mean_distance(np.array([[0.1, np.nan], [0.3, np.nan]]), axis=0)
    np.testing.assert_allclose(means, [0.2, np.nan])


@given(UNIT, UNIT)
def test_tuple_distance_is_no_less_than_either(platform, workload):
    together = tuple_distance(np.array(platform), np.array(workload))
    assert max(platform, workload) - 1e-15 <= together <= 1


@given(arrays(np.float64, (6, 3), elements=st.floats(-1e6, 1e6)))
def test_normalised_elements_span_0_to_1(values):
    low, high = values.min(axis=0), values.max(axis=0)
    result = normalise(values, low, high)
    spread = high > low
    assert ((result >= 0) & (result <= 1)).all()
    np.testing.assert_array_equal(result.max(axis=0), np.where(spread, 1.0, 0.0))
    np.testing.assert_array_equal(result.min(axis=0), 0.0)


def test_an_element_without_spread_is_0_and_counts_as_a_dimension():
    same = normalise(np.array([[5.0, 1.0], [5.0, 0.0]]), np.array([5.0, 0.0]), np.array([5.0, 1.0]))
    assert same[:, 0].tolist() == [0, 0]
    assert distance(same[0], same[1]) == pytest.approx(np.sqrt(1 / 2))
