"""What people do on the pages in a real browser. Every page at every width, in light and dark: test_walk.py."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from predictor.models import Prediction
from profiles.models import Profile, Revision
from tests.browser.walk import drawn
from tests.pages import PASSWORD, user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ASKED = "?workload=app0-section0&target=machine-1"


def test_charts_follow_a_change_between_light_and_dark(visit, public):
    page = visit(reverse("profile", args=[public[0].uid]))
    drawn(page)
    tick = ".plot .xtick text"
    before = page.eval_on_selector(tick, "node => getComputedStyle(node).fill")
    page.emulate_media(color_scheme="dark")
    expect(page.locator(tick).first).not_to_have_css("fill", before)


def test_the_keyboard_skips_the_navigation_and_shows_where_it_is(visit, public):
    page = visit(reverse("platforms"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "search"
    assert page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2


def test_without_an_account_an_answer_is_shown_and_kept_after_signing_in(visit, public):
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


def test_the_api_documentation_works_under_the_same_policy(visit, public):
    page = visit(reverse("api-docs"))
    page.wait_for_selector(".opblock")


def test_a_heat_map_is_sorted_and_followed_by_keyboard(visit, public):
    page = visit(reverse("platform-distances"))
    page.get_by_role("rowheader", name="machine-2").get_by_role("link").press("Enter")
    page.wait_for_url(re.compile("near=machine-2"))
    assert page.locator(".heat-map tbody th").first.inner_text() == "machine-2"
    page.locator(".heat-map tbody td a").first.press("Enter")
    page.wait_for_url(re.compile("/compare/platforms/"))
    assert "machine-2" in page.title()


def test_a_point_of_the_map_leads_to_its_workload(visit, public):
    page = visit(reverse("workload-map"))
    point = page.locator(".scatterlayer .point").first
    expect(point).to_be_visible()
    box = point.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_url(re.compile("/workloads/app"))
