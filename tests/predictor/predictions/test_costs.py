"""Costs of a ranking: page, API and command line show the same."""

import datetime
import re
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import ApiToken
from predictor.core.steps import last_step
from predictor.figures.platforms import RUNS_PRICED
from predictor.predictions.ranking_choice import RankingChoice
from predictor.predictions.rankings import RankingQuestion
from profiles.models import Platform, Price, Revision, Workload
from profiles.prices.tables import replace_own_prices, set_price_factor
from tests.pages import figures_of, store_public, text_of, user
from tests.predictor.predictions.test_ranking_choice import by_api, by_command, by_page

pytestmark = pytest.mark.django_db
DAY = datetime.date(2026, 1, 31)


def price(number, amount, **changed):
    values = {"currency": "USD", "per": "hour", "region": "us", "kind": "on-demand", "source": "x", "date": DAY}
    platform = Platform.objects.get(slug=f"machine-{number}")
    return Price.objects.create(platform=platform, amount=amount, **values | changed)


@pytest.fixture(autouse=True)
def public():
    store_public()
    price(0, "3.6")
    price(1, "0.36")


def test_ordered_by_cost_page_api_and_command_agree(client):
    rows = by_api(client, by="cost")["results"]
    costs = [row["cost"] for row in rows]
    assert costs[:2] == sorted(costs[:2])
    assert costs[2] is None
    assert [row["place"] for row in rows] == [1, 2, 3]
    assert rows[1]["relative"] == pytest.approx(costs[1] / costs[0])
    assert by_command("--by", "cost")["results"] == rows
    page = by_page(client, by="cost")
    text = page.content.decode()
    assert '<option value="cost" selected>' in text
    assert "0.36" in text and "USD" in text and "2026-01-31" in text
    assert "cheapest first" in text_of(page)
    assert [row["platform"] for row, _ in page.context["rows"]] == [row["platform"] for row in rows[:2]]
    assert "1 machine has no known price." in text_of(page)
    assert set(figures_of(page)) == {"cost"}  # the chart shows what is ordered
    drawn = [name for trace in figures_of(page)["cost"]["data"] for name in trace["customdata"]]
    assert len(drawn) == 2


def test_the_cheapest_within_a_time_is_one_question(client):
    times = {row["platform"]: row["time_s"] for row in by_api(client)["results"]}
    most = max(times["machine-0"], times["machine-1"]) * 1.001
    page = by_page(client, by="cost", max_time_s=f"{most:.6f}")
    chosen = by_api(client, by="cost", max_time_s=f"{most:.6f}")["results"]
    assert all(row["time_s"] <= most for row in chosen)
    assert f"cheapest within {float(f'{most:.6f}'):g} s" in text_of(page)
    assert [row["platform"] for row, _ in page.context["rows"]] == [
        row["platform"] for row in chosen if row["cost"] is not None
    ]
    assert by_command("--by", "cost", "--where", f"max_time_s={most:.6f}")["results"] == chosen


def test_costs_are_those_of_so_many_runs_that_they_are_no_tiny_number(client):
    page = by_page(client, by="cost")
    costs = [row["cost"] for row, _ in page.context["rows"]]
    runs = page.context["cost_factor"]
    assert min(costs) * runs >= 0.01
    assert not re.search(r"\de-\d", text_of(page))
    assert f"USD per {RUNS_PRICED[runs]}" in text_of(page)


def test_costs_in_an_unknown_unit_are_relative_to_the_least(client):
    Workload.objects.update(time_kind=Workload.TimeKind.RELATIVE)
    Revision.raise_for(None)
    page = by_page(client, by="cost", max_time_s="1000")
    words = text_of(page)
    assert "Cost relative to the lowest" in words and "USD per run" not in words
    assert "cheapest within 1000 (unknown unit)" in words
    assert min(row["cost"] for row, _ in page.context["rows"]) * page.context["cost_factor"] == pytest.approx(1)


def test_budgets_leave_out_what_is_dearer_and_what_has_no_price(client):
    assert [row["platform"] for row in by_api(client, max_price="0.5")["results"]] == ["machine-1"]
    dearest = max(row["cost"] for row in by_api(client)["results"] if row["cost"])
    within = by_api(client, max_cost=str(dearest * 1.01))["results"]
    assert {row["platform"] for row in within} == {"machine-0", "machine-1"}
    assert by_command("--where", "max_price=0.5")["results"] == by_api(client, max_price="0.5")["results"]


