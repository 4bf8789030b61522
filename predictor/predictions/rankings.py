"""Rankings of a program over all platforms: predicted time, interval and best thread count per platform. A single
workload is a program with one part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from operator import itemgetter
from typing import Annotated, Any, ClassVar, TypedDict

import numpy as np

from predictor.core import methods
from predictor.core.database import Database
from predictor.core.programs import ProgramParts
from predictor.core.steps import ComputedStep, last_step, single_thread
from predictor.predictions.question import (
    DEFAULT_METHOD,
    InvalidField,
    InvalidSettings,
    checked_settings,
    checked_thread_counts,
    position_named,
    registered_method,
    workload_snapshot,
)
from predictor.predictions.ranking_choice import RankingChoice
from predictor.predictions.ranking_rows import (
    FEWEST_ESTIMATED_PLATFORMS,
    MEASURED_HERE_ONLY,
    OTHER_REASON,
    REASONS_OF_ORIGIN,
    REFUSAL_REASONS,
    RankedProgram,
    estimated_steps,
    row_or_refusal,
)
from profiles.models import OwnPriceList


class ProgramRegionTime(TypedDict):
    workload: str
    time_s: float | None
    low_s: float | None
    high_s: float | None


class RankingRowDocument(TypedDict):
    """A row of `ranking_rows.py`, as it is stored."""

    platform: str
    n_best: Annotated[int, "Thread count with the smallest predicted time and a credible gain, or the requested n."]
    time_s: Annotated[float | None, "Predicted time of the whole program at n_best."]
    low_s: float | None
    high_s: float | None
    regions: Annotated[
        list[ProgramRegionTime], "Regions of the program; a workload is its own only region. Empty for an estimate."
    ]
    serial_rest_s: float | None
    widest_part: Annotated[str | None, "Workload whose interval contributes most to the program's interval."]
    measured: Annotated[bool, "Whether all parts were measured there. The method does not use these measurements."]
    measured_time_s: Annotated[
        float | None, "Smallest measured time over all n, or the measured time at the requested n."
    ]
    measured_n: int | None
    origin: Annotated[str, "Origin of the reference profiles: measured or simulated."]
    warnings: list[str]
    estimated: Annotated[bool, "Whether the row is estimated, without an interval. Request its page to compute it."]
    limited: Annotated[bool, "Whether a gain from more than n_best threads is not credible (90 %)."]


class RankedPlatformDocument(RankingRowDocument):
    """A row as the API returns it, with the fields that `RankingChoice.rows` adds: they are derived from the time, the
    requested order, the platform's cores and its price."""

    place: Annotated[int, "Rank among all platforms in the requested order; ties share a rank."]
    cores: Annotated[int | None, "Number of physical cores that n_best threads use."]
    core_time_s: Annotated[float | None, "time_s multiplied by cores."]
    relative: Annotated[float | None, "Value relative to the first of all platforms in the requested order."]
    price: Annotated[float | None, "Price per hour; null if unknown."]
    currency: str | None
    price_region: str | None
    price_kind: str | None
    price_date: Annotated[str | None, "Date of the price."]
    price_basis: Annotated[
        str | None, "published, own (your own price), or factor (published price times your factor)."
    ]
    price_source: Annotated[str | None, "Source of the price: a list or a URL."]
    cost: Annotated[float | None, "Cost of one run: price times time_s; relative if times are relative."]
    pareto: Annotated[bool | None, "Whether no other result is faster at no higher cost, or cheaper at no longer time."]


MOST_PLATFORMS_OF_VISITORS = 1000  # of which all rows are computed for visitors without an account; it takes a minute

# The columns of a ranking as CSV. A program's ranking also has PROGRAM_COLUMNS, and one time column per region.
PROGRAM_COLUMNS = ("serial_rest_s", "widest_part")
RANKING_COLUMNS = tuple(
    name for name in RankedPlatformDocument.__annotations__ if name not in ("regions", *PROGRAM_COLUMNS)
)


class UnrankedPlatform(TypedDict):
    platform: str
    reason: str
    lacks: Annotated[str | None, "What is missing."]


class UnrankedPlatforms(TypedDict):
    lacks: str | None
    count: int
    reason: str


