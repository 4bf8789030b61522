"""Filters, order and prices of a ranking's rows, for the page, the API and the command line. The cost of a run is the
predicted time multiplied by the machine's price for that time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mpet_site.web.parameters import GIB, Flag, Name, NoSuchValue, Number, OneOf, QueryParameter, WholeNumber
from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.predictions.question import InvalidField
from profiles.identity.spelling import canonical_vendor
from profiles.measurements import DEVICE_CLASSES
from profiles.models import Price, PriceOfPlatform
from profiles.prices.tables import prices_for

LARGEST_MEMORY_GIB = 2**24
LARGEST_RANKING_PAGE = 2**20
BY_TIME, BY_CORE_TIME, BY_COST = "time", "core_time", "cost"
ORDERED_BY = {BY_TIME: "time_s", BY_CORE_TIME: "core_time_s", BY_COST: "cost"}
LARGEST_AMOUNT = 1e9
LARGEST_TIME_S = 1e9
ESTIMATE_ERROR = 0.1  # relative error assumed for an estimated time, which has no interval
RANKING_ORDER = OneOf(
    "by",
    "Sort by ascending `time_s`, `core_time_s` (core time instead of machine time), or `cost` of one run.",
    default=BY_TIME,
    choices=tuple(ORDERED_BY),
)
AT_THREAD_COUNT = WholeNumber(
    "n", "Compare at this thread count instead of the fastest one of each platform.", low=1, high=LARGEST_THREAD_COUNT
)
RANKING_PAGE = WholeNumber(
    "page",
    "Page of 25 rows to compute. If there are many platforms, the other rows are estimated.",
    low=1,
    high=LARGEST_RANKING_PAGE,
    default=1,
)
EXACT = Flag("exact", "Compute every row, for any number of platforms.", default=False)
HOUR_S = 3600
HOURLY_KINDS = (Price.Kind.ON_DEMAND.value, Price.Kind.SPOT.value)
PRICE_CURRENCY = Name("currency", "Currency of the prices, such as USD; default: the most frequent one.")
PRICE_REGION = Name("region", "Region of the prices; default: the cheapest one of each platform.")
PRICE_KIND = OneOf("price_kind", "Kind of the prices.", default=HOURLY_KINDS[0], choices=HOURLY_KINDS)
PRICE_PARAMETERS = (PRICE_CURRENCY, PRICE_REGION, PRICE_KIND)
NO_PRICE = dict.fromkeys(
    ("price", "currency", "price_region", "price_kind", "price_date", "price_basis", "price_source", "cost")
)


def at_least(column: str, unit: float = 1) -> Callable[[Any, float], bool]:
    """Return a test for platforms: the column is known, and at least the value."""
    return lambda platform, value: (known := getattr(platform, column)) is not None and known >= value * unit


def at_most(column: str) -> Callable[[Any, float], bool]:
    return lambda platform, value: (known := getattr(platform, column)) is not None and known <= value


def row_at_most(name: str) -> Callable[[Mapping[str, Any], float], bool]:
    """Return a test for rows: the time, price or cost is known, and at most the value."""
    return lambda row, value: row[name] is not None and row[name] <= value


def is_text(column: str, write: Callable[[str], str | None] = str) -> Callable[[Any, str], bool]:
    """Return a test for platforms: the column has this text, ignoring case. `write` returns the canonical spelling."""
    return lambda platform, value: (getattr(platform, column) or "").casefold() == str(write(value) or value).casefold()


PLATFORM_FILTERS: dict[QueryParameter, Callable[[Any, Any], bool]] = {
    OneOf("device_class", "Only platforms with this value.", choices=DEVICE_CLASSES): is_text("device_class"),
    Name("architecture", "Only platforms with this value."): is_text("architecture"),
    Name("vendor", "Vendor of the processor, in any spelling."): is_text("vendor", canonical_vendor),
    WholeNumber("min_cores", "Minimum number of physical cores.", low=1, high=LARGEST_THREAD_COUNT): at_least(
        "physical_cores"
    ),
    WholeNumber("max_cores", "Maximum number of physical cores.", low=1, high=LARGEST_THREAD_COUNT): at_most(
        "physical_cores"
    ),
    WholeNumber(
        "min_threads", "Minimum number of threads that a program may use.", low=1, high=LARGEST_THREAD_COUNT
    ): at_least("n_max"),
    Number("min_memory_gib", "Minimum memory in GiB.", low=0, high=LARGEST_MEMORY_GIB): at_least("memory_bytes", GIB),
}
RESULT_FILTERS: dict[QueryParameter, Callable[[Mapping[str, Any], Any], bool]] = {
    Flag("measured", "true: only platforms where the workload was measured; false: only the others."): (
        lambda row, value: bool(row["measured"] == value)
    ),
    OneOf("origin", "Origin of the reference profiles.", choices=PREDICTION_ORIGINS): (
        lambda row, value: bool(row["origin"] == value)
    ),
    Number("max_time_s", "Maximum predicted time in seconds.", low=0, high=LARGEST_TIME_S): row_at_most("time_s"),
    Number("max_price", "Maximum price per hour.", low=0, high=LARGEST_AMOUNT): row_at_most("price"),
    Number("max_cost", "Maximum cost of one run.", low=0, high=LARGEST_AMOUNT): row_at_most("cost"),
}
RANKING_FILTERS = (*PLATFORM_FILTERS, *RESULT_FILTERS, *PRICE_PARAMETERS)


@dataclass(frozen=True)
class RankingChoice:
    """The filters of a ranking, by name, and its order."""

    filters: Mapping[str, Any] = field(default_factory=dict)
    by: str = BY_TIME

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> RankingChoice:
        """Parse the choice from the texts of a URL or a command, by name. Unknown names are ignored. Raises
        InvalidField."""
        parameters = (*RANKING_FILTERS, RANKING_ORDER)
        return cls.of_values({parameter.name: value_in(texts, parameter) for parameter in parameters})

    @classmethod
    def of_values(cls, values: Mapping[str, Any]) -> RankingChoice:
        """Make the choice from values by name. None means that a filter was not given."""
        names = {parameter.name for parameter in RANKING_FILTERS}
        filters = {name: value for name, value in values.items() if name in names and value is not None}
        return cls(filters, values.get(RANKING_ORDER.name) or BY_TIME)

    def ordered_with(self, *, has_prices: bool) -> RankingChoice:
        """Return the choice with the order that is used: without prices, by time instead of by cost.

        >>> [RankingChoice(by=BY_COST).ordered_with(has_prices=known).by for known in (True, False)]
        ['cost', 'time']
        """
        return replace(self, by=BY_TIME) if self.by == BY_COST and not has_prices else self

    def title(self, *, has_prices: bool, unit: str = "s") -> str:
        """Return the headline of a ranking: which machines come first.

        >>> RankingChoice({"max_time_s": 0.5}, BY_COST).title(has_prices=True), RankingChoice().title(has_prices=True)
        ('cheapest within 0.5 s', 'fastest first')
        """
        by = self.ordered_with(has_prices=has_prices).by
        word = {BY_TIME: "fastest", BY_CORE_TIME: "least core time", BY_COST: "cheapest"}[by]
        most = self.filters.get("max_time_s")
        if most is None:
            return f"{word} first"
        return f"{word} within {most:g} {unit}" if unit == "s" else f"{word} within {most:g} ({unit})"

    @property
    def depends_on_prices(self) -> bool:
        """Return whether prices decide which rows come first."""
        return self.by == BY_COST or any(name in self.filters for name in ("max_price", "max_cost"))

    def rows(
        self, results: Sequence[Mapping[str, Any]], platforms: Mapping[str, Any], user: Any = None
    ) -> list[dict[str, Any]]:
        """Return the chosen results of a ranking, each with its place among all results in this order and its value
        relative to the first.

        `platforms` are the rows that the viewer sees, by slug; results on other platforms are left out. The prices are
        those that apply to the `user`, or the published ones if it is None.
        """
        prices = hourly_prices(platforms.values(), self.filters, user)
        ordered = [
            completed_row(result, platforms[result["platform"]], prices.get(result["platform"]))
            for result in known_on(platforms, results)
        ]
        name = ORDERED_BY[self.by]
        ordered.sort(key=lambda row: (row[name] is None, row[name]))
        best = ordered[0][name] if ordered else None
        placed = [{**result, "relative": result[name] and best and result[name] / best} for result in ordered]
        models = {slug: platform.cpu_model for slug, platform in platforms.items()}
        placed = with_places(placed, models, self.by)
        chosen = [row for row in placed if self.takes(platforms[row["platform"]], row)]
        mark_pareto(chosen)
        return chosen

    def refused(self, refused: Sequence[Mapping[str, Any]], platforms: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return the refused platforms that pass the platform filters."""
        known = known_on(platforms, refused)
        return [row for row in known if self._passes(PLATFORM_FILTERS, platforms[row["platform"]])]

    def takes(self, platform: Any, result: Mapping[str, Any]) -> bool:
        """Return whether the platform and its row pass all filters."""
        return self._passes(PLATFORM_FILTERS, platform) and self._passes(RESULT_FILTERS, result)

    def _passes(self, tests: Mapping[QueryParameter, Callable[[Any, Any], bool]], subject: Any) -> bool:
        values = ((test, self.filters.get(parameter.name)) for parameter, test in tests.items())
        return all(value is None or test(subject, value) for test, value in values)