def test_the_newest_price_counts_in_one_currency_and_the_cheapest_region():
    price(0, "1.8", date=DAY + datetime.timedelta(days=1))
    price(0, "1.7", region="eu")
    price(0, "0.1", kind="spot")
    price(0, "0.01", kind="purchase", per="once")
    price(2, "5", currency="EUR")
    rows = {row["platform"]: row for row in by_command()["results"]}
    assert (rows["machine-0"]["price"], rows["machine-0"]["price_region"]) == (1.7, "eu")
    assert rows["machine-2"]["price"] is None
    rows = {row["platform"]: row for row in by_command("--where", "region=us", "--where", "price_kind=spot")["results"]}
    assert (rows["machine-0"]["price"], rows["machine-1"]["price"]) == (0.1, None)
    rows = {row["platform"]: row for row in by_command("--where", "currency=eur")["results"]}
    assert (rows["machine-0"]["price"], rows["machine-2"]["price"]) == (None, 5.0)


def test_without_prices_nothing_is_said_of_costs(client):
    Price.objects.all().delete()
    page = by_page(client, by="cost")
    assert "No price of these machines is known, so they are ordered by time." in text_of(page)
    assert "fastest first" in text_of(page)
    assert "cost" not in figures_of(page)
    assert {row["cost"] for row in by_api(client, by="cost")["results"]} == {None}


def test_each_price_has_its_currency_date_and_source_everywhere(client):
    Price.objects.all().delete()
    price(0, "3.6", source="https://example.org/prices")
    rows = {row["platform"]: row for row in by_api(client)["results"]}
    first = rows["machine-0"]
    assert first["cost"] == pytest.approx(3.6 / 3600 * first["time_s"])
    facts = [first[name] for name in ("price", "currency", "price_region", "price_kind", "price_date", "price_source")]
    assert facts == [3.6, "USD", "us", "on-demand", "2026-01-31", "https://example.org/prices"]
    unknown = ("price", "currency", "price_date", "price_source", "cost", "pareto")
    assert {rows["machine-1"][name] for name in unknown} == {None}
    for page in (by_page(client, by="cost"), by_page(client), client.get("/platforms/machine-0/")):
        text = text_of(page)
        assert "USD" in text and "2026-01-31" in text and "example.org/prices" in text
    csv = client.get("/api/v1/rankings/?workload=app0-section0&format=csv").getvalue().decode()
    names = "price,currency,price_region,price_kind,price_date,price_basis,price_source,cost,pareto"
    assert csv.splitlines()[0].endswith(names)
    assert "https://example.org/prices" in csv


def test_the_command_says_by_what_it_ordered(capsys):
    call_command("predict", "--workload", "app0-section0", "--ranking", "--by", "cost")
    assert capsys.readouterr().out.splitlines()[1] == "cheapest first"
    Price.objects.all().delete()
    call_command("predict", "--workload", "app0-section0", "--ranking", "--by", "cost")
    assert capsys.readouterr().out.splitlines()[1] == "fastest first: no price of these platforms is known"


def own_prices_of(name, *lines, factor="1"):
    owner = user(name)
    header = "platform,amount,currency,per,region,kind,source,date"
    replace_own_prices(owner, [f"{line}\n" for line in (header, *lines)], Decimal(factor))
    return owner


OWN = "machine-2,0.01,USD,hour,,on-demand,contract,2026-02-01"


def test_own_prices_and_the_factor_count_for_their_user_alone(client):
    before = by_api(client, by="cost")["results"]
    client.force_login(own_prices_of("ada", OWN, factor="0.5"))
    rows = {row["platform"]: row for row in by_api(client, by="cost")["results"]}
    assert next(iter(rows)) == "machine-2"
    shown = {slug: (row["price"], row["price_basis"]) for slug, row in rows.items()}
    assert shown == {"machine-0": (1.8, "factor"), "machine-1": (0.18, "factor"), "machine-2": (0.01, "own")}
    assert rows["machine-2"]["cost"] == pytest.approx(0.01 / 3600 * rows["machine-2"]["time_s"])
    page = by_page(client, by="cost")
    assert "your price" in text_of(page) and "× your factor" in text_of(page)
    assert by_api(client, by="cost", public_only="true")["results"] == before
    assert "your price" not in text_of(by_page(client, by="cost", public_only="true"))
    client.force_login(user("bob"))
    assert by_api(client, by="cost")["results"] == before


