"""`import_prices --as sparecores`, with rows of the columns of sc-crawler's table server_price: as the API's
/server_prices answers them (with region and server), as /server/VENDOR/SERVER/prices does (without), and in SQLite."""

import datetime
import json
import re
import sqlite3
from contextlib import closing
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from profiles.models import Price
from profiles.prices import sparecores
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform

pytestmark = pytest.mark.django_db
MACHINES = ("aws/c7a.large", "hcloud/cax11", "upcloud/2xCPU-4GB", "upcloud/4xCPU-8GB")
# As sc-crawler creates them (alembic: v0.3.3 and later), the columns that other tables have beside left out.
SCHEMA = """
CREATE TABLE server (vendor_id VARCHAR NOT NULL, server_id VARCHAR NOT NULL, name VARCHAR NOT NULL,
    api_reference VARCHAR NOT NULL, PRIMARY KEY (vendor_id, server_id));
CREATE TABLE region (vendor_id VARCHAR NOT NULL, region_id VARCHAR NOT NULL, name VARCHAR NOT NULL,
    api_reference VARCHAR NOT NULL, aliases JSON NOT NULL, PRIMARY KEY (vendor_id, region_id));
CREATE TABLE server_price (vendor_id VARCHAR NOT NULL, region_id VARCHAR NOT NULL, zone_id VARCHAR NOT NULL,
    server_id VARCHAR NOT NULL, operating_system VARCHAR NOT NULL, allocation VARCHAR(8) NOT NULL,
    unit VARCHAR(8) NOT NULL, price FLOAT NOT NULL, price_upfront FLOAT NOT NULL, price_tiered JSON NOT NULL,
    currency VARCHAR NOT NULL, status VARCHAR(8) NOT NULL, observed_at DATETIME NOT NULL,
    PRIMARY KEY (vendor_id, region_id, zone_id, server_id, allocation));
CREATE TABLE _metadata (key VARCHAR NOT NULL, value VARCHAR, PRIMARY KEY (key));
"""


@pytest.fixture(autouse=True)
def platforms():
    deliver(measured([sample_platform(index, name=name) for index, name in enumerate(MACHINES)]))


def price(vendor="aws", server="c7a.large", region="us-east-1", amount=0.10264, **changed):
    """A row as /server/VENDOR/SERVER/prices and /table/server_prices answer it."""
    row = {
        "vendor_id": vendor,
        "region_id": region,
        "zone_id": f"{region}a",
        "server_id": server,
        "operating_system": "Linux",
        "allocation": "ondemand",
        "unit": "hour",
        "price": amount,
        "price_upfront": 0.0,
        "price_tiered": [],
        "currency": "USD",
        "status": "active",
        "observed_at": "2026-06-30T22:10:11.123456",
    }
    return row | changed


def full_price(*, api_reference="cax11", region_reference="fsn1-dc14", aliases=("fsn1",), **row):
    """A row as /server_prices answers it: with the region and the server, whose ids here are numbers."""
    server = {"vendor_id": "hcloud", "server_id": "45", "name": api_reference, "api_reference": api_reference}
    region = {"region_id": "4", "name": region_reference, "api_reference": region_reference, "aliases": list(aliases)}
    named = {"vendor": "hcloud", "server": "45", "region": "4", "currency": "EUR", "amount": 0.0053} | row
    return price(**named) | {"server": server, "region": region, "price_monthly": 3.29}


@pytest.fixture
def written(tmp_path):
    def write(*rows, name="prices.json"):
        (tmp_path / name).write_text(json.dumps(list(rows)))
        return str(tmp_path / name)

    return write


def imported(*files):
    call_command("import_prices", *files, "--as", "sparecores")


def stored():
    return {(row.platform.name, row.amount.normalize(), row.currency, row.region) for row in Price.objects.all()}


def test_prices_of_two_pages_have_machine_region_currency_day_and_source(written, capsys):
    pages = written(price(), price(server="c7a.huge")), written(full_price(), name="page2.json")
    imported(*pages)
    said = capsys.readouterr().out
    assert "prices of aws in us-east-1, hcloud in fsn1; 1 servers match no stored machine" in said
    assert "2 prices are new, 0 changed" in said
    assert stored() == {
        ("aws/c7a.large", Decimal("0.10264"), "USD", "us-east-1"),
        ("hcloud/cax11", Decimal("0.0053"), "EUR", "fsn1"),
    }
    for row in Price.objects.all():
        assert (row.kind, row.per, row.date) == ("on-demand", "hour", datetime.date(2026, 6, 30))
        assert row.source == "Spare Cores, https://sparecores.com"
    imported(*pages)
    assert "0 prices are new, 0 changed" in capsys.readouterr().out


def test_other_kinds_of_prices_are_left_out(written):
    imported(
        written(
            price(allocation="spot", amount=0.01),
            price(allocation="reserved", amount=0.02),
            price(status="inactive", amount=0.03),
            price(unit="month", amount=0.04),
            price(operating_system="Windows", amount=0.05),
            price(amount=0),
        )
    )
    assert not Price.objects.exists()