def with_places(ordered: Sequence[Mapping[str, Any]], models: Mapping[str, str], by: str) -> list[dict[str, Any]]:
    """Return the ordered rows, each with its `place`. Rows that tie follow each other and share a place.

    Platforms of one `cpu_model` tie if both are limited to the same n_best and the slower one's time is inside the
    interval of the faster one: they only differ in threads without a credible gain. In the order by cost no rows tie,
    because prices distinguish them. `models` are the CPU models of the platforms by slug.
    """
    ties: dict[Any, Mapping[str, Any]] = {}  # the first row of each tie
    placed, followers = [], defaultdict[str, list[Mapping[str, Any]]](list)
    for row in ordered:
        model = models[row["platform"]]
        may_tie = row["limited"] and row["time_s"] is not None and model and by != BY_COST
        first = ties.setdefault((model, row["n_best"]), row) if may_tie else row
        if first is not row and row["time_s"] <= (first["high_s"] or (1.0 + ESTIMATE_ERROR) * first["time_s"]):
            followers[first["platform"]].append(row)
        else:
            placed.append(row)
    rows: list[dict[str, Any]] = []
    for row in placed:
        place = len(rows) + 1
        rows += [{**tied, "place": place} for tied in (row, *followers[row["platform"]])]
    return rows


