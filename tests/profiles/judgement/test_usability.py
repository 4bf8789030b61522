"""Rows that nothing can be computed with are found, however they came into the database."""

import numpy as np
import pytest

from profiles.judgement.usability import unusable_profiles
from profiles.models import FeatureVector, Platform, Profile, ScalingCurves
from profiles.scaling.features import stored_features
from profiles.scaling.runs import stored_curves
from tests.predictor.stored import CURVE_N, store_platforms, store_profiles, store_source, store_workloads
from tests.unchecked import set_without_checks

pytestmark = pytest.mark.django_db


@pytest.fixture
def profiles() -> list[Profile]:
    """Three profiles on two platforms; what the tests spoil is of the first."""
    platforms, workloads = store_platforms(["a", "b"]), store_workloads(["w1", "w2"])
    return store_profiles(
        store_source(), [(platforms[0], workloads[0]), (platforms[1], workloads[0]), (platforms[1], workloads[1])]
    )


def curve_values(**rows) -> np.ndarray:
    """15 curves of ones, some rows otherwise."""
    values = np.ones((15, len(CURVE_N)))
    for name, row in rows.items():
        values[int(name.removeprefix("row"))] = row
    return values.ravel()


BAD_FEATURES = (np.full(84, np.inf), np.full(84, -1e31), np.ones(83), np.ones(0))
BAD_CURVES = {
    "time inf": {"values": curve_values(row0=[1, 1, 1, np.inf])},
    "time 0": {"values": curve_values(row0=[1, 0, 1, 1])},
    "time NaN": {"values": curve_values(row0=np.nan)},
    "time subnormal": {"values": curve_values(row0=5e-324)},
    "time huge": {"values": curve_values(row0=1e300)},
    "no times": {"values": np.ones(0)},
    "too few curves": {"values": np.ones(14 * len(CURVE_N))},
    "n falls": {"n": np.array([1, 4, 2, 8], dtype=np.int32)},
    "n twice": {"n": np.array([1, 2, 2, 8], dtype=np.int32)},
    "n 0": {"n": np.array([0, 1, 2, 4], dtype=np.int32)},
    "n huge": {"n": np.array([1, 2, 4, 2**31 - 1], dtype=np.int32)},
    "n too few": {"n": np.array([1, 2], dtype=np.int32)},
    "no n": {"n": np.array([], dtype=np.int32)},
}
BAD_ROWS = [(FeatureVector, {"values": values}) for values in BAD_FEATURES]  # trust 1: the snapshot refused all rows
BAD_ROWS += [(ScalingCurves, columns) for columns in BAD_CURVES.values()]
BAD_ROWS += [(Profile, {"t1_s": t1_s}) for t1_s in (0.0, -1.0, np.inf, 5e-324, 1.7e308)]
BAD_ROWS += [(Profile, {"n_measured": number}) for number in (0, 3, 5, 2**31 - 1)]
BAD_ROWS += [(Platform, {"n_max": 0}), (Platform, {"n_max": 2**31 - 1}), (Platform, {"n_nu": 0})]
BAD_ROWS += [(Platform, {"n_ht": 2**31 - 1}), (Platform, {"slug": ""}), (Platform, {"slug": "a/b"})]


def test_good_profiles_can_be_used(profiles, django_assert_num_queries):
    with django_assert_num_queries(2):  # platforms, profiles with their arrays
        assert unusable_profiles(Profile.objects.all()) == {}


@pytest.mark.parametrize(("model", "columns"), BAD_ROWS)
def test_a_row_with_which_nothing_can_be_computed_is_found(profiles, model, columns):
    first = profiles[0]
    if model in (Profile, Platform):
        set_without_checks(model, first.platform_id if model is Platform else first.pk, **columns)
    else:
        model.objects.filter(profile=first).update(**columns)
    found = unusable_profiles(Profile.objects.all())
    assert list(found) == [first.pk]
    assert ("features" in found[first.pk]) == (model is FeatureVector)
    if model is ScalingCurves:
        assert stored_curves(Profile.objects.select_related("curves").get(pk=first.pk)) is None


def test_several_faults_are_the_first(profiles):
    FeatureVector.objects.update(values=np.full(84, np.inf))
    ScalingCurves.objects.filter(profile=profiles[1]).update(n=np.array([], dtype=np.int32))
    reasons = unusable_profiles(Profile.objects.all())
    assert sorted(reasons) == [profile.pk for profile in profiles]
    assert "not as long as" in reasons[profiles[1].pk]


def test_what_is_stored_of_one_profile_is_clean_or_nothing(profiles):
    FeatureVector.objects.filter(profile=profiles[0]).update(values=np.array([np.inf, *np.ones(83)]))
    ScalingCurves.objects.filter(profile=profiles[0]).update(values=curve_values(row1=[1, np.inf, -1e300, 2]))
    profile = Profile.objects.select_related("curves", "feature_vector").get(pk=profiles[0].pk)
    np.testing.assert_array_equal(stored_curves(profile).redundancy, [1, np.nan, np.nan, 2])
    values, rms = stored_features(profile)
    np.testing.assert_array_equal(values, [np.nan, *np.ones(83)])
    assert np.isfinite(rms).all()
    FeatureVector.objects.filter(profile=profile).update(rms=b"odd")
    broken = Profile.objects.select_related("feature_vector").get(pk=profile.pk)
    assert np.isnan(stored_features(broken)[0]).all()
