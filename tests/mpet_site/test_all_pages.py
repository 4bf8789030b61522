"""What all pages have in common: the same as JSON, the content policy, what errors look like, what is served."""

import html
import re
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.db import transaction
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.views.defaults import permission_denied
from plotly.offline import get_plotlyjs_version

from mpet_site.web.middleware import CONTENT_SECURITY_POLICY
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.identity.programs import programs_by_source
from tests.pages import figures_of, store_public, text_of, twin_of
from tests.paths import ROOT
from tests.predictor.conftest import store
from tests.predictor.stored_evaluations import evaluate_and_store, store_report
from tests.programs import program_measurements

LOGIN = "/accounts/login/"
PAIR = "?workload=app0-section0&target=machine-1"


def addresses() -> list[str]:
    """One of every page that anybody may see, with what it shows."""
    profile = store_public()[0]
    source = store(program_measurements(), label="program").source
    (program,) = programs_by_source([source.pk], None)[source.pk]
    prediction = predict(PredictionRequest("app0-section0", "machine-1"))
    evaluation = evaluate_and_store()
    store_report()
    return [
        reverse("home"),
        reverse("platforms"),
        reverse("platform", args=[profile.platform.slug]),
        reverse("workloads"),
        reverse("workload", args=[profile.workload.slug]),
        reverse("profile", args=[profile.uid]),
        reverse("predict"),
        reverse("prediction", args=[prediction.uid]),
        reverse("measure-next", args=[prediction.uid]),
        reverse("what-if") + PAIR,
        reverse("ranking") + PAIR,
        reverse("program", args=program.address),
        reverse("program-measure-next", args=program.address) + "?target=machine-1",
        reverse("accuracy"),
        reverse("evaluation", args=[evaluation.uid]),
    ]


@pytest.fixture(scope="module")
def answers(django_db_setup, django_db_blocker) -> dict[str, HttpResponse]:
    """What each of them answers to a visitor, and the page to sign in. Asked once: the tests only read the answers.

    `twin` is the response of the JSON form, and `post` the status of a POST.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        found = {address: Client().get(address) for address in [*addresses(), LOGIN]}
        for address in found.keys() - {LOGIN}:
            found[address].twin = Client().get(twin_of(found[address]))
            found[address].post = Client().post(address).status_code
        transaction.set_rollback(True)
    return found


@pytest.fixture
def pages(answers, db) -> dict[str, HttpResponse]:
    """The same. The fixture `db` tells pytest-django that a test needs the test database."""
    return answers


def test_every_page_has_a_json_twin_and_links_it_visibly(pages):
    for address in pages.keys() - {LOGIN}:
        page = pages[address]
        assert (page.twin.status_code, page.twin["Content-Type"]) == (200, "application/json"), address
        assert page.content.decode().count(f'href="{html.escape(twin_of(page))}"') >= 2, address


def test_every_page_allows_its_own_scripts_only_and_needs_no_others(pages):
    for address, page in pages.items():
        assert page["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
        content = page.content.decode()
        scripts = re.findall(r"<script([^>]*)>", content)
        assert all('type="application/json"' in one or 'src="/static/' in one for one in scripts), address
        assert not re.search(r"\son\w+=|javascript:", content), address
        assert not re.search(r'(src|href)="(https?:)?//', content), address


def test_plotly_is_loaded_only_where_there_are_charts(pages):
    for address, page in pages.items():
        content = page.content.decode()
        assert ("plotly-basic.min.js" in content) == ("data-figure=" in content), address


def test_every_chart_has_its_numbers_in_a_table_and_a_label(pages):
    for address, page in pages.items():
        content = page.content.decode()
        figures = re.findall(r'<figure class="chart">(.*?)</figure>', content, re.S)
        assert len(figures) == content.count("data-figure="), address
        for figure in figures:
            assert "<details>" in figure
            assert figure.count("<tr>") > 2
            assert re.search(r'role="img"\s+aria-label="[^"]{10,}"', figure)


def test_every_page_has_one_heading_a_title_and_a_way_past_the_navigation(pages):
    for address, page in pages.items():
        content = page.content.decode()
        assert content.count("<h1") == 1, address
        assert re.search(r"<title>[^<]*\w[^<]*</title>", content), address
        assert content.index('href="#content"') < content.index("<nav")


def test_every_field_has_a_label(pages):
    for address, page in pages.items():
        content = page.content.decode()
        named = re.findall(r'<(?:input|select)(?![^>]*type="hidden")[^>]*\sid="([^"]+)"', content)
        assert all(f'for="{name}"' in content or name == "id_include_simulated" for name in named), address


def test_no_line_of_a_template_is_longer_than_a_person_reads():
    lengths = {path: max(map(len, path.read_text().splitlines())) for path in ROOT.glob("*/templates/**/*.html")}
    assert len(lengths) > 50
    assert {path: length for path, length in lengths.items() if length > 120} == {}


def test_an_unknown_page_says_where_to_look(client, db):
    page = client.get("/nowhere/")
    assert page.status_code == 404
    assert "There is no such page" in text_of(page)


def test_a_failure_names_no_cause_and_needs_no_database(client):
    words = render_to_string("500.html")
    assert "Something broke on our side" in words


def test_reading_pages_take_no_post(pages):
    reading = pages.keys() - {LOGIN, reverse("predict"), reverse("what-if") + PAIR}
    assert {address: pages[address].post for address in reading} == dict.fromkeys(reading, 405)


def test_forbidden_helps(rf):
    request = rf.get("/upload/")
    request.user = AnonymousUser()
    page = permission_denied(request, PermissionError())
    assert page.status_code == 403
    assert "Sign in" in text_of(page)


def test_plotly_in_the_browser_is_the_version_that_makes_the_figures(tmp_path, settings):
    script = Path(finders.find("vendor/plotly/plotly-basic.min.js"))
    with script.open() as file:
        assert f"plotly.js (basic - minified) v{get_plotlyjs_version()}" in file.read(200)
    settings.STATIC_ROOT = tmp_path
    call_command("collectstatic", interactive=False, verbosity=0)
    assert (tmp_path / "vendor/plotly" / script.name).read_bytes() == script.read_bytes()
    assert {path.name for path in (tmp_path / "vendor/plotly").iterdir()} == {script.name, "LICENSE"}
    assert (tmp_path / "mpet/site.css").is_file()


def test_charts_draw_only_what_the_small_plotly_can(pages):
    kinds = {
        trace["type"]
        for page in pages.values()
        for figure in figures_of(page).values()
        if isinstance(figure, dict)
        for trace in figure.get("data", [])
    }
    assert "scatter" in kinds
    assert kinds <= {"scatter", "bar", "pie"}


def test_the_session_cookie_is_not_set_for_readers(pages):
    assert [address for address, page in pages.items() if "sessionid" in page.cookies] == []
