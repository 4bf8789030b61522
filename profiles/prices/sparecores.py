"""Prices of Spare Cores (https://sparecores.com), from responses of its API (/server_prices) or from its SQLite file.

Both have the columns of the table server_price of https://github.com/SpareCores/sc-crawler. The licence of the data
does not allow everybody to publish it. docs/commands.md describes what it permits.
"""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError

from profiles.models import Price
from profiles.prices.cloudspecs import CLOUDS, PRICE_DIGITS
from profiles.prices.tables import MOST_COMPLAINTS, PlatformNames, PriceFileError, PriceTableError

SPARE_CORES = "Spare Cores, https://sparecores.com"
LARGEST_JSON_BYTES = 128 * 1024**2
MOST_LISTED_PRICES = 2_000_000
SQLITE_HEADER = b"SQLite format 3\0"
# Use the region that Cloudspecs documents for a cloud, so that both sources have prices of the same region.
DOCUMENTED_REGIONS = {named.partition("/")[0]: region for named, region in CLOUDS.values() if region}
TAKEN = {"allocation": "ondemand", "unit": "hour", "status": "active", "operating_system": "linux"}
LEAST_TOO_LARGE = 10**10
# SQLite has the names of the enumerations (ONDEMAND), the API their values (ondemand).
PRICES_OF_SQLITE = """
    SELECT price.vendor_id, price.region_id, price.zone_id, price.server_id, price.operating_system, price.allocation,
           price.unit, price.price, price.currency, price.status, price.observed_at,
           server.api_reference AS server, region.api_reference AS region, region.aliases
    FROM server_price AS price
    JOIN server ON server.vendor_id = price.vendor_id AND server.server_id = price.server_id
    JOIN region ON region.vendor_id = price.vendor_id AND region.region_id = price.region_id
    WHERE price.allocation = 'ONDEMAND' AND price.unit = 'HOUR' AND price.status = 'ACTIVE'
"""


@dataclass
class SpareCoresPrices:
    """The content of the files: unsaved prices, the region of each cloud, the number of unknown machines, and the
    licences."""

    prices: list[Price] = field(default_factory=list)
    regions: dict[str, str] = field(default_factory=dict)
    unknown: int = 0
    licences: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ListedPrice:
    cloud: str
    machine: str
    region: str
    amount: Decimal
    currency: str
    date: datetime.date


def read_sparecores(paths: Sequence[Path]) -> SpareCoresPrices:
    """Return on-demand prices per hour of public Linux machines. Raise PriceFileError and PriceTableError.

    Each cloud has prices of one region: the region that Cloudspecs documents, or if the files have no price there, the
    region with the most machines. Of the zones of a region, the cheapest counts.
    """
    read = SpareCoresPrices()
    complaints: list[str] = []
    offers: list[ListedPrice] = []
    for where, row in _rows(paths, read.licences):
        offer = _read_offer(row, where, complaints)
        if len(complaints) >= MOST_COMPLAINTS:
            break
        if offer is not None:
            offers.append(offer)
    if complaints:
        raise PriceTableError(complaints)
    machines = PlatformNames()
    known = [offer for offer in offers if machines.find(offer.machine) is not None]
    read.unknown = len({offer.machine for offer in offers}) - len({offer.machine for offer in known})
    read.regions = _choose_regions(known)
    cheapest: dict[tuple[str, str], ListedPrice] = {}
    for offer in sorted(known, key=lambda offer: (offer.amount, offer.date)):
        if offer.region == read.regions[offer.cloud]:
            cheapest.setdefault((offer.machine, offer.currency), offer)
    for (machine, currency), offer in sorted(cheapest.items()):
        common = {"region": offer.region, "currency": currency, "per": Price.Per.HOUR, "kind": Price.Kind.ON_DEMAND}
        platform = machines.find(machine)
        read.prices.append(Price(platform=platform, amount=offer.amount, source=SPARE_CORES, date=offer.date, **common))
    return read


def _choose_regions(offers: Iterable[ListedPrice]) -> dict[str, str]:
    """Return the region of the prices for each cloud. Among regions with equally many machines, the first by name is
    used."""
    machines: dict[str, Counter[str]] = {}
    for cloud, region, _ in sorted({(offer.cloud, offer.region, offer.machine) for offer in offers}):
        machines.setdefault(cloud, Counter())[region] += 1
    return {
        cloud: DOCUMENTED_REGIONS[cloud] if DOCUMENTED_REGIONS.get(cloud) in counted else counted.most_common(1)[0][0]
        for cloud, counted in machines.items()
    }