@dataclass(frozen=True)
class Ranking:
    """The ranking of a program, as plain JSON values.

    `results` are sorted by predicted time, `refused` by platform. A single workload is the only region.
    """

    workload: Annotated[str, "The workload, or the longest region of the program."]
    regions: Annotated[Sequence[str], "Workloads of the regions, longest first."]
    serial_rest: Annotated[str | None, "Workload of the serial rest; null if unknown: only the regions are summed."]
    method: str
    method_version: str
    settings: Mapping[str, Any]
    revision: int
    time_kind: str
    results: Sequence[Mapping[str, Any]] = field(repr=False)
    refused: Sequence[Mapping[str, Any]] = field(repr=False)
    n: Annotated[int | None, "Requested thread count; null: the fastest one of each platform."] = None

    @classmethod
    def of_stored(cls, document: Mapping[str, Any]) -> Ranking | None:
        """Return the ranking of a stored document without members that are unknown today, or None if the document or a
        row lacks a member. An earlier version may have stored it."""
        known = {one.name: document[one.name] for one in fields(cls) if one.name in document}
        if any(one.name not in known for one in fields(cls) if one.default is MISSING):
            return None
        rows = ((known["results"], RankingRowDocument), (known["refused"], UnrankedPlatform))
        is_whole = all(form.__required_keys__ <= row.keys() for listed, form in rows for row in listed)
        return cls(**known) if is_whole else None

    @property
    def platforms(self) -> set[str]:
        """Return the slugs of all platforms in `results` and `refused`."""
        return {row["platform"] for row in (*self.results, *self.refused)}

    def document(self) -> dict[str, Any]:
        listed = {name: list(getattr(self, name)) for name in ("regions", "results", "refused")}
        return {**vars(self), **listed}


