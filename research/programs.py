"""Accuracy of sums over the parts of a program, and coverage of their intervals.

The programs are random combinations of measured workloads. Each workload is executed as often as a random share of the
program's time requires.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from predictor.core.answers import Method
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.programs import ProgramParts, SummedTimes, predict_program, sum_times
from profiles.arrays import FloatArray, IntArray

FEWEST_PARTS, MOST_PARTS = 2, 6
# Smallest number of workloads that both platforms have in addition to the program's parts.
FEWEST_BENCHMARKS = 4
# Share of the programs whose last part is a serial rest, which runs on one thread.
SERIAL_REST_SHARE = 0.5
# Largest number of draws per requested program.
DRAWS_TRIED = 100
CORRELATIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
BOUNDS_ADDED = "bounds added"


@dataclass(frozen=True)
class ProgramDraw:
    """The kind of programs to draw.

    With `one_machine`, a program is measured on one platform besides the target, else on all others that have its
    parts. With `one_application`, the parts are sections of one application, and its other sections are hidden on the
    target. Otherwise any workloads are combined.
    """

    targets: tuple[int, ...]
    one_machine: bool = True
    one_application: bool = False


@dataclass(frozen=True)
class DrawnProgram:
    """A random program that was measured on `references`. `times_run` (K,) is the number of executions of each part."""

    target: int
    references: tuple[int, ...]
    parts: ProgramParts
    times_run: FloatArray
    hidden_siblings: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class ProgramOutcome:
    """A drawn program compared with its measurement at J thread counts.

    `deviation` (J,) and `part_deviation` (K, J) are ln(measured / predicted) of the whole and of the parts.
    `half_width` (J,) by rule and `part_half_width` (K, J) are half widths of the intervals of the whole and of the
    parts, in ln t.
    """

    deviation: FloatArray
    half_width: dict[str, FloatArray]
    part_deviation: FloatArray
    part_half_width: FloatArray


@dataclass(frozen=True)
class RuleStatistics:
    """The coverage of a rule's intervals in percent, and their median factor to either side."""

    coverage: float
    factor: float


@dataclass(frozen=True)
class ProgramStatistics:
    """Statistics over the drawn programs.

    `error` is the mean relative error in percent, `correlation` the correlation of the errors of two parts, and
    `parts_coverage` the coverage of the intervals of single parts in percent. `rules` has the statistics of the whole
    by rule.
    """

    programs: int
    refused: int
    error: float
    correlation: float
    parts_coverage: float
    rules: dict[str, RuleStatistics]


def draw_programs(database: Database, draw: ProgramDraw, count: int, seed: int) -> Iterator[DrawnProgram]:
    """Yield `count` random programs of 2 to 6 workloads, or fewer if too few draws find enough workloads."""
    rng = np.random.default_rng(seed)
    drawn = (_draw_program(database, draw, rng) for _ in range(DRAWS_TRIED * count))
    yield from islice((program for program in drawn if program is not None), count)


def _draw_program(database: Database, draw: ProgramDraw, rng: np.random.Generator) -> DrawnProgram | None:
    """Return a random program, or None if the two drawn platforms are the same or share too few workloads."""
    target, reference = int(rng.choice(draw.targets)), int(rng.choice(np.unique(database.platform_index)))
    common = np.intersect1d(_workloads_at_one(database, target), _workloads_at_one(database, reference))
    if target == reference or not len(common):
        return None
    applications = np.array(database.workload_table["application"])[common]
    choice = common[applications == rng.choice(applications)] if draw.one_application else common
    size = min(int(rng.integers(FEWEST_PARTS, MOST_PARTS + 1)), len(choice))
    siblings = len(choice) if draw.one_application else size
    if size < FEWEST_PARTS or len(common) - siblings < FEWEST_BENCHMARKS:
        return None
    chosen = [int(workload) for workload in rng.choice(choice, size, replace=False)]
    has_rest = rng.random() < SERIAL_REST_SHARE
    t1_s = database.t1_s[[_row(database, reference, workload) for workload in chosen]]
    return DrawnProgram(
        target=target,
        references=(reference,) if draw.one_machine else _platforms_with(database, chosen, target),
        parts=ProgramParts(tuple(chosen[:-1]), chosen[-1]) if has_rest else ProgramParts(tuple(chosen)),
        times_run=rng.dirichlet(np.ones(size)) / t1_s,
        hidden_siblings=tuple(np.setdiff1d(choice, chosen).tolist()) if draw.one_application else (),
    )


def _workloads_at_one(database: Database, platform: int) -> IntArray:
    """Return the workloads that were measured there with one thread. A region of a program that begins at n > 1 takes
    no time on fewer threads, which is wrong for these."""
    rows = database.rows_of_platform(platform)
    rows = rows[np.diff(database.curve_offsets)[rows] > 0]
    at_one = database.curve_n[database.curve_offsets[rows]] == 1
    return np.unique(database.workload_index[rows[at_one]]).astype(np.int64)


