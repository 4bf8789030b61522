"""Prices from the DuckDB file of Cloudspecs (https://github.com/TUM-DIS/cloudspecs, MIT licence).

The file has one table per cloud, named CLOUD_all, all with the same columns. The prices are on-demand prices of Linux
machines in USD per hour, in one region per cloud (datagen/README.md there). The file does not contain their date.
"""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from profiles.models import Price
from profiles.prices.tables import PlatformNames, PriceFileError

SOURCE = "https://github.com/TUM-DIS/cloudspecs"
CURRENCY = "USD"
COLUMNS_READ = ("instance", "price_hour")
PRICE_DIGITS = 8
# cloud -> pattern of the platform names (fetch_data uses the names of Spare Cores), and the region of the prices
CLOUDS = {
    "aws": ("aws/{}", "us-east-1"),
    "gcp": ("gcp/{}", "us-central1"),
    "azure": ("azure/Standard_{}", "eastus"),
    "stackit": ("stackit/{}", "eu01"),
    "ovh": ("ovh/{}", ""),
    "oracle": ("oracle/{}", ""),
    "hetzner": ("hcloud/{}", "fsn1"),
}
INSTALL = "pip install -r requirements-cloudspecs.txt"


def read_cloudspecs(path: Path, date: datetime.date) -> tuple[list[Price], int]:
    """Return the prices of public machines in the file, unsaved, and the number of instances without a stored machine.

    `date` is the date of the prices. Raise PriceFileError.
    """
    try:
        duckdb: Any = importlib.import_module("duckdb")
    except ImportError as error:
        raise PriceFileError(f"this format needs duckdb: {INSTALL}") from error
    if not path.is_file():
        raise PriceFileError("file not found")
    try:
        # Forbid access to other files, which views in the file could read.
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as connection:
            rows = list(_priced_instances(connection))
    except duckdb.Error as error:
        raise PriceFileError(f"it cannot be read as a DuckDB file: {error}") from error
    machines = PlatformNames()
    prices, unknown = [], 0
    for name, region, amount in rows:
        platform = machines.find(name)
        if platform is None:
            unknown += 1
            continue
        common = {"region": region, "currency": CURRENCY, "per": Price.Per.HOUR, "kind": Price.Kind.ON_DEMAND}
        prices.append(Price(platform=platform, amount=amount, source=SOURCE, date=date, **common))
    return prices, unknown


def _priced_instances(connection: Any) -> Iterator[tuple[str, str, Decimal]]:
    """Yield the name, region and price per hour of each instance that has a price. Raise PriceFileError."""
    tables = {row[0] for row in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()}
    clouds = [cloud for cloud in CLOUDS if f"{cloud}_all" in tables]
    if not clouds:
        raise PriceFileError(f"it has none of the tables {', '.join(f'{cloud}_all' for cloud in CLOUDS)}")
    for cloud in clouds:
        columns = {row[0] for row in connection.execute(f"DESCRIBE {cloud}_all").fetchall()}
        if missing := [name for name in COLUMNS_READ if name not in columns]:
            noun = "columns" if len(missing) > 1 else "column"
            raise PriceFileError(f"table {cloud}_all lacks the {noun} {', '.join(missing)}")
        named, region = CLOUDS[cloud]
        priced = f"SELECT instance, price_hour FROM {cloud}_all WHERE price_hour > 0 ORDER BY instance"  # noqa: S608
        for instance, amount in connection.execute(priced).fetchall():
            yield named.format(instance), region, round(Decimal(str(amount)), PRICE_DIGITS)
