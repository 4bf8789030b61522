"""Filters and order of a ranking: what they choose, and that page, API and command line choose alike."""

import io
import json
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.urls import reverse

from predictor.predictions.ranking_choice import RankingChoice, alike_rows
from predictor.predictions.rankings import rank_platforms
from predictor.predictions.sliders import title_of
from profiles.models import Platform
from tests.pages import figures_of, store_public, text_of, twin_of

pytestmark = pytest.mark.django_db
WORKLOAD = "app0-section0"


@pytest.fixture(autouse=True)
def public():
    store_public()
    Platform.objects.filter(slug="machine-1").update(
        physical_cores=2, memory_bytes=1 << 30, vendor="AMD", architecture="aarch64", device_class="embedded"
    )
    Platform.objects.filter(slug="machine-2").update(physical_cores=None, memory_bytes=None, vendor=None)


def by_api(client, **query):
    return client.get(reverse("api-rankings"), {"workload": WORKLOAD} | query).json()


def by_page(client, **query):
    return client.get(reverse("ranking"), {"workload": WORKLOAD} | query)


def by_command(*arguments):
    out = io.StringIO()
    call_command("predict", "--workload", WORKLOAD, "--ranking", "--json", *arguments, stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize(
    ("filters", "slugs"),
    [
        ({"min_cores": "4"}, {"machine-0"}),
        ({"max_cores": "4"}, {"machine-1"}),
        ({"min_memory_gib": "0.5"}, {"machine-0", "machine-1"}),
        ({"min_memory_gib": "32"}, {"machine-0"}),
        ({"vendor": "AuthenticAMD"}, {"machine-1"}),
        ({"architecture": "AArch64"}, {"machine-1"}),
        ({"device_class": "embedded"}, {"machine-1"}),
        ({"min_threads": "17"}, set()),
        ({"measured": "false"}, set()),
        ({"measured": "true", "origin": "measured"}, {"machine-0", "machine-1", "machine-2"}),
        ({"origin": "simulated"}, set()),
    ],
)
def test_page_api_and_command_choose_the_same_platforms(client, filters, slugs):
    rows = by_api(client, **filters)["results"]
    assert {row["platform"] for row in rows} == slugs
    assert {row["platform"] for row, _ in by_page(client, **filters).context["rows"]} == slugs
    where = [word for name, value in filters.items() for word in ("--where", f"{name}={value}")]
    assert by_command(*where)["results"] == rows


def test_per_core_the_small_machine_wins_and_unknown_cores_come_last(client):
    rows = by_api(client, by="core_time")["results"]
    assert [row["platform"] for row in rows] == ["machine-1", "machine-0", "machine-2"]
    assert [row["cores"] for row in rows] == [2, 8, None]
    assert rows[0]["core_time_s"] == pytest.approx(2 * rows[0]["time_s"])
    assert [rows[0]["relative"], rows[2]["relative"]] == [1, None]
    page = by_page(client, by="core_time")
    assert [row["platform"] for row, _ in page.context["rows"]] == [row["platform"] for row in rows]
    assert figures_of(page)["ranking"]["data"][0]["x"][:2] == [row["core_time_s"] for row in rows[:2]]
    assert by_command("--by", "core_time")["results"] == rows


def test_at_one_thread_count_all_are_compared_there(client):
    document = by_api(client, n="4")
    assert document["n"] == 4
    assert {row["n_best"] for row in document["results"]} == {4}
    assert {row["measured_n"] for row in document["results"]} == {4}
    assert by_command("--n", "4")["results"] == document["results"]
    page = by_page(client, n="4")
    assert [row["time_s"] for row, _ in page.context["rows"]] == [row["time_s"] for row in document["results"]]
    assert "All with 4 threads" in text_of(page)
    fastest = {row["platform"]: row["time_s"] for row in by_api(client)["results"]}
    assert all(row["time_s"] > fastest[row["platform"]] for row in document["results"])


def test_a_platform_with_fewer_threads_says_so(client):
    document = by_api(client, n="17")
    assert document["results"] == []
    assert {row["reason"] for row in document["refused"]} == {"it has only 16 threads"}
    assert "3 machines have no prediction" in text_of(by_page(client, n="17"))


def test_an_address_holds_every_choice_and_its_twin_and_csv_too(client):
    query = {"workload": WORKLOAD, "by": "core_time", "n": "2", "level": "0.8", "min_cores": "2", "vendor": "amd"}
    page = by_page(client, **query)
    assert all(f"{name}={value}" in twin_of(page) for name, value in query.items())
    twin = client.get(twin_of(page)).json()
    assert [row["platform"] for row in twin["results"]] == ["machine-1"]
    assert twin["settings"]["level"] == 0.8
    lines = client.get(twin_of(page) + "&format=csv").getvalue().decode().splitlines()
    assert ",place,cores,core_time_s,relative,price," in lines[0]
    assert len(lines) == 2
    content = page.content.decode()
    assert '<option value="core_time" selected>' in content
    assert '<details class="more" open>' in content


@pytest.mark.parametrize("wrong", [{"min_cores": "many"}, {"by": "price"}, {"n": "0"}, {"device_class": "toaster"}])
def test_what_is_no_value_is_refused_everywhere(client, wrong):
    (name,) = wrong
    assert by_api(client, **wrong)["errors"][0]["name"] == name
    page = by_page(client, **wrong)
    assert page.status_code == 422
    assert f"{title_of(name)}:" in text_of(page)


def test_a_platform_that_is_not_seen_is_left_out():
    ranking = rank_platforms(WORKLOAD)
    platforms = {row.slug: row for row in Platform.objects.exclude(slug="machine-0")}
    rows = RankingChoice().rows(ranking.results, platforms)
    assert [(row["place"], row["platform"]) for row in rows] == [(1, "machine-1"), (2, "machine-2")]


def machine(**changed):
    facts = {"cpu_model": "EPYC", "physical_cores": 8, "n_max": 16, "memory_bytes": 2**35}
    return SimpleNamespace(**facts | changed)


def timed(platform, time_s, **changed):
    row = {"platform": platform, "time_s": time_s, "high_s": 1.2, "n_best": 16, "measured": False, "cost": None}
    return row | changed


@pytest.mark.parametrize(
    ("other", "machine_changed", "is_alike"),
    [
        ({}, {}, True),
        ({"time_s": 1.3}, {}, False),
        ({"n_best": 8}, {}, False),
        ({"cost": 0.5}, {}, False),
        ({"measured": True}, {}, False),
        ({}, {"memory_bytes": 2**36}, False),
        ({}, {"cpu_model": "Xeon"}, False),
    ],
)
def test_machines_that_differ_in_nothing_that_matters_share_a_row(other, machine_changed, is_alike):
    rows = [timed("a", 1.0), timed("b", 1.1) | other, timed("c", 1.05)]
    platforms = {"a": machine(), "b": machine(**machine_changed), "c": machine(cpu_model="", physical_cores=None)}
    grouped = alike_rows(rows, platforms)
    assert [(first["platform"], [row["platform"] for row in alike]) for first, alike in grouped] == (
        [("a", ["b"]), ("c", [])] if is_alike else [("a", []), ("b", []), ("c", [])]
    )


def test_on_a_fleet_the_page_has_one_row_for_machines_alike(client, monkeypatch):
    monkeypatch.setattr("predictor.pages.ranking.FEWEST_ESTIMATED_PLATFORMS", 1)
    monkeypatch.setattr("predictor.pages.ranking.alike_rows", lambda rows, platforms: [(rows[0], rows[1:])])
    page = by_page(client)
    ((row, _),) = page.context["rows"]
    assert [platform.slug for platform in row["alike"]] == [row["platform"] for row in by_api(client)["results"][1:]]
    assert "and 2 alike" in text_of(page)