def _row(database: Database, platform: int, workload: int) -> int:
    return int(database.lookup(platform, workload, range(len(database.groups))))


def _platforms_with(database: Database, workloads: list[int], target: int) -> tuple[int, ...]:
    everywhere = np.arange(len(database.platforms))[:, None]
    has_all = (database.lookup(everywhere, np.array(workloads), range(len(database.groups))) >= 0).all(axis=1)
    return tuple(platform for platform in np.flatnonzero(has_all).tolist() if platform != target)


def evaluate_program(database: Database, drawn: DrawnProgram, method: Method[Any]) -> ProgramOutcome | None:
    """Predict the program on the target as if it had run on its references only, and compare with the measurement.

    Return None if the method refuses a part or gives no time for it.
    """
    elsewhere = np.setdiff1d(np.arange(len(database.platforms)), drawn.references)
    unmeasured = database.without(elsewhere[:, None], np.array(drawn.parts.all))
    unmeasured = unmeasured.without(drawn.target, np.array(drawn.hidden_siblings, dtype=np.int64))
    n, measured = measured_parts(database, drawn)
    try:
        answer = predict_program(unmeasured, drawn.parts, drawn.target, method, method.settings(), n=tuple(n.tolist()))
    except PredictionError:
        return None
    runs = drawn.times_run[:, None]
    time_s, low_s, high_s = (runs * values for values in (answer.time_s, answer.low_s, answer.high_s))
    if not np.isfinite(time_s).all():
        return None
    return ProgramOutcome(
        deviation=np.log((runs * measured).sum(axis=0) / time_s.sum(axis=0)),
        half_width={rule: half_width_of(total) for rule, total in totals_by_rule(time_s, low_s, high_s).items()},
        part_deviation=np.log(measured / answer.time_s),
        part_half_width=np.log(high_s / low_s) / 2,
    )


def measured_parts(database: Database, drawn: DrawnProgram) -> tuple[IntArray, FloatArray]:
    """Return the thread counts at which all regions were measured on the target, and the times there (K, J)."""
    curves = [database.curve(_row(database, drawn.target, workload)) for workload in drawn.parts.all]
    regions = curves[: len(drawn.parts.regions)]
    n = regions[0][0]
    for counts, _ in regions[1:]:
        n = np.intersect1d(n, counts)
    times = [time_s[np.searchsorted(counts, n)] for counts, time_s in regions]
    times += [np.full(len(n), time_s[0]) for _, time_s in curves[len(regions) :]]
    return n.astype(np.int64), np.stack(times)


def totals_by_rule(time_s: FloatArray, low_s: FloatArray, high_s: FloatArray) -> dict[str, SummedTimes]:
    """Return the time of the whole program with its interval, by each candidate rule."""
    by_correlation = {f"correlation {c:g}": sum_times(time_s, low_s, high_s, c) for c in CORRELATIONS}
    added = SummedTimes(time_s.sum(axis=0), low_s.sum(axis=0), high_s.sum(axis=0))
    return by_correlation | {BOUNDS_ADDED: added}


def half_width_of(total: SummedTimes) -> FloatArray:
    return np.asarray(np.log(total.high_s / total.low_s) / 2)


def errors_correlation(outcomes: list[ProgramOutcome]) -> float:
    """Return the mean product of the errors of two parts, divided by their mean square.

    Errors are in half widths of their interval. Return NaN if no program has two parts.
    """
    products, squares = [], []
    for outcome in outcomes:
        scores = (outcome.part_deviation / outcome.part_half_width).mean(axis=1)
        pairs = np.triu_indices(len(scores), k=1)
        products += (scores[pairs[0]] * scores[pairs[1]]).tolist()
        squares += ((scores[pairs[0]] ** 2 + scores[pairs[1]] ** 2) / 2).tolist()
    return float(np.sum(products) / np.sum(squares)) if products else np.nan


def program_statistics(outcomes: list[ProgramOutcome], refused: int = 0) -> ProgramStatistics:
    """Return the statistics of at least one outcome.

    All programs have the same weight, regardless of their number of thread counts.
    """
    parts = [(np.abs(one.part_deviation) <= one.part_half_width).mean() for one in outcomes]
    return ProgramStatistics(
        programs=len(outcomes),
        refused=refused,
        error=100 * float(np.mean([np.abs(np.expm1(-one.deviation)).mean() for one in outcomes])),
        correlation=errors_correlation(outcomes),
        parts_coverage=100 * float(np.mean(parts)),
        rules={rule: _rule_statistics(outcomes, rule) for rule in outcomes[0].half_width},
    )


def _rule_statistics(outcomes: list[ProgramOutcome], rule: str) -> RuleStatistics:
    inside = [(np.abs(one.deviation) <= one.half_width[rule]).mean() for one in outcomes]
    factor = np.exp(np.median([one.half_width[rule].mean() for one in outcomes]))
    return RuleStatistics(100 * float(np.mean(inside)), float(factor))
