"""Rows of a ranking, one per platform: computed, estimated or refused.

With many platforms all rows are estimated at once, and the rows on display are computed. Estimates decide the order;
they are not answers. Rows are computed until all rows of the requested page are: if a row is slower than its estimate,
the next one takes its place. Estimates that are too slow must not hide a fast machine, so they are lowered by the error
of three quarters of the estimates so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mpet_site.web.plain_json import nan_to_null
from predictor.core import methods
from predictor.core.answers import EstimatedTimes, Query, fastest_position, is_limited
from predictor.core.availability import groups_of_targets
from predictor.core.database import Database
from predictor.core.programs import ProgramParts, first_thread_count, predict_program
from predictor.core.references import groups_of_query, groups_of_same_origin
from predictor.core.steps import ComputedStep
from predictor.predictions.confidence import measurement_cautions
from predictor.predictions.question import rows_behind
from predictor.predictions.ranking_choice import (
    BY_TIME,
    ORDERED_BY,
    RankingChoice,
    completed_row,
    hourly_prices,
    with_places,
)
from predictor.snapshot.building import Snapshot
from profiles.arrays import FloatArray, IntArray
from profiles.identity.programs import times_of_parts
from profiles.models import OwnPriceList, Platform

REFUSAL_REASONS = {
    "reference": "the workload was measured on no other machine",
    "benchmark": "no other workload was measured there",
    "shared": "no workload was measured both there and on a machine with this workload",
    "comparable": "the method cannot compare what was measured there",
    "clock": "a clock rate that the method needs is unknown",
}
# The reasons for platforms without a profile that may be compared, by the origin of their profiles.
REASONS_OF_ORIGIN = {origin: f"only {origin} profiles exist there" for origin in ("simulated", "measured")}
MEASURED_HERE_ONLY = "the program was measured here and on no other machine"
OTHER_REASON = "no time can be predicted there at the requested thread counts"
FEWEST_ESTIMATED_PLATFORMS = 200  # with fewer platforms all rows are computed
RANKED_PER_PAGE = 25  # rows that are computed together
SHARE_OF_MISSES = 0.75  # quantile of the errors of the estimates so far, by which the others are lowered
KEPT_ESTIMATES = 16  # rankings per snapshot with cached estimates, for further pages

Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class RankedProgram:
    """What the rows of a ranking are made from: a program, a method, and the snapshot of the platforms."""

    snapshot: Snapshot
    parts: ProgramParts
    method: methods.Method[Any]
    settings: Any
    include_simulated: bool
    n: int | None = None
    choice: RankingChoice = field(default_factory=RankingChoice)
    page: int | None = None
    own_prices: OwnPriceList | None = None  # only set if prices decide which rows are computed

    @property
    def workload(self) -> int:
        """Return the position of the longest region, which represents the program where a single workload is needed."""
        return self.parts.regions[0]


def check_thread_count(database: Database, target: int, n: int | None) -> None:
    """Raise a PredictionError if the platform has fewer threads than requested."""
    most = int(database.n_max[target])
    if n is not None and n > most:
        raise methods.PredictionError(f"it has only {most} threads")


def ranking_row(question: RankedProgram, target: int) -> dict[str, Any]:
    """Return the row of one platform: the prediction at the fastest n with a credible gain, or at the requested n.

    The row has the times of the parts, and the fastest measured time (or the one at the requested n) if the platform
    was measured. Raises a PredictionError.
    """
    snapshot, parts = question.snapshot, question.parts
    database = snapshot.database
    check_thread_count(database, target, question.n)
    if len(parts.all) > 1:
        rows = database.rows_of_workload(parts.regions[0])
        if len(rows) and (database.platform_index[rows] == target).all():
            raise methods.PredictionError(MEASURED_HERE_ONLY)
    counts = None if question.n is None else (question.n,)
    answer = predict_program(database, parts, target, question.method, question.settings, n=counts)
    best = fastest_position(answer.n, answer.total.time_s, answer.credible_n)

    measured, origins, behind = [], set(), []
    for workload, part in zip(parts.all, answer.answers, strict=True):
        groups = groups_of_query(database, Query(workload, target), question.settings)
        candidates = [*part.candidates_t1, *part.candidates_scaling]
        references = {candidate.platform for candidate in candidates}
        measured.append(int(database.lookup(target, workload, groups)))
        origins.add(origin_of_references(snapshot, workload, references, groups))
        behind.append(rows_behind(database, workload, target, candidates, groups))

    slugs = [database.workloads[workload] for workload in parts.all]
    columns = (slugs, answer.time_s[:, best], answer.low_s[:, best], answer.high_s[:, best])
    times = [
        {"workload": slug, "time_s": float(time_s), "low_s": float(low_s), "high_s": float(high_s)}
        for slug, time_s, low_s, high_s in zip(*columns, strict=True)
    ]
    warnings = dict.fromkeys(warning for part in answer.answers for warning in part.warnings)
    return {
        "platform": database.platforms[target],
        "n_best": int(answer.n[best]),
        **{name: float(getattr(answer.total, name)[best]) for name in ("time_s", "low_s", "high_s")},
        "regions": times[: len(parts.regions)],
        "serial_rest_s": None if parts.serial_rest is None else times[-1]["time_s"],
        "widest_part": slugs[answer.widest_part(best)],
        **measured_point(database, measured, question.n),
        "origin": "simulated" if "simulated" in origins else "measured",
        "warnings": [*warnings, *measurement_cautions(snapshot, np.unique(np.concatenate(behind)))],
        "estimated": False,
        "limited": question.n is None and is_limited(answer.n, answer.credible_n),
    }


def measured_point(database: Database, profiles: Sequence[int], fixed_n: int | None) -> dict[str, Any]:
    """Return the smallest measured time of the program, or the one at the requested n.

    `profiles` has one row per part, or -1 if the part was not measured. The program was measured if all parts were.
    """
    nothing = {"measured": min(profiles) >= 0, "measured_time_s": None, "measured_n": None}
    if not nothing["measured"]:
        return nothing
    curves = [database.curve(profile) for profile in profiles]
    n, parts_s = times_of_parts([(counts.astype(np.int64), time_s) for counts, time_s in curves])
    if fixed_n is not None:
        n, parts_s = n[n == fixed_n], parts_s[:, n == fixed_n]
    if not len(n):
        return nothing
    whole = parts_s.sum(axis=0)
    best = int(whole.argmin())
    return {"measured": True, "measured_time_s": float(whole[best]), "measured_n": int(n[best])}


def origin_of_references(snapshot: Snapshot, workload: int, references: set[str], groups: tuple[int, ...]) -> str:
    """Return the origin of a result: simulated if simulated profiles of the workload took part."""
    database = snapshot.database
    rows = database.rows_of_workload(workload)
    if not snapshot.is_simulated[rows].any():
        return "measured"
    took_part = [
        row
        for row in rows.tolist()
        if database.group[row] in groups and database.platforms[database.platform_index[row]] in references
    ]
    return "simulated" if snapshot.is_simulated[took_part].any() else "measured"


def row_or_refusal(question: RankedProgram, target: int) -> Row:
    """Return the row of the target, or a refusal, which has a `reason`."""
    try:
        row: Row = nan_to_null(ranking_row(question, target))
    except methods.PredictionError as error:
        slug = question.snapshot.database.platforms[target]
        return {"platform": slug, "reason": str(error), "lacks": error.lacks or None}
    return row


def estimated_steps(
    question: RankedProgram,
    earlier: Mapping[str, Any] | None,
    document_of: Callable[[Sequence[Row], Sequence[Row]], dict[str, Any]],
) -> Iterator[ComputedStep]:
    """Yield steps while the rows are estimated, then one with all estimates, then one step per computed row.

    `earlier` is the document of an earlier step, whose computed rows are kept. `document_of` makes a document of the
    rows and the refusals.
    """
    database, before = question.snapshot.database, dict(earlier or {})
    for part, n in estimated_parts(question):
        for _ in kept_estimates(question, part, n):
            yield ComputedStep(0, RANKED_PER_PAGE, lambda: before)
    rows = estimated_rows(question)
    order = RowOrder(question, rows)
    known = {row["platform"]: row for row in (*before.get("results", ()), *before.get("refused", ()))}
    for position, slug in enumerate(database.platforms):
        if slug in known and not known[slug].get("estimated"):
            rows[position] = known[slug]
            order.update(position)

    def document() -> dict[str, Any]:
        shown = [row for row in rows if row is not None]
        return document_of([row for row in shown if "reason" not in row], [row for row in shown if "reason" in row])

    remaining = order.still_to_compute()
    while remaining:
        yield ComputedStep(max(0, RANKED_PER_PAGE - len(remaining)), RANKED_PER_PAGE, document)
        rows[remaining[0]] = row_or_refusal(question, remaining[0])
        order.update(remaining[0])
        remaining = order.still_to_compute()
    yield ComputedStep(RANKED_PER_PAGE, RANKED_PER_PAGE, document)


class RowOrder:
    """The order of the chosen rows, as `RankingChoice.rows` has it, and which of them are estimates."""

    def __init__(self, question: RankedProgram, rows: list[Row | None]) -> None:
        self.rows, self.choice = rows, question.choice
        last = RANKED_PER_PAGE * (question.page or 1)
        self.shown = slice(last - RANKED_PER_PAGE, last)
        database = question.snapshot.database
        self.models = dict(zip(database.platforms, database.platform_table["cpu_model"], strict=True))
        self.positions = {slug: position for position, slug in enumerate(database.platforms)}
        self.is_plain = not self.choice.filters and self.choice.by == BY_TIME
        self.platforms: Mapping[str, Any] = {}
        if not self.is_plain:
            self.platforms = Platform.objects.defer("placement").in_bulk(database.platforms, field_name="slug")
        user = question.own_prices and question.own_prices.user
        self.prices = hourly_prices(self.platforms.values(), self.choice.filters, user) if self.platforms else {}
        self.by = self.choice.ordered_with(has_prices=bool(self.prices)).by
        self.keys = np.full(len(rows), np.inf)
        self.is_chosen = np.zeros(len(rows), dtype=bool)
        self.times = np.full(len(rows), np.inf)
        self.is_estimate = np.zeros(len(rows), dtype=bool)
        self.misses: list[float] = []  # |ln(estimated / computed time)|
        for position in range(len(rows)):
            self.update(position)

    def update(self, position: int) -> None:
        """Update the order for the row at this position. Rows without a time are not chosen."""
        row, estimated_s = self.rows[position], self.times[position] if self.is_estimate[position] else np.inf
        self.is_estimate[position] = row is not None and bool(row.get("estimated"))
        self.keys[position], self.is_chosen[position] = self._key(row)
        self.times[position] = row["time_s"] if row is not None and self.is_chosen[position] else np.inf
        if np.isfinite(estimated_s) and np.isfinite(self.times[position]):
            self.misses.append(abs(float(np.log(estimated_s / self.times[position]))))

    def _key(self, row: Row | None) -> tuple[float, bool]:
        """Return the value by which the row is ordered, infinite if it has none, and whether it passes the filters."""
        if row is None or "reason" in row or row["time_s"] is None:
            return np.inf, False
        if self.is_plain:
            return float(row["time_s"]), True
        platform = self.platforms.get(row["platform"])
        if platform is None:
            return np.inf, False
        completed = completed_row(row, platform, self.prices.get(row["platform"]))
        value = completed[ORDERED_BY[self.by]]
        return np.inf if value is None else float(value), self.choice.takes(platform, completed)

    def still_to_compute(self) -> list[int]:
        """Return the positions of the rows to compute: those that could not be estimated, then the estimates on the
        page and the fastest row of all, which is shown above each page, with estimates lowered or, if none is left, as
        they are: rows that tie may then be on another page."""
        unknown = [position for position, row in enumerate(self.rows) if row is None]
        miss = float(np.quantile(self.misses, SHARE_OF_MISSES)) if self.misses else 0.0
        lowered = np.where(self.is_estimate, np.exp(-miss), 1.0)
        fastest = int((self.times * lowered).argmin())
        remaining: list[int] = []
        for keys in (self.keys * lowered, self.keys):
            shown = dict.fromkeys([*self._on_page(keys), fastest])
            remaining = [position for position in shown if self.is_estimate[position] and self.is_chosen[position]]
            if remaining:
                break
        return unknown + remaining

    def _on_page(self, keys: FloatArray) -> list[int]:
        """Return the positions of the rows on the page by these keys. Rows that tie follow each other."""
        ordered = np.argsort(keys, kind="stable")
        ordered = ordered[np.isfinite(keys[ordered])]
        rows = [row for position in ordered.tolist() if (row := self.rows[position]) is not None]
        placed = [self.positions[row["platform"]] for row in with_places(rows, self.models, self.by)]
        return [position for position in placed if self.is_chosen[position]][self.shown]


def estimated_rows(question: RankedProgram) -> list[Row | None]:
    """Return one row per platform of the snapshot: an estimate or a refusal, or None if only the method itself can
    decide.

    The estimate of a program is the sum over its regions, each at its own best n, and of the serial rest with one
    thread.
    """
    database, parts = question.snapshot.database, question.parts
    estimates = [tuple(kept_estimates(question, part, n))[-1] for part, n in estimated_parts(question)]
    longest = estimates[0]
    begins = [first_thread_count(database, region) for region in parts.regions]
    is_executed = [question.n is None or begin <= question.n for begin in (*begins, 1)]
    whole_s = np.sum([taken.time_s for taken, runs in zip(estimates, is_executed, strict=False) if runs], axis=0)
    lacks = question.method.lacks_by_target
    words = ("",) * len(database.platforms) if lacks is None else lacks(database, question.workload)
    measured = np.stack([measured_rows(database, part) for part in parts.all])
    is_simulated = bool(question.snapshot.is_simulated[database.rows_of_workload(question.workload)].any())
    rows: list[Row | None] = []
    for position, slug in enumerate(database.platforms):
        refusal = refusal_of(database, position, question.n, words[position])
        if refusal is not None or not np.isfinite(whole_s[position]):
            rows.append(refusal)
            continue
        rows.append(
            {
                "platform": slug,
                "n_best": int(longest.n[position]),
                "time_s": float(whole_s[position]),
                "low_s": None,
                "high_s": None,
                "regions": [],
                "serial_rest_s": None,
                "widest_part": None,
                **measured_point(database, measured[:, position].tolist(), question.n),
                "origin": "simulated" if is_simulated else "measured",
                "warnings": [],
                "estimated": True,
                "limited": bool(longest.is_limited[position]),
            }
        )
    return rows


def estimated_parts(question: RankedProgram) -> list[tuple[int, int | None]]:
    """Return each part with the thread count at which it is estimated; None is its fastest one."""
    database, parts = question.snapshot.database, question.parts
    asked = [(region, question.n) for region in parts.regions]
    if parts.serial_rest is not None:
        is_parallel = any(first_thread_count(database, region) > 1 for region in parts.regions)
        asked.append((parts.serial_rest, question.n if is_parallel else 1))
    return asked


def refusal_of(database: Database, position: int, n: int | None, lacks: str) -> Row | None:
    """Return the refusal of the platform if it is known without running the method, else None."""
    slug = database.platforms[position]
    try:
        check_thread_count(database, position, n)
    except methods.PredictionError as error:
        return {"platform": slug, "reason": str(error), "lacks": error.lacks or None}
    return {"platform": slug, "reason": REFUSAL_REASONS.get(lacks, OTHER_REASON), "lacks": lacks} if lacks else None


def kept_estimates(question: RankedProgram, part: int, n: int | None) -> Iterator[EstimatedTimes]:
    """Yield the method's estimates of a part on all platforms while they are computed, which takes seconds among
    thousands. The last ones are complete. They are cached with the snapshot for a while."""
    database, estimate = question.snapshot.database, question.method.estimate
    if estimate is None:
        raise ValueError(f"method {question.method.name} has no estimates")
    key, most = (question.method.name, part, n), max(KEPT_ESTIMATES, len(question.parts.all))
    cached: dict[Any, EstimatedTimes] = database.derive("estimates", dict)
    known = cached.get(key)
    for found in estimate(database, part, np.arange(len(database.platforms)), n) if known is None else (known,):
        yield found
    database.derive_one_of("estimates", key, lambda: found, most)


def measured_rows(database: Database, workload: int) -> IntArray:
    """Return the row of the workload on each platform, in the groups in which that target is compared; -1 if not
    measured."""
    rows = np.full(len(database.platforms), -1)
    groups = groups_of_targets(database, workload)
    for group in np.unique(groups[groups >= 0]).tolist():
        platforms = np.flatnonzero(groups == group)
        rows[platforms] = database.lookup(platforms, workload, groups_of_same_origin(database, group))
    return rows
