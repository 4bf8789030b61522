import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from predictor.core.comparisons import documents, mean_distances
from predictor.core.comparisons.mean_distances import map_by_landmarks
from predictor.core.distance import MaskedRows, dimensions, distance, mean_distance, tuple_distance
from predictor.core.normalise import normalise
from tests.predictor.core.comparisons.matrices import workload_map
from tests.predictor.core.curves import curve_database

ELEMENTS = st.one_of(st.floats(0, 1), st.just(np.nan))
VECTORS = arrays(np.float64, 12, elements=ELEMENTS)
UNIT = st.floats(0, 1)
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-6}
EVERY_DTYPE = pytest.mark.parametrize("dtype", TOLERANCE)


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


def vectors(seed, count, elements=84, invalid=0.3):
    """Some are alike, some nearly, and one has no valid element."""
    rng = np.random.default_rng(seed)
    rows = rng.random((count, elements))
    rows[1::4] = rows[::4][: len(rows[1::4])]
    rows[2::8] = rows[::8][: len(rows[2::8])] + 1e-7 * rng.random((len(rows[2::8]), elements))
    rows[rng.random(rows.shape) < invalid] = np.nan
    if invalid:
        rows[-1] = np.nan
    return np.clip(rows, 0.0, 1.0)


def found(ours, theirs, dtype):
    right = MaskedRows.of(theirs, dtype)
    return MaskedRows.of(ours, dtype, right.centre).distances_to(right)


@EVERY_DTYPE
@pytest.mark.parametrize("invalid", [0.0, 0.3, 0.95])
@pytest.mark.parametrize("blocks", [(256, 4096), (3, 5), (1, 7)], ids=["one", "some", "of one vector"])
def test_they_are_the_distances_one_by_one(monkeypatch, dtype, invalid, blocks):
    monkeypatch.setattr("predictor.core.distance.BLOCK_ROWS", blocks[0])
    monkeypatch.setattr("predictor.core.distance.BLOCK_COLUMNS", blocks[1])
    monkeypatch.setattr("predictor.core.distance.ALIKE_AT_ONCE", 7)
    ours, theirs = vectors(1, 20, invalid=invalid), vectors(2, 33, invalid=invalid)
    expected = distance(ours[:, None], theirs)
    assert np.isnan(expected).any() == (invalid > 0)
    np.testing.assert_allclose(found(ours, theirs, dtype), expected, rtol=0, atol=TOLERANCE[dtype])
    among = found(ours, ours, dtype)
    np.testing.assert_allclose(among, distance(ours[:, None], ours), rtol=0, atol=TOLERANCE[dtype])
    assert among.dtype == dtype


@EVERY_DTYPE
def test_alike_vectors_are_0_apart_and_tiny_distances_keep_their_digits(dtype):
    rows = 0.9 + np.random.default_rng(3).random((6, 84)) * 1e-6
    rows[1] = rows[0]
    between = found(rows, rows, dtype)
    assert between[0, 1] == 0.0
    np.testing.assert_allclose(between, distance(rows[:, None], rows), rtol=1e-6, atol=0)


def test_blocks_of_alike_vectors_are_products_of_64_bits_and_not_subtracted_pair_by_pair(monkeypatch):
    """As those of measured profiles are, whose vectors lie near each other: pair by pair took 20 times as long."""
    subtracted = []

    def counted(ours, theirs):
        subtracted.append(len(ours))
        return distance(ours, theirs)

    monkeypatch.setattr("predictor.core.distance.distance", counted)
    rows = 0.05 * np.random.default_rng(4).random((60, 84))
    rows[np.random.default_rng(5).random(rows.shape) < 0.3] = np.nan
    np.testing.assert_allclose(found(rows, rows, np.float32), distance(rows[:, None], rows), rtol=0, atol=1e-6)
    assert sum(subtracted) <= len(rows)  # itself alone is the same to the last digit


@EVERY_DTYPE
@pytest.mark.parametrize("elements", [0, 1, 63, 64, 65, 200])
def test_one_vector_is_as_far_from_the_others_as_among_many(dtype, elements):
    """Without elements there is no distance."""
    rows = vectors(6, 50, elements)
    assert elements or np.isnan(found(rows, rows, dtype)).all()
    np.testing.assert_allclose(found(rows[:1], rows, dtype)[0], found(rows, rows, dtype)[0], rtol=0, atol=1e-6)


def test_mean_distances_in_32_bits_are_those_of_64_also_where_rows_are_hidden(monkeypatch):
    database = curve_database(4, 30, 8, missing=0.2).without([3, 3, 7], [1, 2, 5])
    exact = mean_distances.mean_distances(database, "platforms", range(30), range(30))
    monkeypatch.setattr(mean_distances, "MANY_PAIRS", 1)
    quick = mean_distances.mean_distances(database, "platforms", range(30), range(30))
    assert quick.count.tolist() == exact.count.tolist()
    np.testing.assert_allclose(quick.mean, exact.mean, rtol=0, atol=1e-6)


def distances_between(points, others):
    return np.hypot(*(points[:, None] - others).transpose(2, 0, 1))


def test_points_of_a_plane_are_found_again_by_their_distances_to_landmarks():
    points = np.random.default_rng(5).random((300, 2))
    landmarks = np.arange(0, 300, 15)
    places, stress = map_by_landmarks(distances_between(points, points[landmarks]), landmarks)
    np.testing.assert_allclose(distances_between(places, places), distances_between(points, points), atol=1e-3)
    assert stress < 1e-3


def test_undefined_distances_count_nothing_and_a_point_without_any_has_no_place():
    points = np.random.default_rng(6).random((80, 2))
    landmarks = np.arange(0, 80, 4)
    distances = distances_between(points, points[landmarks])
    distances[np.random.default_rng(7).random(distances.shape) < 0.2] = np.nan
    distances[landmarks] = distances_between(points[landmarks], points[landmarks])
    distances[5] = np.nan
    places, _ = map_by_landmarks(distances, landmarks)
    assert np.isnan(places[5]).all()
    kept = np.delete(np.arange(80), 5)
    np.testing.assert_allclose(distances_between(places[kept], places[landmarks]),
                               distances_between(points[kept], points[landmarks]), atol=5e-3)  # fmt: skip


def test_of_very_many_workloads_all_are_on_the_map(monkeypatch):
    database = curve_database(8, 6, 40, missing=0.0)
    whole = workload_map(database)
    monkeypatch.setattr(documents, "LARGEST_MAP", 30)
    monkeypatch.setattr(documents, "LANDMARKS", 20)
    cut = workload_map(database)
    assert [point["workload"] for point in cut["workloads"]] == [point["workload"] for point in whole["workloads"]]
    assert all(np.isfinite(point["x"]) for point in cut["workloads"])
