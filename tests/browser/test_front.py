"""The front page, the menu, the search and the components in a real browser."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from predictor.computations.asking import request_showcase
from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.jobs.queue import take_up
from tests.browser.test_walk import faults_as_shown
from tests.pages import user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LOOKS = [(1280, "light"), (390, "dark")]


def test_the_components_are_photographed(visit, tmp_path):
    page = visit(reverse("components"))
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        picture = page.screenshot(full_page=True, path=tmp_path / f"components-{width}-{scheme}.png")
        assert len(picture) > 20_000, "the components are on it"


def test_the_front_page_a_machine_an_answer_and_a_document_are_sound(visit, public):
    request_showcase()
    take_up("computations")
    document = reverse("document", args=["settings.md"])  # with wide tables
    answer = reverse("prediction", args=[predict(PredictionRequest("app0-section0", "machine-1")).uid])
    for address in (reverse("home"), reverse("platform", args=["machine-1"]), answer, document):
        page = visit(address)
        faults = [fault for width, scheme in LOOKS for fault in faults_as_shown(page, width, scheme)]
        assert faults == [], address


def test_the_menu_is_one_row_and_on_a_phone_behind_a_button(visit, public):
    page = visit(reverse("predict"), user=user("ada"))
    menu = page.get_by_role("navigation", name="Pages")
    places = [link.bounding_box()["y"] for link in menu.get_by_role("link").all()]
    assert len(places) == 5
    assert max(places) - min(places) < 4
    assert page.locator(".site-header > .wide").bounding_box()["height"] < 70
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_role("link", name="Tokens")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Tokens")).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 900})
    expect(menu).to_be_hidden()
    assert page.locator(".site-header > .wide").bounding_box()["height"] < 70
    page.get_by_role("button", name="Menu").press("Enter")
    expect(menu.get_by_role("link", name="Machines")).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    menu.get_by_role("link", name="Machines").click()
    page.wait_for_url(f"**{reverse('platforms')}")


def test_the_search_offers_names_and_leads_to_what_is_chosen(visit, public):
    page = visit(reverse("docs"))
    box = page.get_by_role("combobox", name="Search machines, workloads, programs and docs")
    with page.expect_response("**/api/v1/search/**"):
        box.press_sequentially("machine-1")
    expect(page.locator("#site-search-names option").first).to_have_attribute("value", "machine-1")
    box.press("Enter")
    page.wait_for_url("**/platforms/machine-1/")


def test_a_workload_narrows_the_machines_and_each_answer_has_an_address(visit, public):
    answers = []
    for machine in ("machine-1", "machine-2"):
        page = visit(reverse("home"))
        page.fill("#ask-workload", "app0-section0")
        with page.expect_response("**workload=app0-section0**"):
            page.locator("#ask-workload").press("Tab")
        expect(page.locator("#ask-machines option")).to_have_count(3)
        page.fill("#ask-machine", machine)
        page.get_by_role("button", name="Predict").click()
        page.wait_for_url(re.compile(f"/predictions/answer/.*workload=app0-section0&target={machine}"))
        expect(page.locator(".first-screen .main-svg .trace").first).to_be_visible()
        assert machine in page.locator("h1").inner_text()
        answers.append(page.locator(".facts.large").inner_text())
        page.reload()
        expect(page.locator(".first-screen .main-svg .trace").first).to_be_visible()
        assert page.locator(".facts.large").inner_text() == answers[-1]
    assert answers[0] != answers[1]
    assert not Prediction.objects.exists()