@dataclass(frozen=True, eq=False)
class RankingQuestion(RankedProgram):
    """The request to rank a program over all platforms of one snapshot by one method."""

    kind: ClassVar[str] = "ranking"

    @classmethod
    def of(
        cls,
        workload: str | Sequence[str],
        viewer: Any = None,
        *,
        serial_rest: str | None = None,
        method: str = DEFAULT_METHOD,
        level: float | None = None,
        mix_runtimes: str | None = None,
        settings: Mapping[str, Any] | None = None,
        include_simulated: bool = False,
        n: int | None = None,
        choice: RankingChoice | None = None,
        page: int | None = None,
    ) -> RankingQuestion:
        """Return the question for a workload, or for the regions of a program.

        `workload` is a slug or name, or a sequence of them for the regions of a program; `serial_rest` is one more
        workload. `level` and `mix_runtimes` are settings that a request may give as separate fields; None means the
        method's default. `n` is the thread count to compare at; None means the fastest thread count of each platform.

        With a `page` and many platforms, only the rows on that page of the `choice` are computed and the others are
        estimated, if the method has estimates. Without a page all rows are computed. Raises a RequestError if the
        workload or the method is unknown, or if the method has no such setting.
        """
        chosen = registered_method(method)
        named = {"level": level, "mix_runtimes": mix_runtimes}
        named = {name: value for name, value in named.items() if value is not None}
        try:
            values = checked_settings(chosen, {**(settings or {}), **named})
        except InvalidSettings as error:
            if error.name in named:
                raise InvalidField(error.name, error.reason) from error
            raise
        checked_thread_counts(None if n is None else [n])
        regions = [workload] if isinstance(workload, str) else list(workload)
        snapshot = workload_snapshot(regions[0], viewer, include_simulated=include_simulated)

        def position(slug: str) -> int:
            return position_named(slug, snapshot.database, viewer)

        rest = None if serial_rest is None else position(serial_rest)
        parts = ProgramParts(tuple(map(position, regions)), rest)
        shown = choice or RankingChoice()
        question = cls(snapshot, parts, chosen, values, include_simulated, n, shown, page)
        own_prices = OwnPriceList.of(viewer) if question.is_estimated and shown.depends_on_prices else None
        if own_prices is None:
            return question
        # The viewer's own prices decide which rows are computed, so the answer must not be shared with others.
        return replace(question, own_prices=own_prices, snapshot=replace(snapshot, holds_private=True))

    @classmethod
    def from_canonical(cls, question: Mapping[str, Any], viewer: Any) -> RankingQuestion:
        """Return the question that `canonical` stored, against the viewer's current snapshot. Raises a RequestError."""
        return cls.of(
            question.get("regions") or question["workload"],  # older stored questions have no regions
            viewer,
            serial_rest=question.get("serial_rest"),
            method=question["method"],
            settings=question["settings"],
            include_simulated=question["include_simulated"],
            n=question.get("n"),
            choice=RankingChoice(question["filters"], question["by"]) if "page" in question else None,
            page=question.get("page"),
        )

    @property
    def part_slugs(self) -> list[str]:
        return [self.snapshot.database.workloads[part] for part in self.parts.all]

    def canonical(self) -> dict[str, Any]:
        document = self.document([], [])
        names = ("regions", "serial_rest", "method", "method_version", "settings", "n")
        parameters = {name: document[name] for name in names}
        parameters |= {"include_simulated": self.include_simulated, "origins": list(self.snapshot.origins)}
        if self.is_estimated:
            parameters |= {"page": self.page, "filters": dict(self.choice.filters), "by": self.choice.by}
            if self.own_prices:
                parameters["own_prices"] = str(self.own_prices.version)
        return parameters

    @property
    def is_estimated(self) -> bool:
        """Return whether only the rows of one page are computed and the others are estimated."""
        many = len(self.snapshot.database.platforms) >= FEWEST_ESTIMATED_PLATFORMS
        return self.page is not None and self.method.estimate is not None and many

    @property
    def most_platforms_of_visitors(self) -> int | None:
        """The number of platforms up to which visitors without an account may ask this question, because to compute all
        rows of more would take many minutes; None without a limit."""
        if self.is_estimated:
            return None
        return MOST_PLATFORMS_OF_VISITORS if self.method.estimate else FEWEST_ESTIMATED_PLATFORMS - 1

    def is_too_large_for(self, user: Any) -> bool:
        most = self.most_platforms_of_visitors
        return most is not None and not user.is_authenticated and len(self.snapshot.database.platforms) > most

    def check_size(self, user: Any) -> None:
        """Raise InvalidField if the question is too large for the user."""
        if not self.is_too_large_for(user):
            return
        name, remedy = ("exact", "exact=false") if self.method.estimate else ("method", DEFAULT_METHOD)
        reason = (
            f"all rows are computed for at most {self.most_platforms_of_visitors:,} machines without an account, "
            f"and there are {len(self.snapshot.database.platforms):,}"
        )
        raise InvalidField(name, f"{reason}: sign in, or use {remedy}")

    def steps(self, earlier: Mapping[str, Any] | None = None) -> Iterator[ComputedStep]:
        """Yield one step per platform; its document is the `Ranking` of the platforms so far.

        `earlier` is the document of an earlier step; its platforms are not computed again.
        """
        if self.is_estimated:
            yield from estimated_steps(self, earlier, self.document)
            return
        database = self.snapshot.database
        results: list[Mapping[str, Any]] = list(earlier["results"]) if earlier else []
        refused: list[Mapping[str, Any]] = list(earlier["refused"]) if earlier else []
        known = {row["platform"] for row in (*results, *refused)}
        total = len(database.platforms)

        def document() -> dict[str, Any]:
            return self.document(results, refused)

        yield ComputedStep(len(known), total, document)
        for target in ranking_order(database, self.workload):
            if database.platforms[target] not in known:
                row = row_or_refusal(self, target)
                (refused if "reason" in row else results).append(row)
                yield ComputedStep(len(results) + len(refused), total, document)

    def document(self, results: Sequence[Mapping[str, Any]], refused: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return self.ranking(results, refused).document()

    def stored_ranking(self, document: Mapping[str, Any] | None) -> Ranking:
        """Return the ranking of a stored answer to this question, or one without rows if there is none."""
        return (Ranking.of_stored(document) if document else None) or self.ranking([], [])

    def ranking(self, results: Sequence[Mapping[str, Any]], refused: Sequence[Mapping[str, Any]]) -> Ranking:
        database, slugs = self.snapshot.database, self.part_slugs
        regions = len(self.parts.regions)
        return Ranking(
            workload=slugs[0],
            regions=tuple(slugs[:regions]),
            serial_rest=slugs[regions] if len(slugs) > regions else None,
            method=self.method.name,
            method_version=self.method.version,
            settings=methods.settings_values(self.settings),
            revision=database.revision,
            time_kind=str(database.workload_table["time_kind"][self.workload]),
            results=tuple(sorted(results, key=lambda row: (row["time_s"] is None, row["time_s"], row["platform"]))),
            refused=tuple(sorted(refused, key=itemgetter("platform"))),
            n=self.n,
        )


def summarise_refused(refused: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per reason why platforms are not ranked, with the number of platforms. The most frequent reason
    comes first."""
    counts = Counter((row.get("lacks"), general_reason(row)) for row in refused)
    rows = [{"lacks": word, "count": count, "reason": reason} for (word, reason), count in counts.items()]
    return sorted(rows, key=lambda row: (-row["count"], row["reason"]))


def general_reason(row: Mapping[str, Any]) -> str:
    """Return the reason of a refusal without the details of the platform."""
    if row["reason"] in {*REASONS_OF_ORIGIN.values(), MEASURED_HERE_ONLY}:
        return str(row["reason"])
    return REFUSAL_REASONS.get(row.get("lacks") or "", OTHER_REASON)


def ranking_order(database: Database, workload: int) -> list[int]:
    """Return the platforms in the order in which they are computed, the most useful first: those without a measurement
    of the workload, then the others by measured time."""
    fastest = np.full(len(database.platforms), -np.inf)
    for row in database.rows_of_workload(workload).tolist():
        _, time_s = database.curve(row)
        fastest[database.platform_index[row]] = time_s.min(initial=np.inf)
    return [int(platform) for platform in np.argsort(fastest, kind="stable")]


def rank_platforms(
    workload: str | Sequence[str],
    viewer: Any = None,
    *,
    progress: Callable[[ComputedStep], Any] | None = None,
    **choices: Any,
) -> Ranking:
    """Predict the workload on every platform that is visible to the viewer, each as if it had not been measured there.

    The `choices` are the arguments of `RankingQuestion.of`, which also documents the exceptions. `progress` is called
    with the step of each platform.
    """
    with single_thread():
        step = last_step(RankingQuestion.of(workload, viewer, **choices).steps(), progress)
    return Ranking(**step.document())