def test_a_cloud_has_the_region_of_cloudspecs_or_the_one_with_the_most_machines(written):
    small, large = {"vendor": "upcloud", "server": "2xCPU-4GB"}, {"vendor": "upcloud", "server": "4xCPU-8GB"}
    imported(
        written(
            price(region="eu-north-1", amount=0.09),
            price(amount=0.12, zone_id="us-east-1b"),
            price(amount=0.11),
            price(**small, region="de-fra1", amount=0.04),
            price(**small, region="us-chi1", amount=0.05),
            price(**large, region="us-chi1", amount=0.07),
        )
    )
    assert stored() == {
        ("aws/c7a.large", Decimal("0.11"), "USD", "us-east-1"),
        ("upcloud/2xCPU-4GB", Decimal("0.05"), "USD", "us-chi1"),
        ("upcloud/4xCPU-8GB", Decimal("0.07"), "USD", "us-chi1"),
    }


def test_without_a_price_in_that_region_another_is_taken(written):
    imported(written(price(region="eu-west-1", amount=0.2), price(region="ap-south-1", amount=0.1)))
    assert stored() == {("aws/c7a.large", Decimal("0.1"), "USD", "ap-south-1")}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (3, "row 2: not an object"),
        (price(price="0.1"), "row 2: price: '0.1' is not a number"),
        (price(amount=-1), "row 2: price: -1 is negative or too large"),
        (price(amount=True), "row 2: price: 'True' is not a number"),
        (price(currency="dollar"), "row 2: currency: "),
        (price(observed_at="yesterday"), "row 2: observed_at: 'yesterday' is not a time"),
        (price(observed_at=None), "row 2: observed_at: missing"),
        (price(region="r" * 101), "row 2: region: "),
        ({"vendor_id": "aws", "server_id": "c7a.large"}, "row 2: allocation: missing"),
        (price(unit=7), "row 2: unit: '7' is not text"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_stored(written, row, said):
    refused(rf"prices\.json: {re.escape(said)}", written(price(), row))
    assert not Price.objects.exists()


def refused(reason, *files, options=("--as", "sparecores")):
    with pytest.raises(CommandError, match=reason):
        call_command("import_prices", *files, *options)


def test_what_is_no_answer_of_the_api_is_refused(tmp_path, written, monkeypatch):
    path = tmp_path / "prices.json"
    refused(r"prices\.json: file not found", str(path))
    for text, said in (
        ("no JSON", "neither JSON nor an SQLite file"),
        ('{"detail": "Not authenticated"}', "not a list of prices"),
        ('[{"price": NaN}]', "NaN is not a number"),
        ("[" * 200_000, "neither JSON nor an SQLite file"),
    ):
        path.write_text(text)
        refused(said, str(path))
    monkeypatch.setattr(sparecores, "MOST_LISTED_PRICES", 1)
    refused("the files have more than 1 prices", written(price(), price()))
    monkeypatch.setattr(sparecores, "LARGEST_JSON_BYTES", 10)
    refused("request one vendor or one page at a time", written(price()))
    refused("several files need --as sparecores", str(path), str(path), options=())
    dated = ("--as", "sparecores", "--date", "2026-01-01")
    refused("--date needs --as cloudspecs", str(path), options=dated)


def sqlite_file(path, *rows, schema=SCHEMA):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
        connection.execute("INSERT INTO server VALUES ('hcloud', '45', 'cax11', 'cax11')")
        connection.execute("INSERT INTO region VALUES ('hcloud', '4', 'fsn1-dc14', 'fsn1-dc14', '[\"fsn1\"]')")
        for row in rows:
            connection.execute(f"INSERT INTO server_price VALUES ({', '.join('?' * len(row))})", row)
        licence = {"license": "BSL 1.1", "license_url": "https://example.org/bsl", "publisher": "Spare Cores"}
        connection.executemany("INSERT INTO _metadata VALUES (?, ?)", licence.items())
        connection.commit()
    return str(path)


def sqlite_price(zone="4", allocation="ONDEMAND", amount=0.0053, observed="2026-06-30 22:10:11.123456"):
    told = ("hcloud", "4", zone, "45", "Linux", allocation, "HOUR", amount)
    return (*told, 0.0, "[]", "EUR", "ACTIVE", observed)


def test_the_sqlite_file_says_the_same_and_its_licence_is_shown(tmp_path, capsys):
    path = sqlite_file(tmp_path / "sc-data-all.db", sqlite_price(), sqlite_price(allocation="SPOT", amount=0.001))
    before = (tmp_path / "sc-data-all.db").read_bytes()
    imported(path)
    said = capsys.readouterr().out
    assert "licence of sc-data-all.db: BSL 1.1; https://example.org/bsl" in said
    assert stored() == {("hcloud/cax11", Decimal("0.0053"), "EUR", "fsn1")}
    assert Price.objects.get().date == datetime.date(2026, 6, 30)
    assert (tmp_path / "sc-data-all.db").read_bytes() == before


def test_a_bad_row_of_the_sqlite_file_is_named_by_its_key(tmp_path):
    path = sqlite_file(tmp_path / "sc-data-all.db", sqlite_price(observed="never"))
    refused(r"sc-data-all\.db: server_price hcloud 4 4 45: observed_at: 'never'", path)
    (tmp_path / "other.db").write_bytes(b"SQLite format 3\0" + b"x" * 200)
    refused(r"other\.db: cannot be read as the SQLite file of Spare Cores", str(tmp_path / "other.db"))
    other = sqlite_file(tmp_path / "third.db", schema=SCHEMA.replace("observed_at", "seen_at"))
    refused(r"third\.db: .*no such column: price\.observed_at", other)
