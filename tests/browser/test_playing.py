"""What changes on a page without leaving it, what leads on from a figure, and what can be taken along."""

import csv
import re
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from predictor.models import Prediction
from profiles.models import Profile
from tests.pages import store_public

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def profile() -> Profile:
    return store_public()[0]


def download(page, kind: str, figure: str) -> Path:
    chart = page.locator("figure.chart", has=page.locator(f'[data-figure="{figure}"]'))
    with page.expect_download() as started:
        chart.locator(f"[data-save={kind}]").click()
    return Path(started.value.path())


def test_another_choice_is_answered_under_an_address_that_holds_it(visit, profile):
    answers = []
    for machine in ("machine-1", "machine-2"):
        page = visit(reverse("home"))
        page.get_by_label("Workload or program").fill("app0-section0")
        page.get_by_label("Machine", exact=True).fill(machine)
        page.get_by_role("button", name="Predict").click()
        page.wait_for_url(re.compile(f"workload=app0-section0&target={machine}"))
        expect(page.locator(".first-screen .main-svg .trace").first).to_be_visible()
        assert machine in page.locator("h1").inner_text()
        answers.append(page.locator(".facts.large").inner_text())
        page.reload()
        expect(page.locator(".first-screen .main-svg .trace").first).to_be_visible()
        assert page.locator(".facts.large").inner_text() == answers[-1]
    assert answers[0] != answers[1]
    assert not Prediction.objects.exists()


def test_a_chart_can_be_saved_as_png_svg_and_csv_in_full_precision(visit, profile):
    page = visit(reverse("workload", args=[profile.workload.slug]) + "?show=time")
    expect(page.locator('[data-figure="time"] .main-svg .trace').first).to_be_visible()
    assert download(page, "png", "time").read_bytes().startswith(b"\x89PNG")
    assert download(page, "svg", "time").read_text().startswith("<svg")
    rows = list(csv.reader(download(page, "csv", "time").read_text().splitlines()))
    assert rows[0] == ["series", "threads n (count)", "time t(n) (s)"]
    measured = {(name, int(n)): float(value) for name, n, value in rows[1:]}
    curves = profile.curves
    assert len(measured) == 3 * len(curves.n)
    for n, time_s in zip(curves.n.tolist(), curves.values[: len(curves.n)].tolist(), strict=True):
        assert measured[profile.platform.name, n] == time_s


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
