"""Price tables: parsing, validation and storage, and the prices that apply to a user.

A table is a CSV file with the columns `platform,amount,currency,per,region,kind,source,date`. It is stored completely
or not at all.
"""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from profiles.identity.name_disambiguation import slugs_of_name
from profiles.models import OwnPrice, OwnPriceList, Platform, Price, PriceOfPlatform, Revision

PRICE_COLUMNS = ("platform", "amount", "currency", "per", "region", "kind", "source", "date")
MOST_COMPLAINTS = 20
MOST_OWN_PRICES = 20_000


class PriceFileError(Exception):
    """The reason why a file of prices cannot be read."""


class PriceTableError(Exception):
    """The errors in a price table, one message per line."""

    def __init__(self, complaints: list[str]) -> None:
        self.complaints = complaints
        super().__init__("\n".join(complaints))


def import_prices(lines: Iterable[str]) -> tuple[int, int]:
    """Store the prices of a table. Return the numbers of new and of changed prices.

    The header is line 1 in messages. Raise PriceTableError without storing anything if a line is invalid.
    """
    complaints: list[str] = []
    prices = list(_read_prices(lines, complaints))
    if complaints:
        raise PriceTableError(complaints)
    return store_prices(prices)


def store_prices(prices: Iterable[Price]) -> tuple[int, int]:
    """Store published prices. Return the numbers of new and of changed prices."""
    with transaction.atomic():
        Revision.hold()
        results = [_store(price) for price in prices]
        if any(results):
            Revision.raise_for(None, only_adds=True)
    return results.count("new"), results.count("changed")


def prices_for(user: Any, *, region: str | None = None, **filters: Any) -> list[PriceOfPlatform]:
    """Return the newest prices that apply to the user.

    These are the user's own prices, and for machines without one, the published prices multiplied by the user's factor.
    `basis` of each price distinguishes them. An own price without a region applies in every region.
    """
    own_list = OwnPriceList.of(user)
    published = Price.objects.newest().filter(**filters)
    if region:
        published = published.filter(region=region)
    prices: list[PriceOfPlatform] = []
    if own_list is not None:
        own_prices = own_list.prices.newest().filter(platform__in=Platform.objects.visible_to(user), **filters)
        prices += own_prices.filter(region__in=[region, ""]) if region else own_prices
    with_own = {(price.platform_id, price.kind) for price in prices}
    for price in published:
        if (price.platform_id, price.kind) in with_own:
            continue
        if own_list is not None and own_list.factor != 1:
            price.amount *= own_list.factor
            price.basis = Price.Basis.FACTOR
        prices.append(price)
    return prices


def replace_own_prices(user: Any, lines: Iterable[str], factor: Decimal) -> int:
    """Replace the user's own prices by the table, and return their number.

    The table may refer to all machines that the user can see. Raise PriceTableError without storing anything if a line
    is invalid.
    """
    complaints: list[str] = []
    prices: dict[tuple[Any, ...], OwnPrice] = {}
    for price in _read_prices(lines, complaints, model=OwnPrice, platforms=Platform.objects.visible_to(user)):
        prices[tuple(_key_of(price).values())] = price
        if len(prices) > MOST_OWN_PRICES:
            complaints.append(f"a list has at most {MOST_OWN_PRICES:,} prices")
            break
    if complaints:
        raise PriceTableError(complaints)
    with transaction.atomic():
        own_list = set_price_factor(user, factor)
        own_list.prices.all().delete()
        for price in prices.values():
            price.price_list = own_list
        OwnPrice.objects.bulk_create(prices.values())
    return len(prices)


def set_price_factor(user: Any, factor: Decimal) -> OwnPriceList:
    """Store the user's factor on published prices, and return the user's list with its prices unchanged."""
    values = {"factor": factor, "version": uuid.uuid4()}
    own_list, _ = OwnPriceList.objects.update_or_create(user=user, defaults=values)
    return own_list


