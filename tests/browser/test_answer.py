"""The page of an answer: what its first screen shows, and the tabs below it."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from tests.browser.walk import drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def address(public) -> str:
    return reverse("prediction", args=[predict(PredictionRequest("app0-section0", "machine-1")).uid])


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_answer_interval_and_curve_are_in_the_first_screen(visit, address, width, height):
    page = visit(address, width=width)
    page.set_viewport_size({"width": width, "height": height})
    drawn(page)
    for part in (".facts.large", "#answer-interval", ".first-screen .plot"):
        box = page.locator(part).first.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height, part


def test_a_link_opens_a_tab_and_arrow_keys_go_on(visit, address):
    page = visit(address + "#candidates")
    expect(page.get_by_role("tab", name="Evidence")).to_have_attribute("aria-selected", "true")
    expect(page.locator("[role=tabpanel]:visible")).to_have_count(1)
    page.get_by_role("tab", name="Evidence").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tabpanel", name="Speedup and time breakdown")).to_be_visible()
    assert page.url.endswith("#curves")
    drawn(page)
    page.keyboard.press("End")
    expect(page.get_by_role("tabpanel", name="Command line")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[role=tab]").first).to_be_focused()
    page.locator('.facts a[href="#cautions"]').click()
    expect(page.get_by_role("tabpanel", name="Cautions")).to_be_visible()


def test_without_scripts_the_tabs_are_links_to_plain_sections(chromium, live_server, address):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(live_server.url + address)
    parts = [link.get_attribute("href") for link in page.locator(".tabs a").all()]
    shown = [page.locator(part).is_visible() for part in parts]
    roles = page.locator("[role=tab]").count()
    context.close()
    assert "#candidates" in parts
    assert all(shown)
    assert roles == 0
