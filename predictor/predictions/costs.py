"""What a run costs: the predicted time multiplied by what the machine costs in that time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mpet_site.web.parameters import Name, OneOf
from profiles.models import Price, PriceOfPlatform
from profiles.prices.tables import prices_for

HOUR_S = 3600
HOURLY_KINDS = (Price.Kind.ON_DEMAND.value, Price.Kind.SPOT.value)
PRICE_CURRENCY = Name("currency", "of the prices, as USD; without it the one that most prices have")
PRICE_REGION = Name("region", "of the prices; without it the cheapest of each platform")
PRICE_KIND = OneOf("price_kind", "of the prices", default=HOURLY_KINDS[0], choices=HOURLY_KINDS)
PRICE_PARAMETERS = (PRICE_CURRENCY, PRICE_REGION, PRICE_KIND)
NO_PRICE = dict.fromkeys(
    ("price", "currency", "price_region", "price_kind", "price_date", "price_basis", "price_source", "cost")
)


def hourly_prices(platforms: Iterable[Any], choice: Mapping[str, Any], user: Any = None) -> dict[str, PriceOfPlatform]:
    """The newest price per hour of each of these platforms as it holds for the user (None: as published), by slug, in
    one currency: the one asked for, else that of most of the user's own prices, else that of most prices."""
    kind = choice.get(PRICE_KIND.name) or HOURLY_KINDS[0]
    found = prices_for(user, region=choice.get(PRICE_REGION.name), per=Price.Per.HOUR, kind=kind)
    slugs = {platform.pk: platform.slug for platform in platforms}
    prices = [price for price in found if price.platform_id in slugs]
    own = [price for price in prices if price.basis == Price.Basis.OWN]
    currency = (choice.get(PRICE_CURRENCY.name) or "").upper() or most_common_currency(own or prices)
    cheapest: dict[str, PriceOfPlatform] = {}
    for price in sorted(prices, key=lambda price: price.amount):
        if price.currency == currency:
            cheapest.setdefault(slugs[price.platform_id], price)
    return cheapest


def most_common_currency(prices: Sequence[Any]) -> str:
    """The currency that most of the prices have; of equally common ones the first by name.

    >>> from types import SimpleNamespace
    >>> most_common_currency([SimpleNamespace(currency=name) for name in ("USD", "EUR", "USD")])
    'USD'
    """
    counted = Counter(price.currency for price in prices)
    return min(counted, key=lambda currency: (-counted[currency], currency), default="")


def with_cost(result: Mapping[str, Any], price: Any) -> dict[str, Any]:
    """The result with its price per hour and `cost`, price * time / 3600 s: what one run costs, in the currency. Where
    times are relative so are costs. None where no price is known.

    >>> from datetime import date
    >>> from decimal import Decimal
    >>> from types import SimpleNamespace
    >>> price = SimpleNamespace(
    ...     amount=Decimal("0.36"), currency="EUR", region="x", kind="spot", date=date(2026, 1, 2), basis="published",
    ...     source="a list",
    ... )
    >>> row = with_cost({"time_s": 100.0}, price)
    >>> row["price"], row["cost"], row["currency"], row["price_date"]
    (0.36, 0.01, 'EUR', '2026-01-02')
    """
    if price is None:
        return {**result, **NO_PRICE}
    amount, time_s = float(price.amount), result["time_s"]
    return {
        **result,
        "price": amount,
        "currency": price.currency,
        "price_region": price.region,
        "price_kind": price.kind,
        "price_date": price.date.isoformat(),
        "price_basis": str(price.basis),
        "price_source": price.source,
        "cost": None if time_s is None else amount * time_s / HOUR_S,
    }


def mark_pareto(rows: Iterable[dict[str, Any]]) -> None:
    """Set `pareto` of each row: whether no other row is faster and at most as dear, or cheaper and at most as slow.
    None where the cost is not known.

    >>> rows = [{"time_s": t, "cost": c} for t, c in ((1.0, 9.0), (2.0, 3.0), (3.0, 4.0), (2.0, 5.0), (4.0, None))]
    >>> mark_pareto(rows)
    >>> [row["pareto"] for row in rows]
    [True, True, False, False, None]
    """
    known: list[dict[str, Any]] = []
    for row in rows:
        row["pareto"] = None
        if row["time_s"] is not None and row["cost"] is not None:
            known.append(row)
    least = (float("inf"), 0.0)
    for row in sorted(known, key=lambda row: (row["time_s"], row["cost"])):
        row["pareto"] = row["cost"] < least[0] or (row["cost"], row["time_s"]) == least
        least = (row["cost"], row["time_s"]) if row["pareto"] else least
