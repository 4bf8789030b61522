"""Outliers among what is stored: found, shown, left out, and decided on by moderators."""

import io
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from predictor.accuracy.outliers import judge_delivery, judge_profiles
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import preview_answer
from predictor.snapshot.cache import read_database
from profiles.models import Profile, Revision
from profiles.moderation import mark_outlier
from tests.predictor.absurd import all_waiting, multiplied
from tests.predictor.conftest import store
from tests.samples import sample_measurements

PLATFORM, WORKLOAD = 2, 3
ELSEWHERE = PredictionRequest(workload="app1-section1", target="machine-5")


def with_absurd_profile(measurements, change):
    """One profile of the measurements with its runs changed."""
    return replace(
        measurements,
        profiles=[
            replace(one, runs=change(one.runs)) if (one.platform, one.workload) == (PLATFORM, WORKLOAD) else one
            for one in measurements.profiles
        ],
    )


def slower(factor):
    return partial(multiplied, factor=factor)


def torn(runs):
    """Repeats that have nothing to do with each other."""
    return multiplied(runs, np.where(runs.repeat == 2, 50, 1))


def stored(change=None):
    measurements = sample_measurements(8, 6)
    return store(with_absurd_profile(measurements, change) if change else measurements)


def absurd():
    return Profile.objects.get(platform__name=f"machine-{PLATFORM}", workload__slug="app1-section1")


def judge_all():
    return judge_profiles(list(Profile.objects.values_list("pk", flat=True)))


def delivery(**fields):
    """The measurements of the one platform."""
    more = sample_measurements(8, 6, **fields)
    more = replace(more, profiles=[profile for profile in more.profiles if profile.platform == PLATFORM])
    return with_absurd_profile(more, slower(10**6))


@pytest.fixture
def judged(db):
    """The sample with a profile that is a million times too slow; all of it judged."""
    stored(slower(10**6))
    judge_all()


def test_honest_profiles_stay(db):
    stored()
    assert judge_all() == 0
    assert set(Profile.objects.values_list("outlier_reason", "outlier_judge")) == {("", "")}
    assert not Profile.objects.filter(outlier_checked_at=None).exists()


@pytest.mark.parametrize(
    ("change", "reason"), [(slower(10**6), "times slower"), (all_waiting, "of the thread time less than")]
)
def test_an_absurd_profile_is_kept_out_and_says_why(db, change, reason):
    stored(change)
    revision = Revision.current()[0]
    assert judge_all() == 1
    assert reason in absurd().outlier_reason
    assert absurd().outlier_judge == "computed"
    assert Profile.objects.exclude(outlier_reason="").count() == 1
    assert Revision.current()[0] == revision + 1
    assert len(read_database()) == 47


def test_repeats_that_vary_are_no_reason_and_change_no_answer_of_others(db):
    """The workload whose repeats are torn has quieter references; without the profile the answer is the same."""
    stored(torn)
    assert judge_all() == 0
    assert absurd().standard_error > 0.2
    questions = ELSEWHERE, PredictionRequest("app0-section0", f"machine-{PLATFORM}")
    curves = [preview_answer(question)["curve"] for question in questions]
    absurd().delete()
    Revision.raise_for(None)
    assert [preview_answer(question)["curve"] for question in questions] == curves


def test_nobody_is_judged_by_their_own_measurements(db, owner, django_user_model):
    """A workload that its owner alone measured is contradicted by nobody; that others measured too, by them."""
    measurements = with_absurd_profile(sample_measurements(8, 6), slower(10**6))
    store(measurements, owner=owner)
    assert judge_all() == 0
    other = django_user_model.objects.create_user("other")
    moved = [replace(one, name=f"{one.name}-other") for one in measurements.platforms]
    store(replace(sample_measurements(8, 6), platforms=moved), label="other", owner=other)
    assert judge_all() == 1
    assert "times slower" in absurd().outlier_reason


def test_it_is_listed_with_its_reason(judged):
    rows = APIClient().get("/api/v1/profiles/?outlier=true").json()["results"]
    assert [row["platform"] for row in rows] == [absurd().platform.slug]
    assert "times slower" in rows[0]["outlier_reason"]


def test_the_second_time_only_doubtful_and_new_ones_are_judged(db, capsys):
    stored(slower(10**6))
    for options, counts in (
        ((), "48 profiles judged, 1"),
        ((), "1 profiles judged, 0"),
        (("--all",), "48 profiles judged, 0"),
    ):
        call_command("find_outliers", *options)
        assert f"{counts} verdicts changed, 1 outliers" in capsys.readouterr().out


@pytest.mark.parametrize("reason", ["", "a broken fan"])
def test_what_a_moderator_decided_stays(judged, reason):
    mark_outlier(absurd(), reason)
    call_command("find_outliers", "--all", stdout=io.StringIO())
    assert (absurd().outlier_reason, absurd().outlier_judge) == (reason, "moderator")


def test_others_are_predicted_as_if_it_was_never_there(judged):
    with_it_left_out = preview_answer(ELSEWHERE)
    mark_outlier(absurd(), "by hand")
    assert preview_answer(ELSEWHERE)["curve"] == with_it_left_out["curve"]


def test_a_delivery_is_judged_alone(db):
    stored()
    source = store(delivery(seed=9), label="second").source
    assert judge_delivery(source) == 1
    judged = Profile.objects.exclude(outlier_checked_at=None)
    assert set(judged.values_list("source", flat=True)) == {source.pk}
    assert judged.exclude(outlier_reason="").count() == 1


def test_a_private_outlier_is_found_beside_its_owners_data(db, owner):
    stored()
    result = store(delivery(seed=5), label="mine", owner=owner, private=True)
    public = Revision.current()[0]
    assert judge_delivery(result.source) == 1
    assert Profile.objects.filter(private_to=owner).exclude(outlier_reason="").count() == 1
    assert Revision.current()[0] == public


def test_three_measurements_of_one_pair_judge_the_one_that_differs(db):
    for label in ("a", "b"):
        store(sample_measurements(1, 1, seed=ord(label)), label=label)
    other = sample_measurements(1, 1, seed=1)
    other = replace(other, profiles=[replace(other.profiles[0], runs=slower(8)(other.profiles[0].runs))])
    wrong = store(other, label="c").profiles[0]
    judge_all()
    outliers = Profile.objects.exclude(outlier_reason="")
    assert [outlier.pk for outlier in outliers] == [wrong.pk]
    assert "2 other measurements of the same pair" in outliers[0].outlier_reason


def test_outliers_take_part_where_they_are_asked_for(judged):
    question = replace(ELSEWHERE, method="mpet2020")
    usual, all_of_them = preview_answer(question), preview_answer(replace(question, include_outliers=True))
    assert absurd().platform.slug not in {reference["platform"] for reference in usual["reference_curves"]}
    assert absurd().platform.slug in {reference["platform"] for reference in all_of_them["reference_curves"]}
    assert (usual["include_outliers"], all_of_them["include_outliers"]) == (False, True)