def test_a_token_ranks_by_its_users_prices(client):
    _, secret = ApiToken.issue(own_prices_of("ada", OWN), "upload")
    headers = {"Authorization": f"Bearer {secret}"}
    asked = {"workload": "app0-section0", "by": "cost"}
    rows = client.get("/api/v1/rankings/", asked, headers=headers).json()["results"]
    assert (rows[0]["platform"], rows[0]["price_basis"]) == ("machine-2", "own")


def test_own_prices_are_in_no_kept_page_and_behind_no_etag_of_others(client, settings):
    settings.PAGE_CACHE_SECONDS = 60
    ada = own_prices_of("ada", "machine-0,0.00123,USD,hour,,on-demand,contract,2026-02-01")
    asked = {"workload": "app0-section0", "by": "cost"}
    address = "/api/v1/rankings/"
    public = client.get(address, asked)
    owner = Client()
    owner.force_login(ada)
    pages = ("/ranking/?workload=app0-section0&by=cost", "/platforms/machine-0/", "/workloads/app0-section0/?by=cost")
    for page in pages:
        assert "0.00123" in owner.get(page).content.decode()
        assert "0.00123" not in client.get(page).content.decode()
    own = owner.get(address, asked, headers={"If-None-Match": public["ETag"]})
    assert own.status_code == 200 and own["ETag"] != public["ETag"]
    assert client.get(address, asked, headers={"If-None-Match": own["ETag"]}).status_code == 200
    assert owner.get(address, asked, headers={"If-None-Match": own["ETag"]}).status_code == 304
    set_price_factor(ada, Decimal(2))
    assert owner.get(address, asked, headers={"If-None-Match": own["ETag"]}).status_code == 200
    machine = "/api/v1/platforms/machine-0/"
    assert owner.get(machine).json()["prices"][0]["basis"] == "own"
    assert [row["basis"] for row in client.get(machine).json()["prices"]] == ["published"]
    assert "0.00123" not in client.get("/api/v1/prices/").content.decode()


def test_an_own_price_without_a_region_holds_in_each_and_its_currency_is_the_default(client):
    price(1, "2", region="eu")
    client.force_login(own_prices_of("ada", "machine-2,5,EUR,hour,,on-demand,contract,2026-02-01"))
    rows = {row["platform"]: row["price"] for row in by_api(client)["results"]}
    assert rows == {"machine-0": None, "machine-1": None, "machine-2": 5.0}
    rows = {row["platform"]: row["price"] for row in by_api(client, region="us", currency="EUR")["results"]}
    assert rows["machine-2"] == 5.0


def test_of_many_machines_own_prices_say_which_rows_are_computed(client, monkeypatch):
    """The stored ranking is its user's, and another one after each change of the prices."""
    monkeypatch.setattr("predictor.predictions.rankings.FEWEST_ESTIMATED_PLATFORMS", 1)
    monkeypatch.setattr("predictor.predictions.ranking_rows.RANKED_PER_PAGE", 1)
    ada = own_prices_of("ada", OWN)
    choice = RankingChoice(by="cost")

    def question(viewer, choice=choice):
        return RankingQuestion.of("app0-section0", viewer, choice=choice, page=1)

    def first_computed(asked):
        """Without the fastest, which is computed in every order."""
        results = last_step(asked.steps()).document()["results"]
        fastest = min(results, key=lambda row: row["time_s"])["platform"]
        return {row["platform"] for row in results if not row["estimated"]} - {fastest}

    public, own = question(None), question(ada)
    assert first_computed(public) == {"machine-1"}
    assert first_computed(own) == {"machine-2"}
    assert own.snapshot.holds_private and not public.snapshot.holds_private
    assert not question(ada, RankingChoice()).snapshot.holds_private  # prices decide nothing: shared with all
    again = RankingQuestion.from_canonical(own.canonical(), ada)
    assert again.canonical() == own.canonical() and first_computed(again) == {"machine-2"}
    set_price_factor(ada, Decimal(2))
    assert question(ada).canonical() != own.canonical()
