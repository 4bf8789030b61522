"""Rankings of many platforms: rows that are looked at are computed, the others estimated, and both are told apart."""

import io
import json
from dataclasses import replace
from operator import itemgetter

import pytest
from django.core.management import call_command
from django.urls import reverse

from predictor.computations import asking
from predictor.models import Computation
from predictor.predictions import ranking_rows, rankings
from predictor.predictions.ranking_choice import RankingChoice
from predictor.predictions.ranking_rows import estimated_rows
from predictor.predictions.rankings import RankingQuestion, rank_platforms
from profiles.jobs.queue import take_up
from profiles.models import Platform, Price
from tests.mpet_site.api_samples import make_user, store
from tests.pages import text_of
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
WORKLOAD = "app0-section0"
PLATFORMS, PER_PAGE = 9, 2


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """Nine platforms count as many, of which two are a page."""
    store(sample_measurements(PLATFORMS, 6))
    monkeypatch.setattr("predictor.predictions.rankings.FEWEST_ESTIMATED_PLATFORMS", PLATFORMS)
    monkeypatch.setattr("predictor.pages.ranking.RANKED_PER_PAGE", PER_PAGE)  # first: importing it copies the next
    monkeypatch.setattr(ranking_rows, "RANKED_PER_PAGE", PER_PAGE)


def exact_rows(**choices):
    return {row["platform"]: row for row in rank_platforms(WORKLOAD, **choices).results}


@pytest.mark.parametrize("page", [1, 2, 4])
def test_the_rows_of_a_page_are_those_of_single_predictions(page):
    ranking = rank_platforms(WORKLOAD, page=page)
    exact = exact_rows()
    assert len(ranking.results) == PLATFORMS
    shown = ranking.results[PER_PAGE * (page - 1) : PER_PAGE * page]
    assert [row["estimated"] for row in shown] == [False] * PER_PAGE
    for row in ranking.results:
        assert row["estimated"] or row == exact[row["platform"]]
        assert not row["estimated"] or row["low_s"] is row["high_s"] is None
    measured = ("measured", "measured_time_s", "measured_n")
    assert all(row[name] == exact[row["platform"]][name] for row in ranking.results for name in measured)
    assert [row["time_s"] for row in ranking.results] == sorted(row["time_s"] for row in ranking.results)


def test_only_what_is_looked_at_is_computed(computed):
    ranking = rank_platforms(WORKLOAD, page=1)
    assert PER_PAGE <= len(computed) < PLATFORMS
    assert {row["platform"] for row in ranking.results if not row["estimated"]} == set(computed)


def test_an_estimate_that_is_too_slow_hides_no_fast_machine(monkeypatch):
    """The estimate of the fastest one is slower than two others, a page, are. As one of these was missed, too, it is
    computed."""
    exact = exact_rows()
    fastest, second, *others = sorted(exact, key=lambda slug: exact[slug]["time_s"])
    slow_s = exact[others[-1]]["time_s"]
    times = dict.fromkeys(exact, 99 * slow_s) | {second: 1.1 * slow_s, others[-1]: 1.1 * slow_s}
    times[fastest] = 1.15 * slow_s
    rows_of = ranking_rows.estimated_rows
    monkeypatch.setattr(
        ranking_rows,
        "estimated_rows",
        lambda question: [{**row, "time_s": times[row["platform"]]} for row in rows_of(question)],
    )
    monkeypatch.setattr(ranking_rows, "RANKED_PER_PAGE", 2)
    first, *_ = rank_platforms(WORKLOAD, page=1).results
    assert (first["platform"], first["estimated"]) == (fastest, False)


def test_filters_apply_before_anything_is_computed(computed):
    Platform.objects.filter(slug__in=["machine-3", "machine-7"]).update(device_class="embedded")
    choice = RankingChoice.of({"device_class": "embedded"})
    ranking = rank_platforms(WORKLOAD, page=1, choice=choice)
    assert sorted(computed) == ["machine-3", "machine-7"]
    assert {row["platform"] for row in ranking.results if not row["estimated"]} == {"machine-3", "machine-7"}
    assert len(ranking.results) == PLATFORMS  # places are among all


