"""`import_prices --as cloudspecs`, with a DuckDB file of the columns that the project documents."""

import datetime
import os
import sys

import pytest
from django.core.management import CommandError, call_command

from profiles.models import Price
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform

pytestmark = pytest.mark.django_db
COLUMNS = "instance VARCHAR, family VARCHAR, category VARCHAR, price_hour DOUBLE, ram_gib DOUBLE, vcpus BIGINT"


@pytest.fixture(autouse=True)
def platforms():
    names = ("aws/c7a.large", "azure/Standard_D2s_v5", "hcloud/cax11")
    deliver(measured([sample_platform(index, name=name) for index, name in enumerate(names)]))


@pytest.fixture
def stored(tmp_path):
    """Writes a file: the rows (instance, price) of each cloud's table."""

    def store(columns=COLUMNS, name="cloudspecs.duckdb", **clouds):
        import duckdb  # noqa: PLC0415  an optional requirement, which another test takes away

        path = tmp_path / name
        with duckdb.connect(str(path)) as connection:
            for cloud, rows in clouds.items():
                connection.execute(f"CREATE TABLE {cloud}_all ({columns})")
                for instance, amount in rows:
                    values = [instance, "f", "c", amount, 8.0, 4]
                    connection.execute(f"INSERT INTO {cloud}_all VALUES (?, ?, ?, ?, ?, ?)", values)
        return path

    return store


def test_prices_have_machine_currency_region_day_and_source(stored, capsys):
    path = stored(
        aws=[("c7a.large", 0.10264), ("c7a.huge", 9.9)],
        azure=[("D2s_v5", 0.096), ("D4s_v5", None)],
        hetzner=[("cax11", 0.010973)],
    )
    call_command("import_prices", str(path), "--as", "cloudspecs", "--date", "2026-07-22")
    said = capsys.readouterr().out
    assert "prices of 2026-07-22, in USD; 1 instances match no stored machine" in said
    assert "3 prices are new, 0 changed" in said
    told = {
        (price.platform.name, float(price.amount), price.region)
        for price in Price.objects.filter(currency="USD", per="hour", kind="on-demand", date="2026-07-22")
    }
    assert told == {
        ("aws/c7a.large", 0.10264, "us-east-1"),
        ("azure/Standard_D2s_v5", 0.096, "eastus"),
        ("hcloud/cax11", 0.010973, "fsn1"),
    }
    assert set(Price.objects.values_list("source", flat=True)) == {"https://github.com/TUM-DIS/cloudspecs"}
    call_command("import_prices", str(path), "--as", "cloudspecs", "--date", "2026-07-22")
    assert "0 prices are new, 0 changed" in capsys.readouterr().out


def test_without_a_date_it_is_the_day_on_which_the_file_was_written(stored):
    path = stored(aws=[("c7a.large", 1.0)])
    noon = datetime.datetime(2026, 5, 4, 12).timestamp()
    os.utime(path, (noon, noon))
    call_command("import_prices", str(path), "--as", "cloudspecs")
    assert Price.objects.get().date == datetime.date(2026, 5, 4)


def refused(path, reason, *options):
    with pytest.raises(CommandError, match=reason):
        call_command("import_prices", str(path), *(options or ("--as", "cloudspecs")))
    assert not Price.objects.exists()


def test_what_is_no_file_of_that_project_is_refused(stored, tmp_path):
    columns = COLUMNS.replace("price_hour", "price")
    refused(stored(columns, aws=[]), "table aws_all lacks the column price_hour")
    refused(stored(name="other.duckdb", spare=[]), "it has none of the tables aws_all, gcp_all")
    path = tmp_path / "prices.duckdb"
    refused(path, f"^{path} was not imported: No such file or directory$")
    refused(path, "was not imported: file not found", "--as", "cloudspecs", "--date", "2026-01-01")
    path.write_text("no database")
    refused(path, "it cannot be read as a DuckDB file")
    refused(path, "--date needs --as cloudspecs", "--date", "2026-01-01")


def test_without_duckdb_it_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "prices.duckdb"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    refused(path, r"this format needs duckdb: pip install -r requirements-cloudspecs\.txt")
