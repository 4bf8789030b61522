"""All pages in Chromium: nothing found by axe-core, small, working under our policy and by keyboard alone."""

import re
from importlib.resources import files

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.templatetags.quantities import as_percent
from tests.browser.walk import CHARTS, TARGET, WORKLOAD, Walk, drawn, open_all_tabs, page_names, pages_of
from tests.pages import store_dataset, store_public

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
LARGEST_BYTES = 300_000  # of a page's first view, uncompressed, beside Plotly
TOO_WIDE = """async () => {
  const over = () => document.documentElement.scrollWidth - window.innerWidth;
  for (let waited = 0; over() > 0 && waited < 3000; waited += 50) await new Promise((done) => setTimeout(done, 50));
  return over();
}"""  # figures take a moment to follow the width
ASK_HOW_IT_LOOKS = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]
AUDIT = """async (askHowItLooks) => {
  const figures = ".svg-container";  // an image to those who hear it
  const shown = [...document.querySelectorAll(`body *:not(${figures} *)`)].filter((one) => one.checkVisibility());
  const known = shown.every((one) => window.audited?.has(one));
  window.audited = new Set(shown);
  // Nothing that axe fetches beforehand serves an enabled rule.
  const options = { reporter: "no-passes", resultTypes: ["violations"], preload: false };
  if (known) options.runOnly = askHowItLooks;
  return (await axe.run({ exclude: [figures] }, options)).violations;
}"""
WITHOUT_TWIN = {"login", "signup", "password_reset", "password_change", "address", "glossary"}  # nothing there is data
WITHOUT_TWIN |= {"document", "quarantine", "report-platform", "report-profile"}
WITHOUT_TWIN |= {"docs", "device-login", "problem-types", "mfa_index", "usersessions_list", "socialaccount_connections"}
WITHOUT_TWIN |= {"account_inactive", "account_email_verification_sent", "account_reset_password_done"}
WITHOUT_TWIN |= {"account_reset_password_from_key_done", "socialaccount_login_cancelled"}
WITHOUT_TWIN |= {"publish-upload", "delete-upload", "delete-prediction", "delete-predictions", "delete-account"}
WITHOUT_TWIN |= {"components", "delete-own-prices"}
WITHOUT_TWIN |= {"unstored-measure-next", "unstored-why"}  # the API says this of stored predictions


@pytest.fixture
def walk(ada) -> Walk:
    pages = pages_of(store_public()[0], ada)
    relative = store_dataset()[0]
    pair = f"?workload={relative.workload.slug}&target={relative.platform.slug}"
    return Walk(pages.public | {"what-if, time only": reverse("what-if") + pair}, pages.own)


def findings(page) -> list[str]:
    """What axe-core finds: the rule, what it says, and where. By all rules the first time; then, where nothing
    has come into sight since, by those that ask how things look."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate(AUDIT, ASK_HOW_IT_LOOKS)
    return [f"{one['id']}: {one['help']}: {[node['html'][:150] for node in one['nodes'][:3]]}" for one in found]


def test_the_walk_leaves_no_page_out(walk):
    assert page_names() - {name.split(",")[0] for name in (*walk.public, *walk.own)} == set()
    assert CHARTS.keys() <= {*walk.public, *walk.own}


class Weights:
    """Bytes of each file that pages asked for, as a new visitor receives it."""

    def __init__(self) -> None:
        self.largest: dict[str, int] = {}  # what comes from the browser's cache may tell no size

    def of(self, page) -> dict[str, int]:
        """By the file's name; the page itself under ''."""
        entries = page.evaluate(
            """["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type)).map((entry) =>
               [entry.entryType === "navigation" ? "" : entry.name.split("/").pop(), entry.encodedBodySize])"""
        )
        for file, size in entries:
            self.largest[file] = size if file == "" else max(size, self.largest.get(file, 0))
        return {file: self.largest[file] for file, _ in entries}


def faults_at_first_sight(page, name: str, weights: Weights) -> list[str]:
    """Of what was loaded: too much of it, Plotly without a figure, figures without marks, axes without a title."""
    open_all_tabs(page)
    drawn(page)
    received, figures = weights.of(page), page.locator(".plot").all()
    own_bytes = sum(size for file, size in received.items() if not file.startswith("plotly"))
    untitled = [one for one in figures if one.locator(".xtitle").count() != 1 or one.locator(".ytitle").count() != 1]
    checks = {
        f"{own_bytes} bytes": 5_000 < own_bytes < LARGEST_BYTES,
        "Plotly without a figure, or none with one": any(file.startswith("plotly") for file in received)
        == bool(figures),
        f"{len(figures)} figures": len(figures) >= CHARTS.get(name, 0) and bool(figures) == (name in CHARTS),
        f"{len(untitled)} figures without titles of their axes": not untitled,
        "no JSON twin": name in WITHOUT_TWIN or has_twin(page),
    }
    return [fault for fault, holds in checks.items() if not holds]