def test_the_first_of_the_order_asked_for_and_the_fastest_of_all_are_computed():
    by_core_time = RankingChoice.of({"by": "core_time"})
    Platform.objects.update(physical_cores=16)
    Platform.objects.filter(slug="machine-5").update(physical_cores=1)
    ranking = rank_platforms(WORKLOAD, page=1, choice=by_core_time)
    assert not next(row for row in ranking.results if row["platform"] == "machine-5")["estimated"]
    Platform.objects.update(physical_cores=1)
    fastest = rank_platforms(WORKLOAD, page=1).results[0]["platform"]
    Platform.objects.filter(slug=fastest).update(physical_cores=16)
    ranking = rank_platforms(WORKLOAD, page=1, choice=by_core_time)
    assert not min(ranking.results, key=itemgetter("time_s"))["estimated"]


def test_the_cheapest_first_without_prices_are_the_fastest_computed_and_relative_to_the_first(client):
    page = client.get(reverse("ranking"), {"workload": WORKLOAD, "by": "cost"})
    text = text_of(page)
    assert "No price of these machines is known, so they are ordered by time." in text
    assert [row["estimated"] for row, _ in page.context["rows"]] == [False, False]
    assert " 1× " in text and "–×" not in text


def test_the_fastest_machine_is_computed_even_if_its_price_is_unknown(client):
    slowest = rank_platforms(WORKLOAD).results[-1]["platform"]
    values = {"currency": "USD", "per": "hour", "kind": "on-demand", "date": "2026-11-01"}
    Price.objects.create(platform=Platform.objects.get(slug=slowest), amount=1, **values)
    page = client.get(reverse("ranking"), {"workload": WORKLOAD, "by": "cost"})
    assert [row["platform"] for row, _ in page.context["rows"]] == [slowest]
    assert page.context["fastest"]["platform"] == rank_platforms(WORKLOAD).results[0]["platform"]


def test_an_estimate_is_not_called_the_fastest(client, monkeypatch):
    """As long as rows are computed, the page shows those before."""
    monkeypatch.setattr(ranking_rows.RowOrder, "still_to_compute", lambda self: [])
    page = client.get(reverse("ranking"), {"workload": WORKLOAD})
    assert page.context["fastest"] is None
    assert "What to measure next for" not in text_of(page)


def test_without_a_page_and_by_methods_that_estimate_nothing_all_are_computed(computed):
    for choices in ({"page": None}, {"page": 1, "method": "mpet2020"}):
        computed.clear()
        ranking = rank_platforms(WORKLOAD, **choices)
        assert len(computed) == PLATFORMS
        assert not any(row["estimated"] for row in ranking.results)


def test_a_thread_count_that_a_platform_does_not_take_is_refused():
    Platform.objects.filter(slug="machine-4").update(n_max=2)
    ranking = rank_platforms(WORKLOAD, page=1, n=4)
    assert {"platform": "machine-4", "reason": "it has only 2 threads", "lacks": None} in ranking.refused
    assert {row["n_best"] for row in ranking.results} == {4}


def test_a_platform_that_lacks_something_is_refused_by_the_word_of_the_method():
    question = RankingQuestion.of(WORKLOAD, page=1)
    words = ("benchmark", *[""] * (PLATFORMS - 1))
    method = replace(question.method, lacks_by_target=lambda database, workload: words)
    rows = estimated_rows(replace(question, method=method))
    assert (rows[0]["lacks"], rows[0]["reason"]) == ("benchmark", "no other workload was measured there")
    assert all(row["estimated"] for row in rows[1:])


def test_what_cannot_be_estimated_is_computed_first(monkeypatch, computed):
    estimate = ranking_rows.kept_estimates

    def all_but_one(*asked):
        for found in estimate(*asked):
            found.time_s[6] = float("nan")
            yield found

    monkeypatch.setattr(ranking_rows, "kept_estimates", all_but_one)
    rank_platforms(WORKLOAD, page=1)
    assert computed[0] == "machine-6"


