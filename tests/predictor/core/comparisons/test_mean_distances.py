"""Matrices of mean distances against the distances one by one, and maps of known points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictor.core.comparisons import mean_distances as computing
from predictor.core.comparisons.distances import platform_distances, workload_distances
from predictor.core.comparisons.mean_distances import (
    complete_distances,
    map_in_plane,
    mean_distances,
)
from predictor.core.database import Database, Group
from tests.predictor.core.curves import curve_arrays
from tests.predictor.core.measured import database_of_times


def database(seed: int = 0, platforms: int = 5, workloads: int = 4) -> Database:
    """Not every pair is measured, not every element valid; two groups that cannot be compared."""
    rng = np.random.default_rng(seed)
    pairs = [(p, w) for p in range(platforms) for w in range(workloads) if rng.random() < 0.7]
    features = np.where(rng.random((len(pairs), 84)) < 0.4, np.nan, rng.normal(size=(len(pairs), 84)))
    return database_of_times(
        dict.fromkeys(pairs, (1.0,)),
        platforms=[f"p{i}" for i in range(platforms)],
        workloads=[f"w{i}" for i in range(workloads)],
        groups=(Group(True, "", "measured"), Group(False, "", "measured")),
        group=rng.integers(0, 2, len(pairs)),
        features=features,
        n_nu=np.full(platforms, np.nan),
        n_ht=np.full(platforms, np.nan),
        n_max=np.full(platforms, 4),
    )


def rectangular_database(rng: np.random.Generator, *, is_whole: bool) -> Database:
    """Every workload on every platform; three elements occur, or fewer of some."""
    features = np.full((30, 84), np.nan)
    features[:, [0, 7, 83]] = rng.integers(0, 4, (30, 3))  # some vectors are alike
    if not is_whole:
        features[rng.random((30, 84)) < 0.3] = np.nan
    return Database.build(**curve_arrays(0, 6, 5, missing=0.0) | {"features": features})


EACH_KIND = (("platforms", platform_distances), ("workloads", workload_distances))


def assert_one_by_one(found, single, of, tolerance):
    for a, b in np.ndindex(found.mean.shape):
        expected = single(of, a, b).mean
        assert found.count[a, b] == expected.count
        mean = np.nan if expected.distance is None else expected.distance
        assert found.mean[a, b] == pytest.approx(mean, abs=tolerance, nan_ok=True)


@given(st.integers(0, 1000))
def test_a_matrix_holds_what_the_distances_one_by_one_give(seed):
    of = database(seed)
    for kind, single in EACH_KIND:
        size = len(getattr(of, kind))
        found = mean_distances(of, kind, range(size), range(size))
        assert_one_by_one(found, single, of, 1e-6)
        assert (np.diag(found.mean)[np.diag(found.count) > 0] == 0).all()


@given(st.integers(0, 1000), st.sampled_from([0, 84]), st.sampled_from([1, 9, 1 << 14]), st.booleans())
def test_subtracted_or_multiplied_in_whatever_batches_they_are_those_one_by_one(seed, most_subtracted, at_once, whole):
    """Also of hidden profiles, and of some of the platforms to others."""
    rng = np.random.default_rng(seed)
    of = rectangular_database(rng, is_whole=whole).without(rng.integers(0, 6, 2), rng.integers(0, 5, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(computing, "MOST_SUBTRACTED", most_subtracted)
        patch.setattr(computing, "BATCH_ROWS", at_once)
        patch.setattr("predictor.core.distance.SUBTRACTED_AT_ONCE", at_once)
        for kind, single in EACH_KIND:
            size = len(getattr(of, kind))
            left, right = rng.permutation(size)[:3], np.arange(size)
            among, some = mean_distances(of, kind, right, right), mean_distances(of, kind, left, right)
            np.testing.assert_allclose(some.mean, among.mean[left], rtol=0, atol=1e-12)
            assert np.array_equal(some.count, among.count[left])
            assert_one_by_one(among, single, of, 1e-9)


def test_blocks_of_the_same_workloads_and_elements_are_one_batch():
    of = rectangular_database(np.random.default_rng(0), is_whole=True)
    assert [batch.shape for batch in computing.DistanceSums(of, "workloads", range(5), range(5)).batches] == [(6, 5)]
    fewer = of.without([2], [4])
    shapes = [batch.shape for batch in computing.DistanceSums(fewer, "workloads", range(5), range(5)).batches]
    assert sorted(shapes) == [(1, 4), (5, 5)]


@given(st.integers(0, 1000), st.sampled_from([1, 3, 1 << 14]))
def test_neighbours_are_a_row_of_the_matrix(seed, at_once):
    """Of hidden profiles, too, and however many are compared at once."""
    of = database(seed)
    view = of.without(np.arange(seed % 3), np.arange(seed % 3) + 1)
    for kind, size in (("platforms", 5), ("workloads", 4)):
        whole = mean_distances(view, kind, range(size), range(size))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(computing, "COMPARED_AT_ONCE", at_once)
            rows = [computing.distances_to_all(view, kind, position) for position in range(size)]
        np.testing.assert_array_equal(np.concatenate([row.count for row in rows]), whole.count)
        np.testing.assert_allclose(np.concatenate([row.mean for row in rows]), whole.mean, rtol=0, atol=1e-6)


def test_nothing_measured_has_no_distance():
    empty = Database.build(
        platforms=["a"], workloads=[], platform_index=[], workload_index=[], groups=(), group=[],
        features=np.ones((0, 84)), t1_s=[], n_nu=[np.nan], n_ht=[np.nan], n_max=[1],
    )  # fmt: skip
    assert np.isnan(mean_distances(empty, "platforms", [0], [0]).mean).all()
    assert np.isnan(computing.distances_to_all(empty, "platforms", 0).mean).all()


def test_points_in_a_plane_are_found_again_up_to_a_turn():
    points = np.random.default_rng(1).random((12, 2)) / 2
    distances = np.hypot(*(points[:, None] - points).transpose(2, 0, 1))
    found, stress = map_in_plane(distances)
    assert np.hypot(*(found[:, None] - found).transpose(2, 0, 1)) == pytest.approx(distances, abs=1e-6)
    assert stress == pytest.approx(0, abs=1e-6)
    assert np.ptp(found[:, 0]) >= np.ptp(found[:, 1])


def test_what_nothing_connects_is_as_far_as_can_be():
    apart = np.array([[0.0, np.nan], [np.nan, 0.0]])
    assert complete_distances(apart)[0, 1] == 1.0
    assert map_in_plane(apart)[0][:, 0].tolist() == [0.0, 1.0]


def half_of_them_alike(workloads: int, valid: int) -> Database:
    """One platform; every other workload has the same vector, so that their distances are roots of rounding errors."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=84) + rng.normal(size=(workloads, 84)) * (np.arange(workloads) % 2)[:, None]
    features[:, valid:] = np.nan
    slugs = [f"w{i:03d}" for i in range(workloads)]
    return database_of_times({(0, w): (1.0,) for w in range(workloads)}, features=features, workloads=slugs)


@pytest.mark.parametrize(("workloads", "valid"), [(7, 20), (13, 84), (37, 5), (37, 20), (37, 84)])
def test_a_matrix_is_symmetric_to_the_last_bit_so_that_there_is_a_map_of_it(workloads, valid):
    """trust 9: the map of a real database answered 500, "Array must be symmetric"."""
    mean = mean_distances(half_of_them_alike(workloads, valid), "workloads", range(workloads), range(workloads)).mean
    assert np.array_equal(mean, mean.T)
    places, _ = map_in_plane(mean)
    assert np.isfinite(places).all()