def has_twin(page) -> bool:
    """Whether the one that the page names answers: with JSON, or with the problem that the page tells of."""
    twins = page.locator('link[rel="alternate"][type="application/json"]')
    if twins.count() != 1:
        return False
    answer = page.request.get(twins.evaluate("link => link.href"))
    return answer.headers["content-type"] in {"application/json", "application/problem+json"} and answer.status < 404


def faults_as_shown(page, width: int, scheme: str) -> list[str]:
    """At this width, in light or dark: what is wider than the screen, what axe-core finds."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    too_wide = page.evaluate(TOO_WIDE)
    drawn(page)
    found = [f"{too_wide} px wider than the screen"] * (too_wide > 0) + findings(page)
    return [f"{width} px, {scheme}: {one}" for one in found]


@pytest.mark.lab
def test_every_page_is_sound_wide_in_light_and_on_a_phone_in_dark(visit, walk, ada):
    """Colours do not depend on the width, nor the layout on the colours. A page is loaded as the last one was left."""
    found, weights, looks = {}, Weights(), [(1280, "light"), (390, "dark")]
    for name, address, own in walk.everywhere():
        page = visit(address, *looks[0], user=ada if own else None)
        found[name] = faults_at_first_sight(page, name, weights)
        for width, scheme in looks:
            found[name] += faults_as_shown(page, width, scheme)
        looks.reverse()
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_axe_does_find_what_is_wrong_also_when_it_looks_again(visit, public):
    page = visit(reverse("home"))
    assert findings(page) == []
    page.evaluate(
        "document.querySelector('main').append("
        "Object.assign(document.createElement('img'), { src: '/static/mpet/icon.svg' }))"
    )
    assert [one.split(":")[0] for one in findings(page)] == ["image-alt"]
    page.evaluate("document.querySelector('h1').style.color = 'var(--line)'")
    assert [one.split(":")[0] for one in findings(page)] == ["color-contrast"]


def test_an_inline_script_that_got_into_a_page_would_not_run(visit, public):
    """Every page is under this policy (tests/mpet_site/web/test_middleware.py). None breaks it: Watch would hear."""
    page = visit(reverse("home"), expected="Content Security Policy")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), { text: 'window.ran = 1' }))")
    assert page.evaluate("window.ran") is None


def tab_to(page, selector: str, limit: int = 60) -> None:
    for _ in range(limit):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            shown = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert shown != "none", f"{selector} has the focus and does not show it"
            return
    raise AssertionError(f"{limit} tabs did not reach {selector}")


def test_from_the_front_page_to_a_prediction_and_its_numbers_by_keyboard_alone(visit, public):
    page = visit(reverse("home"))
    tab_to(page, f'a[href="{reverse("predict")}"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/predict/")
    tab_to(page, "#id_workload")
    page.keyboard.type(WORKLOAD)
    tab_to(page, "#id_target")
    page.keyboard.type(TARGET)
    page.locator("#possible").get_by_text("Possible: 2 reference machines").wait_for()
    tab_to(page, "main button.primary")
    page.keyboard.press("Enter")
    page.wait_for_url("**/predictions/**")
    drawn(page)
    answer = predict(PredictionRequest(WORKLOAD, TARGET)).answer
    expect(page.locator("#measured-error")).to_contain_text(as_percent(answer["measured"]["error_percent"]))
    tab_to(page, "summary")
    page.keyboard.press("Enter")
    expect(page.locator("details[open] table").first.locator("tbody tr")).to_have_count(16)


def test_the_form_says_at_once_what_is_possible_and_its_address_follows(visit, public):
    page = visit(reverse("predict"))
    said = page.locator("#possible")
    assert said.inner_text().strip() == ""
    page.fill("#id_workload", "app0-secton0")
    page.fill("#id_target", TARGET)
    said.get_by_text("did you mean").wait_for()
    said.get_by_role("link", name="app0/section0").click()
    page.wait_for_url(re.compile(rf"workload={WORKLOAD}&target={TARGET}"))
    said.get_by_text("Possible:").wait_for()
    page.select_option("#id_method", index=1)
    chosen = page.locator("#id_method").input_value()
    assert f"method={chosen}" in page.url
    page.reload()
    assert page.locator("#id_method").input_value() == chosen
    page.get_by_text("Settings", exact=True).click()
    settings = [part for part in page.locator("fieldset[data-method]").all() if part.is_visible()]
    assert [part.get_attribute("data-method") for part in settings] == [chosen]