def price_table(prices: Iterable[PriceOfPlatform]) -> str:
    """Return the prices as a table that `import_prices` can read, with the names of the platforms."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(PRICE_COLUMNS)
    rows.writerows(
        (price.platform.name, *(getattr(price, name) for name in PRICE_COLUMNS if name != "platform"))
        for price in prices
    )
    return written.getvalue()


def restore_prices(lines: Iterable[str]) -> tuple[int, int]:
    """Store the prices of a table that are missing and whose platforms exist.

    Return the number of stored prices, and the number of lines that are invalid or have no platform.
    """
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


def restore_own_prices(prices: Iterable[OwnPrice]) -> None:
    """Store users' own prices of deleted machines for the public machines that now have the same names."""
    machines = PlatformNames()
    for price in prices:
        platform = machines.find(price.platform.name)
        if platform is not None:
            price.pk, price.platform = None, platform
            price.save()


def _key_of(price: PriceOfPlatform) -> dict[str, Any]:
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


class PlatformNames:
    """The platforms of a queryset (by default the public ones), which can be found by slug or by a unique name."""

    def __init__(self, platforms: Any = None) -> None:
        self.platforms = Platform.objects.public() if platforms is None else platforms
        self.noun = "public platform" if platforms is None else "machine"
        self.found: dict[str, Platform | None] = {}

    def find(self, name: str) -> Platform | None:
        if name not in self.found:
            slugs = slugs_of_name(self.platforms, name)
            by_name = self.platforms.get(slug=slugs[0]) if len(slugs) == 1 else None
            self.found[name] = self.platforms.filter(slug=name).first() or by_name
        return self.found[name]


def _read_prices(
    lines: Iterable[str],
    complaints: list[str],
    most_complaints: int | None = MOST_COMPLAINTS,
    model: Any = Price,
    platforms: Any = None,
) -> Iterator[Any]:
    """Yield a `model` instance for each valid line. `platforms` are the allowed platforms, by default the public
    ones."""
    rows = csv.DictReader(lines, strict=True)
    named = PlatformNames(platforms)
    try:
        if missing := [name for name in PRICE_COLUMNS if name not in (rows.fieldnames or ())]:
            complaints.append(f"line 1: column {missing[0]!r} is missing")
            return
        for row in rows:
            if most_complaints is not None and len(complaints) >= most_complaints:
                return
            price = _read_price(row, model, named, complaints, rows.line_num)
            if price is not None:
                yield price
    except csv.Error as error:
        complaints.append(f"line {rows.line_num}: is not valid CSV: {error}")


def _read_price(
    row: Mapping[str | None, str | None], model: Any, named: PlatformNames, complaints: list[str], line: int
) -> Any:
    if None in row or None in row.values():
        complaints.append(f"line {line}: the number of cells differs from the header")
        return None
    texts = {name: (row[name] or "").strip() for name in PRICE_COLUMNS}
    name = texts.pop("platform")
    platform = named.find(name)
    if platform is None:
        complaints.append(f"line {line}: {name[:200]!r} is not the slug or unique name of a {named.noun}")
        return None
    try:
        texts_only = {key: texts[key] for key in ("currency", "per", "region", "kind", "source")}
        price = model(
            platform=platform, amount=Decimal(texts["amount"]), date=date.fromisoformat(texts["date"]), **texts_only
        )
        price.clean_fields(exclude=["price_list"])
    except InvalidOperation:
        complaints.append(f"line {line}: amount {texts['amount'][:40]!r} is not a number")
    except ValidationError as error:
        complaints += [f"line {line}: {field}: {' '.join(messages)}" for field, messages in error.message_dict.items()]
    except ValueError:
        complaints.append(f"line {line}: date {texts['date'][:40]!r} is not a date such as 2026-01-31")
    else:
        if (price.kind == Price.Kind.PURCHASE) == (price.per == Price.Per.ONCE):
            return price
        complaints.append(
            f"line {line}: kind {price.kind} cannot have per {price.per}: a purchase needs once, other kinds need hour"
        )
    return None