def test_each_page_and_choice_is_a_question_of_its_own_and_comes_back_from_its_canonical_form():
    asked = [
        RankingQuestion.of(WORKLOAD, page=1),
        RankingQuestion.of(WORKLOAD, page=2),
        RankingQuestion.of(WORKLOAD, page=1, choice=RankingChoice.of({"min_cores": "4"})),
        RankingQuestion.of(WORKLOAD, page=1, choice=RankingChoice.of({"by": "core_time"})),
        RankingQuestion.of(WORKLOAD),
        RankingQuestion.of([WORKLOAD, "app0-section1"], serial_rest="app1-section0", n=2, level=0.8),
    ]
    canonical = [json.dumps(question.canonical(), sort_keys=True) for question in asked]
    assert len(set(canonical)) == len(asked)
    for text, question in zip(canonical, asked, strict=True):
        again = RankingQuestion.from_canonical(json.loads(text), None)
        assert json.dumps(again.canonical(), sort_keys=True) == text
        assert next(again.steps()).document() == next(question.steps()).document()


def test_behind_the_request_it_goes_on_where_it_was_left(client, started, computed):
    address = reverse("api-rankings")
    assert client.get(address, {"workload": WORKLOAD}).status_code == 202
    assert take_up("computations") == 1
    answer = client.get(address, {"workload": WORKLOAD})
    assert answer.status_code == 200
    stored = Computation.objects.get().document
    assert [row["platform"] for row in answer.json()["results"]] == [row["platform"] for row in stored["results"]]
    steps = RankingQuestion.of(WORKLOAD, page=1).steps(stored)
    before = len(computed)
    *_, last = steps
    assert last.done == PER_PAGE
    assert last.document() == stored
    assert len(computed) == before


def test_a_request_can_stop_while_the_rows_are_estimated(client, started, monkeypatch):
    """The estimates of 3,400 machines take 5 s."""
    monkeypatch.setattr(asking, "steps_within", lambda steps, seconds: (next(steps), False))
    page = client.get(reverse("ranking"), {"workload": WORKLOAD})
    assert (page.status_code, page.context["rows"]) == (200, [])
    assert client.get(reverse("api-rankings"), {"workload": WORKLOAD}).status_code == 202
    assert Computation.objects.get().document is None
    assert take_up("computations") == 1
    assert Computation.objects.get().document == rank_platforms(WORKLOAD, page=1).document()


@pytest.mark.parametrize(
    ("choices", "name", "limit"), [({"method": "mpet2020"}, "method", 8), ({"exact": "true"}, "exact", 4)]
)
def test_visitors_start_no_computation_of_all_rows_of_many_platforms(client, monkeypatch, choices, name, limit):
    """All rows of 3,400 machines take 2 minutes by mpet, and 6 minutes to hours by other methods."""
    monkeypatch.setattr(rankings, "MOST_PLATFORMS_OF_VISITORS", 4)
    question = {"workload": WORKLOAD, **choices}
    answer = client.get(reverse("api-rankings"), question)
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error["name"] == name
    assert f"at most {limit} machines without an account, and there are {PLATFORMS}" in error["reason"]
    page = client.get(reverse("ranking"), question)
    assert page.status_code == (422 if name == "method" else 200)  # the page has no `exact`
    client.force_login(make_user("ada"))
    assert client.get(reverse("api-rankings"), question).status_code == 200
    assert client.get(reverse("ranking"), question).status_code == 200


def test_page_api_and_command_say_which_rows_are_estimates(client):
    rows = client.get(reverse("api-rankings"), {"workload": WORKLOAD, "page": 2}).json()["results"]
    assert [row["estimated"] for row in rows[PER_PAGE : 2 * PER_PAGE]] == [False] * PER_PAGE
    assert any(row["estimated"] for row in rows)
    every = client.get(reverse("api-rankings"), {"workload": WORKLOAD, "exact": "true"}).json()["results"]
    assert not any(row["estimated"] for row in every)
    page = client.get(reverse("ranking"), {"workload": WORKLOAD, "page": 2})
    assert [row["estimated"] for row, _ in page.context["rows"]] == [False] * PER_PAGE
    assert "those of other pages when you open them" in text_of(page)
    out = io.StringIO()
    call_command("predict", "--workload", WORKLOAD, "--ranking", "--page", "2", stdout=out)
    assert "estimate" in out.getvalue()
    out = io.StringIO()
    call_command("predict", "--workload", WORKLOAD, "--ranking", "--exact", stdout=out)
    assert "estimate" not in out.getvalue()
