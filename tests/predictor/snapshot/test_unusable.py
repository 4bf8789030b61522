"""trust 1: one bad row made the snapshot refuse the whole database, and every page of the predictor answered 500."""

import logging

import numpy as np
import pytest
from django.urls import reverse

from predictor.snapshot import building
from predictor.snapshot.building import build_snapshot
from profiles.models import FeatureVector, Platform, Profile, ScalingCurves, Workload
from tests.unchecked import set_without_checks

pytestmark = pytest.mark.django_db


@pytest.fixture
def profiles(grid):
    """Profiles of w2 and w1 on b, and of the same on a."""
    return grid[2]


def built():
    return build_snapshot(None, ("measured",))


def test_a_row_that_cannot_be_used_is_left_out_and_counted(profiles):
    FeatureVector.objects.filter(profile=profiles[0]).update(values=np.full(84, np.inf))
    ScalingCurves.objects.filter(profile=profiles[3]).update(values=np.ones(7))
    snapshot = built()
    assert sorted(snapshot.profile_ids.tolist()) == [profiles[1].pk, profiles[2].pk]
    assert dict(zip(snapshot.unusable.tolist(), snapshot.unusable_reasons, strict=True)) == {
        profiles[0].pk: "an element of its features is not within 1e+30",
        profiles[3].pk: "its curves are not as long as it has thread counts",
    }
    for row, key in enumerate(snapshot.profile_ids):
        stored = Profile.objects.select_related("curves", "feature_vector").get(pk=key)
        np.testing.assert_array_equal(snapshot.database.features[row], stored.feature_vector.values)
        np.testing.assert_array_equal(snapshot.database.curve(row)[1], stored.curves.values[:4])


@pytest.mark.parametrize("columns", [{"n_max": 2**31 - 1}, {"n_nu": 0}, {"slug": "a/b"}], ids=str)
def test_a_platform_that_cannot_be_used_takes_its_profiles_with_it(profiles, columns):
    set_without_checks(Platform, profiles[0].platform_id, **columns)
    snapshot = built()
    assert snapshot.database.platforms == ("a",)
    assert sorted(snapshot.unusable.tolist()) == [profiles[0].pk, profiles[1].pk]


def test_a_workload_whose_slug_is_no_address_takes_its_profiles_with_it(profiles):
    set_without_checks(Workload, profiles[0].workload_id, slug="")
    snapshot = built()
    assert snapshot.database.workloads == ("w1",)
    assert sorted(snapshot.unusable.tolist()) == [profiles[0].pk, profiles[2].pk]


def test_numbers_that_no_machine_has_are_unknown(profiles):
    set_without_checks(Platform, profiles[0].platform_id, base_mhz=np.inf, threads=2**31 - 1, l3_bytes=0)
    database = built().database
    assert len(database) == 4
    for name in ("base_mhz", "threads", "l3_bytes"):
        assert np.isnan(database.platform_table[name][1]), name


def test_nothing_that_can_be_used_is_an_empty_database(profiles):
    FeatureVector.objects.update(values=np.full(84, -np.inf))
    assert len(built().database) == 0
    assert len(built().unusable) == 4


def test_each_is_logged_once_a_process(profiles, caplog, monkeypatch):
    monkeypatch.setattr(building, "_logged", set())
    FeatureVector.objects.filter(profile=profiles[0]).update(values=np.full(84, np.inf))
    with caplog.at_level(logging.WARNING):
        built(), built()
    assert [record.getMessage() for record in caplog.records] == [
        f"profile {profiles[0].pk} is left out of predictions: an element of its features is not within 1e+30"
    ]


def test_the_pages_answer_and_moderators_see_which_and_why(profiles, client, django_user_model):
    FeatureVector.objects.filter(profile=profiles[0]).update(values=np.full(84, np.inf))
    for name in ("home", "ranking", "platform-distances", "workload-map", "what-if", "predict"):
        assert client.get(reverse(name), follow=True).status_code == 200, name
    client.force_login(django_user_model.objects.create_superuser("moderator", password="x"))
    page = client.get(reverse("admin:profiles_profile_changelist") + "?usable=no")
    assert [row.pk for row in page.context["cl"].result_list] == [profiles[0].pk]
    assert "an element of its features is not within" in page.content.decode()
    one = client.get(reverse("admin:profiles_profile_change", args=[profiles[0].pk]))
    assert "an element of its features is not within" in one.content.decode()
    everything = client.get(reverse("admin:profiles_profile_changelist"))
    assert len(everything.context["cl"].result_list) == 4
