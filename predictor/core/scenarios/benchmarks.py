"""The scaling of the benchmarks of a parallelisation strategy on a platform, and its variation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from predictor.core.answers import Answer, fractions_of, is_decomposed
from predictor.core.database import Database
from predictor.core.errors import PredictionError, UnknownStrategy
from predictor.core.scenarios.scenario import ScenarioQuery
from predictor.core.scenarios.sequential import starts_at_one
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.features import evaluate_curves
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, FRACTION_CURVES, GAUSSIAN_SUM
from profiles.scaling.runs import LEAST_UTILISATION

DEFAULT_LEVEL = 0.9
OTHERS_WEIGHT = 10.0  # weight of all parallel benchmarks of a platform together, in benchmarks of the strategy
OTHERS_COUNT = 3.0  # their weight in the variance, in benchmarks of the strategy
FEWEST_OTHER_BENCHMARKS = 3
MOST_MIGRATED = 12


@dataclass(frozen=True, eq=False)
class Scaling:
    """The scaling of K benchmarks on a platform at J thread counts.

    `loss` (K, J) is ln(n t(n) / t(1)), 0 for the ideal speedup; `features` (K, 84); `fractions` (K, 6, J), None if
    time-only; `largest_n` (K,) is the largest measured n.
    """

    workloads: tuple[int, ...]
    loss: FloatArray
    features: FloatArray
    fractions: FloatArray | None
    largest_n: IntArray
    groups: tuple[int, ...] = ()
    is_migrated: bool = False

    def __len__(self) -> int:
        return len(self.workloads)


def strategy_benchmarks(database: Database, query: ScenarioQuery, n: IntArray) -> Scaling:
    """Return the benchmarks of the strategy on T without A or, if T has none, their predictions there. Raise
    UnknownStrategy if there are neither."""
    strategy, names = query.scenario.strategy, database.workload_table["strategy"]
    of_strategy: BoolArray = np.array([name == strategy for name in names], dtype=np.bool_)
    of_strategy[query.workload] = False
    rows = parallel_rows(database, query.target)
    rows = rows[of_strategy[database.workload_index[rows]]]
    if len(rows):
        groups = _best_groups(database, rows, mix_runtimes=query.setting("mix_runtimes", "never") == "always")
        return measured_scaling(database, rows[np.isin(database.group[rows], groups)], n, groups)
    migrated = migrated_scaling(database, query, np.flatnonzero(of_strategy), n)
    if migrated is None:
        reason = (
            f"no other parallel benchmark of strategy {strategy} was measured on {database.platforms[query.target]} "
            "or can be predicted"
        )
        strategies = sorted({str(name) for name in names} - {"", "unknown", "sequential"})
        raise UnknownStrategy(f"{reason} there; strategies in this database: {', '.join(strategies) or 'none'}")
    return migrated


def parallel_rows(database: Database, platform: int) -> IntArray:
    """Return the rows of a platform that were measured at n = 1 and beyond."""
    rows = database.rows_of_platform(platform)
    scales = np.array([database.curve(row)[0].max(initial=1) > 1 for row in rows.tolist()], dtype=bool)
    usable: IntArray = rows[scales & starts_at_one(database)[rows] & np.isfinite(database.t1_s[rows])]
    return usable


def measured_scaling(database: Database, rows: IntArray, n: IntArray, groups: tuple[int, ...]) -> Scaling:
    """Return the measured scaling of these rows, linear in ln n between thread counts and constant outside them."""
    loss = np.empty((len(rows), len(n)))
    largest = np.empty(len(rows), dtype=np.int64)
    for index, row in enumerate(rows.tolist()):
        counts, time_s = database.curve(row)
        loss[index] = np.interp(np.log(n), np.log(counts), np.log(counts * time_s / database.t1_s[row]))
        largest[index] = counts[-1]
    decomposed = all(database.groups[group].decomposed for group in groups)
    return Scaling(
        workloads=tuple(database.workload_index[rows].tolist()),
        loss=loss,
        features=database.features[rows],
        fractions=fitted_fractions(database, rows, n) if decomposed else None,
        largest_n=largest,
        groups=groups,
    )


def fitted_fractions(database: Database, rows: IntArray, n: IntArray) -> FloatArray:
    """Return the six fractions of profiles of one platform at any n, (K, 6, J), by their fitted curves (Eq. 5-7).

    They are limited to possible values: each in 0..1, and their sum at most 0.99, so that U is at least 0.01. An
    invalid curve counts as 0.
    """
    platform = int(database.platform_index[rows[0]])
    params = database.features[rows].reshape(len(rows), len(CURVE_NAMES), len(ELEMENTS))[:, FRACTION_CURVES]
    gaussian_sum = np.broadcast_to(GAUSSIAN_SUM[FRACTION_CURVES], params.shape[:2])
    bends = float(database.n_nu[platform]), float(database.n_ht[platform])
    fractions = np.clip(np.nan_to_num(evaluate_curves(params, n, *bends, gaussian_sum)), 0.0, 1.0)
    most = 1.0 - LEAST_UTILISATION
    return np.asarray(fractions * np.minimum(1.0, most / np.maximum(fractions.sum(axis=1, keepdims=True), most)))


def migrated_scaling(database: Database, query: ScenarioQuery, workloads: IntArray, n: IntArray) -> Scaling | None:
    """Return the benchmarks that the most platforms have, predicted on T; None if none can be predicted."""
    counts = np.array([len(database.rows_of_workload(workload)) for workload in workloads.tolist()], dtype=np.int64)
    chosen = workloads[np.argsort(-counts, kind="stable")][:MOST_MIGRATED]
    counts_and_one = np.union1d(n, [1])
    answers: dict[int, Answer] = {}
    for workload in chosen.tolist():
        try:
            answer = query.answer(database, workload=workload, references=None, n=tuple(counts_and_one.tolist()))
        except PredictionError:
            continue
        if np.isfinite(answer.time_s).all():
            answers[workload] = answer
    if not answers:
        return None
    is_wanted, on_target = np.isin(counts_and_one, n), parallel_rows(database, query.target)
    decomposed = all(is_decomposed(answer) for answer in answers.values())
    return Scaling(
        workloads=tuple(answers),
        loss=np.stack([np.log(n * answer.time_s[is_wanted] / answer.time_s[0]) for answer in answers.values()]),
        features=np.stack([answer.features for answer in answers.values()]),
        fractions=np.stack([fractions_of(answer)[:, is_wanted] for answer in answers.values()]) if decomposed else None,
        largest_n=np.full(len(answers), database.n_max[query.target]),
        groups=_best_groups(database, on_target, mix_runtimes=False) if len(on_target) else (),
        is_migrated=True,
    )


def all_benchmarks(database: Database, query: ScenarioQuery, alike: Scaling, n: IntArray) -> Scaling | None:
    """Return all parallel benchmarks on T in the groups of `alike`, without A; None if they are fewer than three."""
    rows = parallel_rows(database, query.target)
    rows = rows[np.isin(database.group[rows], alike.groups) & (database.workload_index[rows] != query.workload)]
    return measured_scaling(database, rows, n, alike.groups) if len(rows) >= FEWEST_OTHER_BENCHMARKS else None


def half_width_of_strategy(alike: Scaling, everything: Scaling | None, level: float) -> FloatArray:
    """Return half the width of the interval of ln t(n) for one more program of the strategy (J,); NaN for a single
    benchmark without others.

        h = q(level, K - 1 + o) s sqrt(1 + 1/(K + o)),    s^2 = [(K - 1) s_K^2 + o s_all^2] / (K - 1 + o)

    with Student's quantile q, s_K the standard deviation of the K losses, and s_all that of all parallel benchmarks on
    T, which count as o = 3 (o = 0 if they are fewer than three).

    Parameters: `alike` of K benchmarks; `everything` of all parallel benchmarks, None = fewer than three; `level`,
    0..1, of the interval. No unit: t(n) lies within a factor of exp(h). Source: docs/scenarios.md.

    Example: two benchmarks with L = 0 and 0.2, so s = 0.141 and q(0.9, 1) = 6.31: h = 6.31 * 0.141 sqrt(1.5) = 1.09.

    >>> two = Scaling((0, 1), np.array([[0.0], [0.2]]), np.empty((2, 84)), None, np.array([4, 4]))
    >>> half_width_of_strategy(two, None, 0.9).round(3)
    array([1.094])
    """
    count, others = len(alike), 0.0 if everything is None else OTHERS_COUNT
    spread = alike.loss.var(axis=0, ddof=1) if count > 1 else np.zeros(alike.loss.shape[1])
    of_all = 0.0 if everything is None else everything.loss.var(axis=0, ddof=1)
    freedom = count - 1 + others
    if freedom < 1:
        return np.full(alike.loss.shape[1], np.nan)
    variance = ((count - 1) * spread + others * of_all) / freedom
    return np.asarray(stdtrit(freedom, (1 + level) / 2) * np.sqrt(variance * (1 + 1 / (count + others))))


def _best_groups(database: Database, rows: IntArray, *, mix_runtimes: bool) -> tuple[int, ...]:
    """Return the group with the most of these profiles, decomposed before time-only, followed by those of other
    runtimes if these may be mixed."""
    count = np.bincount(database.group[rows], minlength=len(database.groups))
    best = min(range(len(count)), key=lambda index: (-count[index], not database.groups[index].decomposed, index))
    mine = database.groups[best]
    others = [
        index
        for index, group in enumerate(database.groups)
        if mix_runtimes and index != best and (group.decomposed, group.origin) == (mine.decomposed, mine.origin)
    ]
    return (best, *others)
