"""What people do on the pages in a real browser. Every page at every width, in light and dark: test_walk.py."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.models import Profile, Revision
from tests.browser.walk import drawn
from tests.pages import PASSWORD, store_public, user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ASKED = "?workload=app0-section0&target=machine-1"


@pytest.fixture
def profile() -> Profile:
    return store_public()[0]


@pytest.fixture
def prediction(profile) -> Prediction:
    return predict(PredictionRequest("app0-section0", "machine-1"))


def luminance(page, selector: str, prop: str) -> float:
    """0 black to 1 white, of a colour as the browser computes it."""
    colour = page.eval_on_selector(selector, f"node => getComputedStyle(node).{prop}")
    red, green, blue = (int(part) / 255 for part in colour.split("(")[1].rstrip(")").split(",")[:3])
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(visit, prediction, scheme):
    page = visit(reverse("prediction", args=[prediction.uid]), scheme=scheme)
    drawn(page)
    surfaces = {
        "body": ["h1", "h1 a", ".muted", ".facts dt", ".twin a", "thead th"],
        ".notice.warn": [".notice.warn li"],
    }
    for surface, texts in surfaces.items():
        behind = luminance(page, surface, "backgroundColor")
        for text in texts:
            light, dark = sorted((luminance(page, text, "color"), behind), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{text} on {surface} in {scheme}"


def test_charts_follow_a_change_between_light_and_dark(visit, profile):
    page = visit(reverse("profile", args=[profile.uid]))
    drawn(page)
    tick = ".plot .xtick text"
    before = page.eval_on_selector(tick, "node => getComputedStyle(node).fill")
    page.emulate_media(color_scheme="dark")
    expect(page.locator(tick).first).not_to_have_css("fill", before)


def test_the_keyboard_skips_the_navigation_and_shows_where_it_is(visit, profile):
    page = visit(reverse("platforms"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "search"
    assert page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2


def test_without_an_account_an_answer_is_shown_and_kept_after_signing_in(visit, profile):
    Profile.objects.filter(platform__slug="machine-1", workload__slug="app1-section1").delete()
    Revision.raise_for(None)
    user("ada")
    page = visit(reverse("predict") + ASKED)
    page.locator("#id_target").press("Enter")
    page.wait_for_url("**/predictions/answer/**")
    drawn(page)
    page.get_by_role("tab", name="What to measure next").click()
    page.get_by_role("link", name="Which measurements would narrow the interval").click()
    expect(page.get_by_role("region", name="What to measure next").locator("tbody tr").first).to_be_visible()
    assert page.url.endswith("#next")
    assert not Prediction.objects.exists()
    page.locator("main").get_by_role("link", name="Sign in").click()
    page.fill("#id_login", "ada")
    page.fill("#id_password", PASSWORD)
    page.locator("main button.primary").click()
    page.wait_for_url("**/predictions/answer/**")
    page.get_by_role("button", name="Save this prediction").click()
    page.wait_for_url(re.compile(r"/predictions/[0-9a-f-]{36}/"))
    assert page.url.endswith(reverse("prediction", args=[Prediction.objects.get().uid]))


def test_the_api_documentation_works_under_the_same_policy(visit, profile):
    page = visit(reverse("api-docs"))
    page.wait_for_selector(".opblock")


def test_a_heat_map_is_sorted_and_followed_by_keyboard(visit, profile):
    page = visit(reverse("platform-distances"))
    page.get_by_role("rowheader", name="machine-2").get_by_role("link").press("Enter")
    page.wait_for_url(re.compile("near=machine-2"))
    assert page.locator(".heat-map tbody th").first.inner_text() == "machine-2"
    page.locator(".heat-map tbody td a").first.press("Enter")
    page.wait_for_url(re.compile("/compare/platforms/"))
    assert "machine-2" in page.title()


def test_a_point_of_the_map_leads_to_its_workload(visit, profile):
    page = visit(reverse("workload-map"))
    point = page.locator(".scatterlayer .point").first
    expect(point).to_be_visible()
    box = point.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_url(re.compile("/workloads/app"))
