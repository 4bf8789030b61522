"""Badge, frame and Open Graph tags: of public predictions alone, and safe on any page."""

from xml.etree import ElementTree as ET

import pytest
from django.urls import reverse

from predictor.models import Prediction
from predictor.predictions.request import PredictionRequest
from predictor.predictions.service import predict

QUESTION = PredictionRequest("app1-section1", "machine-2")
PLANTED = '"><script>alert(1)</script>'


@pytest.fixture
def stored(measured):
    return predict(QUESTION)


def test_the_badge_says_the_least_time_with_its_interval(client, stored):
    answer = client.get(reverse("badge", args=[stored.uid]))
    assert answer["Content-Type"] == "image/svg+xml"
    assert answer["Content-Security-Policy"] == "default-src 'none'"
    root = ET.fromstring(answer.content)
    text = "".join(root.itertext())
    best = min(point["time_s"] for point in stored.answer["curve"])
    assert f"{best:.3g} s ±" in text and "on machine-2" in text


def test_the_frame_may_stand_anywhere_and_runs_nothing(client, stored):
    answer = client.get(reverse("embed", args=[stored.uid]))
    page = answer.content.decode()
    policy = answer["Content-Security-Policy"]
    assert "X-Frame-Options" not in answer
    assert "frame-ancestors" not in policy and "default-src 'none'" in policy and "script-src" not in policy
    assert "<script" not in page
    assert page.count("<tr>") == 1 + len(stored.answer["curve"])
    assert client.get(reverse("prediction", args=[stored.uid]))["X-Frame-Options"] == "DENY"


def test_what_links_to_it_can_say_it(client, stored):
    page = client.get(reverse("prediction", args=[stored.uid])).content.decode()
    assert '<meta property="og:title" content="app1-section1 on machine-2">' in page
    assert "±" in page.split("og:description")[1][:120]


@pytest.mark.parametrize("name", ["badge", "embed"])
def test_a_private_one_has_none_of_it_even_for_its_owner(client, stored, owner, name):
    Prediction.objects.filter(pk=stored.pk).update(private_to=owner)
    client.force_login(owner)
    assert client.get(reverse(name, args=[stored.uid])).status_code == 404
    assert "og:title" not in client.get(reverse("prediction", args=[stored.uid])).content.decode()


def test_names_are_text_whatever_they_are(client, stored):
    Prediction.objects.filter(pk=stored.pk).update(answer=stored.answer | {"target": PLANTED})
    ET.fromstring(client.get(reverse("badge", args=[stored.uid])).content)
    assert PLANTED not in client.get(reverse("embed", args=[stored.uid])).content.decode()


def test_an_answer_without_times_says_only_where(client, stored):
    nothing = [point | {"time_s": None, "low_s": None, "high_s": None} for point in stored.answer["curve"]]
    Prediction.objects.filter(pk=stored.pk).update(answer=stored.answer | {"curve": nothing})
    text = client.get(reverse("badge", args=[stored.uid])).content.decode()
    assert "predicted on machine-2" in text
    assert client.get(reverse("embed", args=[stored.uid])).status_code == 200
