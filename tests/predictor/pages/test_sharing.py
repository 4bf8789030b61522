"""Badge, frame and Open Graph tags: of public predictions alone, and safe on any page."""

import io
import re
from xml.etree import ElementTree as ET

import pytest
from django.urls import reverse
from PIL import Image, ImageColor

from predictor.figures import share_picture
from predictor.models import Prediction
from predictor.pages import sharing
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from tests.pages import store_public, text_of
from tests.predictor.conftest import module_rows

PLANTED = '"><script>alert(1)</script>'


QUESTION = PredictionRequest("app1-section1", "machine-2")
stored_rows = module_rows(lambda: (store_public(), predict(QUESTION)))


@pytest.fixture
def stored(stored_rows, db) -> Prediction:
    return Prediction.objects.get()


def test_the_badge_says_the_least_time_with_its_interval(client, stored):
    answer = client.get(reverse("badge", args=[stored.uid]))
    assert (answer["Content-Type"], answer["Content-Security-Policy"]) == ("image/svg+xml", "default-src 'none'")
    text = "".join(ET.fromstring(answer.content).itertext())
    best = min(point["time_s"] for point in stored.answer["curve"])
    assert f"{best:.3g} s ±" in text and "on machine-2" in text


def test_page_and_badge_have_the_fastest_thread_count_with_a_credible_gain_as_rankings_do(client, stored):
    address, page = reverse("badge", args=[stored.uid]), reverse("prediction", args=[stored.uid])
    assert "Fastest, with 16 threads" in text_of(client.get(page)) and "Advised threads" in text_of(client.get(page))
    answer = stored.answer | {"credible_n": 2}
    Prediction.objects.filter(pk=stored.pk).update(answer=answer)
    assert "0.0662 s" in client.get(address).content.decode()
    limited = text_of(client.get(page))
    assert "Fastest, with 2 threads 66.2 ms" in limited and "a gain beyond n = 2 is not credible" in limited
    assert "Advised threads" not in limited  # 16


def test_the_frame_may_stand_anywhere_and_runs_nothing(client, stored):
    answer = client.get(reverse("embed", args=[stored.uid]))
    page = answer.content.decode()
    policy = answer["Content-Security-Policy"]
    assert "X-Frame-Options" not in answer
    assert "frame-ancestors" not in policy and "default-src 'none'" in policy and "script-src" not in policy
    assert "<script" not in page
    assert page.count("<tr>") == 1 + len(stored.answer["curve"])
    assert client.get(reverse("prediction", args=[stored.uid]))["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("name", ["badge", "embed", "picture-of-prediction"])
def test_a_private_one_has_none_of_it_even_for_its_owner(client, stored, owner, name):
    Prediction.objects.filter(pk=stored.pk).update(private_to=owner)
    client.force_login(owner)
    assert client.get(reverse(name, args=[stored.uid])).status_code == 404
    assert "og:" not in client.get(reverse("prediction", args=[stored.uid])).content.decode()


def test_names_are_text_whatever_they_are(client, stored):
    Prediction.objects.filter(pk=stored.pk).update(answer=stored.answer | {"target": PLANTED})
    ET.fromstring(client.get(reverse("badge", args=[stored.uid])).content)
    for name in ("embed", "prediction"):
        assert PLANTED not in client.get(reverse(name, args=[stored.uid])).content.decode()


def test_an_answer_without_times_says_only_where(client, stored):
    nothing = [point | {"time_s": None, "low_s": None, "high_s": None} for point in stored.answer["curve"]]
    Prediction.objects.filter(pk=stored.pk).update(answer=stored.answer | {"curve": nothing})
    text = client.get(reverse("badge", args=[stored.uid])).content.decode()
    assert "predicted on machine-2" in text
    assert client.get(reverse("embed", args=[stored.uid])).status_code == 200


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content)).convert("RGB")


def count_of(image: Image.Image, colour: str) -> int:
    return dict(map(reversed, image.getcolors(1 << 20))).get(ImageColor.getrgb(colour), 0)


def test_the_tags_of_the_page_name_the_answer_and_a_picture_with_curve_and_interval(client, stored):
    page = client.get(reverse("prediction", args=[stored.uid])).content.decode()
    assert re.search(r'property="og:title"\s+content="app1/section1 on machine-2"', page)
    assert "±" in page.split("og:description")[1][:120]
    address = re.search(r'property="og:image" content="http://testserver(/[^"]+)"', page)[1]
    answer = client.get(address)
    assert (answer["Content-Type"], answer["Cache-Control"]) == ("image/png", "public, max-age=3600")
    image = opened(answer.content)
    assert (image.format, image.size) == (None, (1200, 630)) and answer.content.startswith(b"\x89PNG")
    assert count_of(image, share_picture.ACCENT) > 700


@pytest.mark.parametrize("has_band", [True, False])
def test_the_band_is_the_interval(stored, has_band):
    low, high = (0.7, 1.3) if has_band else (None, None)
    curve = [
        row | {"low_s": low and low * row["time_s"], "high_s": high and high * row["time_s"]}
        for row in stored.answer["curve"]
    ]
    image = opened(sharing.picture_of_answer(stored.answer | {"curve": curve}))
    assert (count_of(image, share_picture.BAND) > 500) is has_band
    assert count_of(image, share_picture.ACCENT) > 700


def test_a_picture_is_drawn_once_a_revision_and_withdrawn_with_its_prediction(client, stored, owner, monkeypatch):
    address = reverse("picture-of-prediction", args=[stored.uid])
    first = client.get(address).content
    drawn = []
    monkeypatch.setattr(sharing, "share_picture", lambda *words: drawn.append(words) or b"new")
    assert client.get(address).content == first and not drawn
    Prediction.objects.filter(pk=stored.pk).update(answer=stored.answer | {"revision": 10**6})
    assert client.get(address).content == b"new" and len(drawn) == 1
    Prediction.objects.filter(pk=stored.pk).update(private_to=owner)
    assert client.get(address).status_code == 404


@pytest.mark.parametrize("change", [
    {"target": PLANTED + "é日" + "x" * 500},
    {"curve": [{"n": 1, "time_s": 2.0, "low_s": 1.0, "high_s": 3.0, "speedup": 1.0}]},
    {"curve": [{"n": 1, "time_s": None, "low_s": None, "high_s": None, "speedup": None}]},
    {"time_kind": "relative"},
    {"simulated": True},
])  # fmt: skip
def test_every_answer_has_a_picture(stored, change):
    image = opened(sharing.picture_of_answer(stored.answer | change))
    assert image.size == (1200, 630)
    edge = image.crop((1140, 0, 1200, 200))
    assert edge.getcolors() == [(60 * 200, (255, 255, 255))], "text ends before the margin"
    assert image.getpixel((2, 2)) == (255, 255, 255) and len(image.getcolors(1 << 20)) > 10
