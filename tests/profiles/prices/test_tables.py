from datetime import date

import pytest
from django.core.management import CommandError, call_command

from profiles.models import Platform, Price, Revision
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform

pytestmark = pytest.mark.django_db
HEADER = "platform,amount,currency,per,region,kind,source,date"


@pytest.fixture(autouse=True)
def platforms():
    deliver(measured([sample_platform(name="aws/c7g.large"), sample_platform(name="aws/c7g.xlarge")]))


def imported(tmp_path, *lines, header=HEADER):
    path = tmp_path / "prices.csv"
    path.write_text("\n".join((header, *lines)) + "\n")
    call_command("import_prices", str(path))


def large():
    return Platform.objects.get(name="aws/c7g.large")


def test_prices_are_stored_and_the_same_table_changes_nothing(tmp_path, capsys):
    lines = (
        "aws/c7g.large,0.0725,USD,hour,us-east-1,on-demand,https://example.org/prices,2026-01-31",
        f"{large().slug},0.03,USD,hour,us-east-1,spot,https://example.org/prices,2026-01-31",
        "aws/c7g.xlarge,900,EUR,once,,purchase,a shop,2026-02-01",
    )
    imported(tmp_path, *lines)
    assert "3 prices are new, 0 changed" in capsys.readouterr().out
    before = Revision.current()
    imported(tmp_path, *lines)
    assert "0 prices are new, 0 changed" in capsys.readouterr().out
    assert Revision.current() == before
    assert Price.objects.count() == 3
    price = Price.objects.get(kind="on-demand")
    assert (str(price), price.date, price.region) == ("0.0725 USD per hour", date(2026, 1, 31), "us-east-1")


def test_a_price_of_the_same_day_is_corrected_and_of_another_is_newer(tmp_path, capsys):
    line = "aws/c7g.large,{},USD,hour,us-east-1,on-demand,x,{}"
    for amount, day in (("2", "2026-02-01"), ("3", "2026-01-31"), ("4", "2026-02-01")):
        imported(tmp_path, line.format(amount, day))
    assert "0 prices are new, 1 changed" in capsys.readouterr().out
    assert [str(price.amount.normalize()) for price in large().prices.newest()] == ["4"]
    assert large().prices.count() == 2


def test_prices_change_what_pages_show(tmp_path, client):
    address = f"/platforms/{large().slug}/"
    before = client.get(f"/api/v1{address}")
    assert before.json()["prices"] == []
    imported(tmp_path, "aws/c7g.large,0.0725,USD,hour,us-east-1,on-demand,https://example.org/p,2026-01-31")
    after = client.get(f"/api/v1{address}", headers={"If-None-Match": before["ETag"]})
    assert after.status_code == 200
    assert after.json()["prices"] == [
        {
            **{"platform": large().slug, "amount": "0.07250000", "currency": "USD", "per": "hour"},
            **{"region": "us-east-1", "kind": "on-demand", "source": "https://example.org/p", "date": "2026-01-31"},
            "basis": "published",
        }
    ]
    page = client.get(address).content.decode()
    assert "0.0725 USD per hour" in page
    assert "2026-01-31" in page
    assert 'href="https://example.org/p"' in page


def test_the_list_of_prices_is_filtered(tmp_path, client):
    line = "aws/c7g.{},{},{},hour,{},on-demand,x,{}"
    imported(
        tmp_path,
        line.format("large", 1, "USD", "us", "2026-01-01"),
        line.format("large", 2, "USD", "us", "2026-01-02"),
        line.format("xlarge", 3, "EUR", "eu", "2026-01-01"),
    )

    def amounts(**query):
        return [row["amount"][:1] for row in client.get("/api/v1/prices/", query).json()["results"]]

    assert sorted(amounts()) == ["1", "2", "3"]
    assert sorted(amounts(latest="true")) == ["2", "3"]
    assert amounts(currency="eur") == ["3"]
    assert amounts(platform=large().slug, ordering="amount") == ["1", "2"]
    assert amounts(region="eu") == ["3"]


GOOD = "aws/c7g.large,1,USD,hour,,on-demand,x,2026-01-01"
BAD = {  # what is replaced in a good line, by what, and what is said of it
    "platform": ("aws/c7g.large", "nowhere", "'nowhere' is not the slug or unique name of a public platform"),
    "no number": (",1,", ",much,", "amount 'much' is not a number"),
    "NaN": (",1,", ",NaN,", "amount"),
    "negative": (",1,", ",-1,", "amount: Ensure this value is greater"),
    "huge": (",1,", ",1e30,", "amount"),
    "currency": ("USD", "dollars", "currency"),
    "per": ("hour", "year", "per: Value 'year' is not a valid choice"),
    "kind": ("on-demand", "free", "kind: Value 'free' is not a valid choice"),
    "purchase": ("on-demand", "purchase", "kind purchase cannot have per hour"),
    "source": (",x,", ",,", "source: This field cannot be blank"),
    "date": ("2026-01-01", "yesterday", "date 'yesterday' is not a date"),
    "short": (",hour,,on-demand,x,2026-01-01", "", "the number of cells differs"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_line_is_told_and_nothing_is_stored(case, tmp_path):
    old, new, reason = BAD[case]
    assert GOOD.count(old) == 1
    with pytest.raises(CommandError, match=f"line 2: {reason}"):
        imported(tmp_path, GOOD.replace(old, new), GOOD)
    assert not Price.objects.exists()


def test_a_table_without_a_column_is_refused(tmp_path):
    with pytest.raises(CommandError, match="line 1: column 'date' is missing"):
        imported(tmp_path, header=HEADER.removesuffix(",date"))


def test_a_private_platform_has_no_price(tmp_path, client, alice):
    deliver(measured([sample_platform(name="secret")]), owner=alice, private=True)
    with pytest.raises(CommandError, match="'secret' is not the slug or unique name of a public platform"):
        imported(tmp_path, "secret,1,USD,hour,,on-demand,x,2026-01-01")
    Price.objects.create(
        platform=Platform.objects.get(name="secret"),
        **{"amount": 7, "currency": "USD", "per": "hour", "kind": "spot", "source": "x", "date": "2026-01-01"},
    )
    assert client.get("/api/v1/prices/").json()["count"] == 0
