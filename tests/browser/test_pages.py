"""The pages in a real browser: drawn, at both widths, in light and dark, with no error and no other machine asked."""

import io
from datetime import UTC, datetime

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from benchmarks.archive import write_archive
from predictor.models import Prediction
from predictor.services import PredictionRequest, predict
from profiles.models import Profile
from tests.pages import PASSWORD, store_public, user
from tests.predictor.accuracy import store_evaluation, store_report
from tests.samples import sample_measurements

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ASKED = "?workload=app0-section0&target=machine-1"


@pytest.fixture
def addresses() -> dict[str, int]:
    """Every page that anybody may see, and how many charts it has at least."""
    profile = store_public()[0]
    prediction = predict(PredictionRequest("app0-section0", "machine-1"))
    evaluation = store_evaluation()
    store_report()
    return {
        reverse("home"): 1,
        reverse("compare-platforms") + "?platform=machine-0&platform=machine-2": 7,
        reverse("compare-workloads") + "?workload=app0-section0&workload=app1-section1": 6,
        reverse("platform-distances") + "?near=machine-1": 0,
        reverse("workload-distances"): 0,
        reverse("workload-map"): 1,
        reverse("platforms"): 0,
        reverse("platform", args=[profile.platform.slug]): 0,
        reverse("workloads"): 0,
        reverse("workload", args=[profile.workload.slug]): 2,
        reverse("workload", args=[profile.workload.slug]) + "?show=cost": 1,
        reverse("profile", args=[profile.uid]): 7,
        reverse("profile", args=[profile.uid]) + "?budget=time": 7,
        reverse("predict") + ASKED: 0,
        reverse("prediction", args=[prediction.uid]): 3,
        reverse("accuracy"): 8,
        reverse("evaluation", args=[evaluation.uid]): 1,
        reverse("login"): 0,
    }


def drawn(page, charts: int) -> None:
    """All charts, `charts` of them at least."""
    expect(page.locator(".plot:not(:has(.main-svg .trace, .main-svg .hm))")).to_have_count(0, timeout=20_000)
    assert page.locator(".plot").count() >= charts
    for plot in page.locator(".plot").all():
        assert plot.locator(".scatterlayer .trace, .barlayer .trace").count() > 0
        assert plot.locator(".xtitle").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_opens_and_draws_its_charts(visit, addresses, width, scheme):
    for address, charts in addresses.items():
        page = visit(address, width, scheme)
        assert (page.locator(".plot").count() > 0) == (charts > 0)
        drawn(page, charts)
        overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert overflow <= 0, f"{address} is {overflow} px wider than the screen"


def luminance(page, selector: str, prop: str) -> float:
    """0 black to 1 white, of a colour as the browser computes it."""
    colour = page.eval_on_selector(selector, f"node => getComputedStyle(node).{prop}")
    red, green, blue = (int(part) / 255 for part in colour.split("(")[1].rstrip(")").split(",")[:3])
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(visit, addresses, scheme):
    page = visit(next(address for address in addresses if address.startswith("/predictions/")), scheme=scheme)
    drawn(page, 3)
    surfaces = {
        "body": ["h1", "h1 a", ".muted", ".facts dt", ".twin a", "thead th"],
        ".notice.warn": [".notice.warn li"],
    }
    for surface, texts in surfaces.items():
        behind = luminance(page, surface, "backgroundColor")
        for text in texts:
            light, dark = sorted((luminance(page, text, "color"), behind), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{text} on {surface} in {scheme}"


def test_charts_follow_a_change_between_light_and_dark(visit, addresses):
    page = visit(next(address for address in addresses if address.startswith("/profiles/")))
    drawn(page, 4)
    tick = ".plot .xtick text"
    before = page.eval_on_selector(tick, "node => getComputedStyle(node).fill")
    page.emulate_media(color_scheme="dark")
    expect(page.locator(tick).first).not_to_have_css("fill", before)


def test_the_keyboard_skips_the_navigation_and_shows_where_it_is(visit, addresses):
    page = visit(reverse("platforms"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "search"
    assert page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2


def test_a_prediction_by_keyboard_shows_its_measured_error(visit, addresses):
    page = visit(reverse("predict") + ASKED)
    page.locator("#id_target").press("Enter")
    page.wait_for_url("**/predictions/**")
    drawn(page, 3)
    stored = Prediction.objects.get(uid=page.url.rstrip("/").rsplit("/", 1)[-1])
    assert f"{stored.answer['measured']['error_percent']:.1f} %" in page.locator("#measured-error").inner_text()
    page.get_by_text("Numbers of “Time”").click()
    assert page.get_by_role("region", name="Numbers of Time").locator("tbody tr").count() == 16


def test_an_upload_shows_its_report_with_links_to_its_profiles(visit, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    tarball = io.BytesIO()
    write_archive(tarball, sample_measurements(1, 2, seed=4), created=datetime(2026, 11, 20, tzinfo=UTC))
    (tmp_path / "results.tar.gz").write_bytes(tarball.getvalue())
    user("ada")
    page = visit(reverse("upload"))
    page.fill("#id_username", "ada")
    page.fill("#id_password", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.set_input_files("#id_file", tmp_path / "results.tar.gz")
    page.get_by_label("Private").check()
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/uploads/**")
    assert "accepted" in page.locator("h1").inner_text()
    page.get_by_role("link", name="Profile of").first.click()
    drawn(page, 4)
    assert "private" in page.locator("h1").inner_text()
    assert Profile.objects.filter(private_to__username="ada").count() == 2


def test_settings_of_other_methods_are_out_of_the_way(visit, addresses):
    page = visit(reverse("predict") + ASKED)
    page.get_by_text("Settings", exact=True).click()
    chosen = page.locator("#id_method").input_value()
    shown = [
        part.get_attribute("data-method") for part in page.locator("fieldset[data-method]").all() if part.is_visible()
    ]
    assert shown == [chosen]


def test_the_api_documentation_works_under_the_same_policy(visit, addresses):
    page = visit(reverse("api-docs"))
    page.wait_for_selector(".opblock")
