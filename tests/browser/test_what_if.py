"""Sliders: they redraw what is there, keep the address, work by keyboard, and can be put back."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from predictor.models import Prediction
from tests.browser.walk import drawn
from tests.pages import user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAIR = "?workload=app0-section0&target=machine-1"


@pytest.fixture
def opened(visit, public):
    """opened(**visit): the page with its figures drawn."""

    def open_page(**visiting):
        page = visit(reverse("what-if") + PAIR, **visiting)
        drawn(page)
        return page

    return open_page


@pytest.fixture
def page(opened):
    return opened()


def line(page, name: str) -> str:
    """The path of a line of the first figure."""
    index = page.evaluate(
        "name => document.querySelector('.plot').data.findIndex((trace) => trace.name === name)", name
    )
    assert index >= 0, f"no line {name}"
    return page.evaluate("index => document.querySelector('.plot').data[index].y.join()", index)


def test_a_moved_slider_redraws_with_the_baseline_and_an_open_table_follows(page):
    page.get_by_text("Numbers of “Time”").click()
    numbers = page.get_by_role("region", name="Numbers of Time")
    expect(numbers.locator("tbody tr")).to_have_count(16)
    before = line(page, "predicted")
    marked = page.evaluate("document.querySelector('.plot').dataset.mark = 'the same element'")
    page.get_by_label("Work", exact=True).fill("2")
    expect(page.locator("#answer-facts")).to_contain_text("baseline:")
    assert page.locator("output[for=slider-work]").inner_text() == "× 2"
    assert line(page, "baseline") == before
    assert line(page, "predicted") != before
    assert page.evaluate("document.querySelector('.plot').dataset.mark") == marked
    expect(page.locator("#answer-notes")).to_contain_text("work × 2")
    page.get_by_label("Threads", exact=True).fill("24")
    expect(numbers.locator("tbody tr")).to_have_count(24)
    assert "baseline" in numbers.locator("thead").inner_text()


def test_the_address_holds_the_sliders_and_the_twin_follows(page):
    page.get_by_label("Lock delay").fill("0.5")
    page.get_by_label("Threads", exact=True).fill("24")
    page.wait_for_url("**lock_delay=0.5&n_max=24")
    page.reload()
    drawn(page)
    assert page.get_by_label("Lock delay").input_value() == "0.5"
    assert page.evaluate("Math.max(...document.querySelector('.plot').data.at(-2).x)") >= 16
    twin = page.locator("main > .twin a").get_attribute("href")
    answer = page.context.request.get(f"{page.url.split('/what-if')[0]}{twin}").json()
    assert answer["workload_changes"] == {"lock_delay": 0.5}
    assert len(answer["curve"]) == 24


def test_by_keyboard_alone_and_back(page):
    slider = page.get_by_label("Memory")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "× 1.1"
    page.wait_for_url("**memory=1.1")
    expect(page.locator("#answer-facts")).to_contain_text("baseline:")
    page.get_by_role("link", name="Reset").press("Enter")
    expect(page.locator("#answer-facts")).to_contain_text("nothing is changed")
    assert slider.input_value() == "1"
    assert page.url.endswith(PAIR)


def test_what_the_service_refuses_is_said_and_the_figures_stay(page):
    page.get_by_label("SMT breakpoint").fill("2")
    expect(page.get_by_role("alert")).to_contain_text("the NUMA breakpoint, 4, is not below the SMT breakpoint, 2")
    assert page.locator(".plot .main-svg").first.is_visible()
    page.get_by_label("SMT breakpoint").fill("12")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_shown_answer_can_be_kept_with_an_account(opened):
    page = opened(user=user("ada"))
    page.get_by_label("Work", exact=True).fill("2")
    page.wait_for_url("**work=2")
    page.get_by_role("button", name="Save this prediction").click()
    page.wait_for_url("**/predictions/**")
    assert Prediction.objects.get().answer["workload_changes"] == {"work": 2.0}
    assert "What was changed" in page.locator("main").inner_text()


def test_a_server_that_does_not_answer_is_no_broken_page(opened):
    page = opened(expected="ERR_FAILED")
    page.route("**/what-if/answer/**", lambda route: route.abort())
    page.get_by_label("Work", exact=True).fill("2")
    expect(page.locator("#answer-facts")).to_contain_text("does not respond")
    page.unroute("**/what-if/answer/**")
    page.get_by_label("Work", exact=True).fill("3")
    expect(page.locator("#answer-facts")).to_contain_text("baseline:")
