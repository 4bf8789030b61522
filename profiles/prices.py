"""Prices from a CSV table, `platform,amount,currency,per,region,kind,source,date`: all of it, or nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from profiles.lookup import slugs_of_name
from profiles.models import Platform, Price, Revision

PRICE_COLUMNS = ("platform", "amount", "currency", "per", "region", "kind", "source", "date")
MOST_COMPLAINTS = 20


class PriceTableError(Exception):
    """What is wrong with a table of prices: a line a complaint."""

    def __init__(self, complaints: list[str]) -> None:
        self.complaints = complaints
        super().__init__("\n".join(complaints))


def import_prices(lines: Iterable[str]) -> tuple[int, int]:
    """Store the prices of a table; how many are new, and how many were there and say something else now. The header is
    line 1. Raises PriceTableError, nothing stored."""
    complaints: list[str] = []
    prices = list(_read_prices(lines, complaints))
    if complaints:
        raise PriceTableError(complaints)
    with transaction.atomic():
        Revision.hold()
        results = [_store(price) for price in prices]
        if any(results):
            Revision.raise_for(None, only_adds=True)
    return results.count("new"), results.count("changed")


def price_table(prices: Iterable[Price]) -> str:
    """The table of these prices, as `import_prices` reads it; platforms by their names."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(PRICE_COLUMNS)
    rows.writerows(
        (price.platform.name, *(getattr(price, name) for name in PRICE_COLUMNS if name != "platform"))
        for price in prices
    )
    return written.getvalue()


def restore_prices(lines: Iterable[str]) -> tuple[int, int]:
    """Store the prices of a table that are not there, where their platforms are; how many, and how many have no
    platform or cannot be read."""
    complaints: list[str] = []
    with transaction.atomic():
        Revision.hold()
        prices = list(_read_prices(lines, complaints, most_complaints=None))
        restored = [price for price in prices if not Price.objects.filter(**_key_of(price)).exists()]
        for price in restored:
            price.save()
        if restored:
            Revision.raise_for(None, only_adds=True)
    return len(restored), len(complaints)


def _key_of(price: Price) -> dict[str, Any]:
    return {name: getattr(price, name) for name in ("platform", "currency", "per", "region", "kind", "date")}


def _store(price: Price) -> str:
    known = Price.objects.filter(**_key_of(price)).first()
    if known is None:
        price.save()
        return "new"
    if (known.amount, known.source) == (price.amount, price.source):
        return ""
    known.amount, known.source = price.amount, price.source
    known.save(update_fields=["amount", "source"])
    return "changed"


def _read_prices(
    lines: Iterable[str], complaints: list[str], most_complaints: int | None = MOST_COMPLAINTS
) -> Iterator[Price]:
    rows = csv.DictReader(lines, strict=True)
    platforms: dict[str, Platform | None] = {}
    try:
        if missing := [name for name in PRICE_COLUMNS if name not in (rows.fieldnames or ())]:
            complaints.append(f"line 1: column {missing[0]!r} is missing")
            return
        for row in rows:
            if most_complaints is not None and len(complaints) >= most_complaints:
                return
            price = _read_price(row, platforms, complaints, rows.line_num)
            if price is not None:
                yield price
    except csv.Error as error:
        complaints.append(f"line {rows.line_num}: is not valid CSV: {error}")


def _read_price(
    row: Mapping[str | None, str | None], platforms: dict[str, Platform | None], complaints: list[str], line: int
) -> Price | None:
    if None in row or None in row.values():
        complaints.append(f"line {line}: has another number of cells than the header")
        return None
    texts = {name: (row[name] or "").strip() for name in PRICE_COLUMNS}
    name = texts.pop("platform")
    if name not in platforms:
        platforms[name] = _platform_named(name)
    platform = platforms[name]
    if platform is None:
        complaints.append(f"line {line}: no one public platform is called {name!r}")
        return None
    try:
        texts_only = {key: texts[key] for key in ("currency", "per", "region", "kind", "source")}
        price = Price(
            platform=platform, amount=Decimal(texts["amount"]), date=date.fromisoformat(texts["date"]), **texts_only
        )
        price.clean_fields()
    except InvalidOperation:
        complaints.append(f"line {line}: amount {texts['amount'][:40]!r} is not a number")
    except ValidationError as error:
        complaints += [f"line {line}: {field}: {' '.join(said)}" for field, said in error.message_dict.items()]
    except ValueError:
        complaints.append(f"line {line}: date {texts['date'][:40]!r} is not a day as 2026-01-31")
    else:
        if (price.kind == Price.Kind.PURCHASE) == (price.per == Price.Per.ONCE):
            return price
        complaints.append(f"line {line}: {price.kind} is not paid per {price.per}: a purchase is once, the others hour")
    return None


def _platform_named(name: str) -> Platform | None:
    public = Platform.objects.public()
    by_slug = public.filter(slug=name).first()
    slugs = slugs_of_name(public, name)
    return by_slug or (public.get(slug=slugs[0]) if len(slugs) == 1 else None)