def alike_rows(
    rows: Sequence[Mapping[str, Any]], platforms: Mapping[str, Any]
) -> list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Return the rows, each with the further rows on equivalent machines: the same processor, cores, threads, memory
    and cost, and a time inside its interval."""
    firsts: dict[Any, tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = {}
    for row in rows:
        machine = platforms[row["platform"]]
        facts = (machine.cpu_model, machine.physical_cores, machine.n_max, machine.memory_bytes)
        cost = row["cost"] and f"{row['cost']:.3g}"
        key = (*facts, row["n_best"], row["measured"], cost) if machine.cpu_model else row["platform"]
        first, alike = firsts.setdefault(key, (row, []))
        most = first["high_s"] or (1.0 + ESTIMATE_ERROR) * (first["time_s"] or 0.0)
        if first is row:
            continue
        if row["time_s"] is not None and row["time_s"] <= most:
            alike.append(row)
        else:
            firsts[row["platform"]] = (row, [])
    return list(firsts.values())


def known_on(platforms: Mapping[str, Any], rows: Any) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["platform"] in platforms]


def value_in(texts: Mapping[str, str], parameter: QueryParameter) -> Any:
    """Return the value of a parameter in the texts, or its default. Raises InvalidField."""
    text = texts.get(parameter.name, "")
    if not text:
        return parameter.default
    try:
        return parameter.value_of(text)
    except NoSuchValue as error:
        raise InvalidField(parameter.name, str(error)) from error


def hourly_prices(platforms: Iterable[Any], choice: Mapping[str, Any], user: Any) -> dict[str, PriceOfPlatform]:
    """Return the newest price per hour of each platform, by slug, as it applies to the user (None: as published).

    All prices have one currency: the requested one, else the most frequent one of the user's own prices, else the most
    frequent one of all. If a platform has several prices, the lowest counts.
    """
    kind = choice.get(PRICE_KIND.name) or HOURLY_KINDS[0]
    found = prices_for(user, region=choice.get(PRICE_REGION.name), per=Price.Per.HOUR, kind=kind)
    slugs = {platform.pk: platform.slug for platform in platforms}
    prices = [price for price in found if price.platform_id in slugs]
    currency = (choice.get(PRICE_CURRENCY.name) or "").upper()
    if not currency:
        own_prices = [price for price in prices if price.basis == Price.Basis.OWN]
        counted = Counter(price.currency for price in own_prices or prices)
        currency = min(counted, key=lambda name: (-counted[name], name), default="")  # ties are broken alphabetically
    cheapest: dict[str, PriceOfPlatform] = {}
    for price in sorted(prices, key=lambda price: price.amount):
        if price.currency == currency:
            cheapest.setdefault(slugs[price.platform_id], price)
    return cheapest


def completed_row(result: Mapping[str, Any], platform: Any, price: Any) -> dict[str, Any]:
    """Return the result with the physical cores that its threads take, its core time, its price and its cost.

    `core_time_s` is the time multiplied by the cores: what the work takes of the machine, whatever its size. `cost` is
    price * time / 3600 s, the cost of one run in the price's currency. If times are relative, costs are too. Unknown
    values are None.

    >>> from datetime import date
    >>> from decimal import Decimal
    >>> from types import SimpleNamespace
    >>> price = SimpleNamespace(
    ...     amount=Decimal("0.36"), currency="EUR", region="x", kind="spot", date=date(2026, 1, 2), basis="published",
    ...     source="a list",
    ... )
    >>> row = completed_row({"n_best": 16, "time_s": 100.0}, SimpleNamespace(physical_cores=8), price)
    >>> row["cores"], row["core_time_s"], row["price"], row["cost"], row["currency"], row["price_date"]
    (8, 800.0, 0.36, 0.01, 'EUR', '2026-01-02')
    """
    cores = None if platform.physical_cores is None else min(result["n_best"], platform.physical_cores)
    time_s = result["time_s"]
    completed = {**result, "cores": cores, "core_time_s": None if cores is None or time_s is None else cores * time_s}
    if price is None:
        return {**completed, **NO_PRICE}
    amount = float(price.amount)
    return {
        **completed,
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
    """Set `pareto` of each row: whether no other row is faster and at most as expensive, or cheaper and at most as
    slow.

    It is None if the cost is unknown.

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
