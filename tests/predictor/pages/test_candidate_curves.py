import numpy as np
import pytest
from django.contrib.auth.models import User

from predictor.pages.candidate_curves import candidate_curves
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.models import Profile
from tests.pages import store_private, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def answer(public):
    return predict(PredictionRequest("app0-section0", "machine-1")).answer


def test_the_curves_are_those_of_the_database(answer):
    first, second = candidate_curves(answer, None)
    assert first.platform != second.platform
    assert first.workload != second.workload
    weights = [abs(candidate["weight"]) for candidate in answer["candidates"]["scaling"]]
    assert abs(first.weight) == max(weights)
    pairs = {
        (first.workload, first.platform): first.benchmark_on_reference,
        (first.workload, "machine-1"): first.benchmark_on_target,
        ("app0-section0", first.platform): first.workload_on_reference,
    }
    for (workload, platform), (n, time_s) in pairs.items():
        curves = Profile.objects.get(workload__slug=workload, platform__slug=platform).curves
        np.testing.assert_array_equal(n, curves.n)
        np.testing.assert_array_equal(time_s, curves.values[: len(n)])


def test_a_candidate_that_the_reader_cannot_see_any_more_is_left_out(answer):
    first, second = candidate_curves(answer, None)
    gone = [candidate for candidate in answer["candidates"]["scaling"] if candidate["platform"] == first.platform]
    for candidate in gone:
        candidate["platform"] = "merged-into-another"
    assert [candidate.platform for candidate in candidate_curves(answer, None)] == [second.platform]


def test_simulated_answers_are_explained_by_simulated_profiles():
    secret = store_private(user("ada"))[0]
    candidate = {"platform": secret.platform.slug, "workload": secret.workload.slug, "weight": 1.0}
    pair = {"workload": secret.workload.slug, "target": secret.platform.slug}
    answer = pair | {"candidates": {"scaling": [candidate], "t1": []}, "simulated": True}
    assert len(candidate_curves(answer, User.objects.get())) == 1
    assert candidate_curves(answer, None) == []
    assert candidate_curves(answer | {"simulated": False}, User.objects.get()) == []