def _rows(paths: Sequence[Path], licences: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield each row of the files in the form of the API, with its place in the file, and collect the files' licences.

    Raise PriceFileError.
    """
    count = 0
    for path in paths:
        if not path.is_file():
            raise PriceFileError(f"{path.name}: file not found")
        with path.open("rb") as file:
            is_sqlite = file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
        for row in _rows_of_sqlite(path, licences) if is_sqlite else _rows_of_json(path):
            count += 1
            if count > MOST_LISTED_PRICES:
                raise PriceFileError(f"{path.name}: the files have more than {MOST_LISTED_PRICES:,} prices")
            yield row


def _rows_of_json(path: Path) -> Iterator[tuple[str, Any]]:
    if path.stat().st_size > LARGEST_JSON_BYTES:
        raise PriceFileError(
            f"{path.name}: larger than {LARGEST_JSON_BYTES >> 20} MiB: request one vendor or one page at a time"
        )
    try:
        answer = json.loads(path.read_bytes(), parse_float=Decimal, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise PriceFileError(f"{path.name}: neither JSON nor an SQLite file: {error}") from error
    if not isinstance(answer, list):
        raise PriceFileError(f"{path.name}: not a list of prices, as /server_prices returns it")
    for number, row in enumerate(answer, start=1):
        yield f"{path.name}: row {number}", row


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _rows_of_sqlite(path: Path, licences: list[str]) -> Iterator[tuple[str, Any]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            licences += _licence_of(connection, path)
            connection.row_factory = sqlite3.Row
            for row in connection.execute(PRICES_OF_SQLITE):
                fields = dict(row)
                fields["server"] = {"api_reference": row["server"]}
                fields["region"] = {"api_reference": row["region"], "aliases": json.loads(row["aliases"] or "[]")}
                key = " ".join(str(fields[name]) for name in ("vendor_id", "region_id", "zone_id", "server_id"))
                yield f"{path.name}: server_price {key}", fields
    except (sqlite3.Error, ValueError) as error:
        raise PriceFileError(f"{path.name}: cannot be read as the SQLite file of Spare Cores: {error}") from error


def _licence_of(connection: sqlite3.Connection, path: Path) -> list[str]:
    """Return the licence in the file's table of metadata."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_metadata'").fetchone():
        return []
    facts = dict(connection.execute("SELECT key, value FROM _metadata LIMIT 100"))
    texts = [f"{facts[name]}"[:1000] for name in ("license", "license_url", "additional_use_grant") if facts.get(name)]
    return [f"{path.name}: {'; '.join(texts)}"] if texts else []


def _read_offer(row: Any, where: str, complaints: list[str]) -> ListedPrice | None:
    """Return the price of the row. Return None for another kind of price, and for an invalid row, which adds a
    complaint."""
    try:
        if not isinstance(row, Mapping):
            raise ValueError("not an object")
        if any(_text(row, name).lower() != taken for name, taken in TAKEN.items()):
            return None
        price = row.get("price")
        if isinstance(price, bool) or not isinstance(price, int | float | Decimal):
            raise ValueError(f"price: {str(price)[:40]!r} is not a number")
        if not 0 <= price < LEAST_TOO_LARGE:
            raise ValueError(f"price: {str(price)[:40]} is negative or too large")
        if price == 0:
            return None
        cloud, observed = _text(row, "vendor_id"), _text(row, "observed_at")
        server, region = row.get("server"), row.get("region")
        region_name = _text(region, "api_reference") if isinstance(region, Mapping) else _text(row, "region_id")
        aliases = region.get("aliases") or [] if isinstance(region, Mapping) else []
        documented = DOCUMENTED_REGIONS.get(cloud)
        if isinstance(aliases, list) and documented in aliases:
            region_name = str(documented)
        name = _text(server, "api_reference") if isinstance(server, Mapping) else _text(row, "server_id")
        amount, currency = round(Decimal(str(price)), PRICE_DIGITS), _text(row, "currency")
        Price(region=region_name, currency=currency, amount=amount).clean_fields(
            exclude=["platform", "per", "kind", "source", "date"]
        )
        return ListedPrice(cloud, f"{cloud}/{name}", region_name, amount, currency, _day(observed))
    except ValidationError as error:
        complaints += [f"{where}: {member}: {' '.join(messages)}" for member, messages in error.message_dict.items()]
    except ValueError as error:
        complaints.append(f"{where}: {error}")
    return None


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name}: missing" if value is None else f"{name}: {str(value)[:40]!r} is not text")
    return value


def _day(observed: str) -> datetime.date:
    try:
        return datetime.datetime.fromisoformat(observed).date()
    except ValueError:
        raise ValueError(f"observed_at: {observed[:40]!r} is not a time such as 2026-01-31T12:00:00") from None
