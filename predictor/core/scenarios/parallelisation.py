"""Code that is not parallel yet: t(1) of the program, and the scaling of benchmarks of a strategy (scenario 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from predictor.core.answers import Answer, Candidate, Method, Query
from predictor.core.candidates import check_query
from predictor.core.database import Database, FloatArray, IntArray
from predictor.core.distance import distance, mean_distance
from predictor.core.interpolate import candidate_weights
from predictor.core.normalise import normalise
from predictor.core.reconstruct import impossible_elements, predicted_curves, thread_counts
from predictor.core.scenarios.benchmarks import Scaling, benchmarks_of, spread
from predictor.core.scenarios.outcome import LOW, MEDIUM, Outcome, refitted
from predictor.core.scenarios.sequential import B, predict_sequential, sequential_database
from profiles.scaling.names import CURVE_NAMES, FRACTIONS

FEW = 3
WEIGHT_EXPONENT = 1  # k of r(w) where the method has none of its own


@dataclass(frozen=True, eq=False)
class FirstTime:
    """t(1) of A on T in seconds, half the interval of ln t(1), and where it comes from."""

    t1_s: float
    half_width: float = 0.0
    is_own: bool = True
    candidates: tuple[Candidate, ...] = ()
    warnings: tuple[str, ...] = ()


def parallelise(
    database: Database,
    query: Query,
    strategy: str,
    method: Method[Any],
    settings: Any,
    counted: FloatArray | None = None,
) -> Outcome:
    """t(n) of a program that runs on one thread only, were it parallelised by `strategy` (Table 3, row 4).

        t(n) = t(1)/n exp(sum_B r_B ln(n t_B(n)/t_B(1)) / sum_B r_B)    every method but mpet2020: curves
        v = sum_B r_B v_T,B / sum_B r_B, then Eq. 3-4                    mpet2020: feature vectors

    over the benchmarks B of the strategy on T (where T has none: as the method predicts them there). t(1) was measured
    on T, or is carried over by the method from sequential profiles. Nothing of A but n = 1 takes part. The weight r(w)
    (Eq. 22) has w = 1 - the distance of the counters at n = 1; without counters all weigh the same.

    Raises a PredictionError where t(1) or benchmarks are missing.
    """
    check_query(database, query)
    n = thread_counts(database, query.target, query.n)
    alike = benchmarks_of(database, query, strategy, method, settings, n)
    first = first_time(database, query, method, settings, counted)
    distances = counter_distances(database, query.workload, alike.workloads, counted)
    exponent = getattr(settings, "scaling_k", None)
    weights = strategy_weights(distances, WEIGHT_EXPONENT if exponent is None else exponent)
    combined = _by_curves if exponent is None else _by_vectors
    answer = combined(database, query.target, n, alike, weights, first)
    half_width = np.hypot(first.half_width, spread(database, query, alike, n, settings))
    answer = replace(
        answer,
        candidates_t1=list(first.candidates),
        candidates_scaling=_candidates(database, query.target, alike, distances, weights),
        warnings=[*_warnings(database, query, strategy, alike, first, n), *first.warnings, *answer.warnings],
        low_s=None if np.isnan(half_width).all() else answer.time_s * np.exp(-half_width),
        high_s=None if np.isnan(half_width).all() else answer.time_s * np.exp(half_width),
        confidence={"benchmarks": len(alike), "t1_is_measured": first.is_own},
    )
    return Outcome(answer, lowered=_reasons(strategy, alike), largest_measured_n=int(alike.largest_n.max()))


def first_time(
    database: Database, query: Query, method: Method[Any], settings: Any, counted: FloatArray | None
) -> FirstTime:
    """t(1) on T: measured there, unless the references leave T out; else carried over."""
    if query.references is None or query.target in query.references:
        known = sequential_database(database, counted)
        row = int(known.lookup(query.target, query.workload, range(len(known.groups))))
        if row >= 0:
            return FirstTime(float(known.t1_s[row]))
    answer = predict_sequential(database, query, method, settings, counted)
    has_interval = answer.low_s is not None and answer.high_s is not None
    half_width = float(np.log(answer.high_s[0] / answer.low_s[0]) / 2) if has_interval else 0.0  # type: ignore[index]
    return FirstTime(answer.t1_s, half_width, False, tuple(answer.candidates_t1), tuple(answer.warnings))


def counter_distances(
    database: Database, workload: int, others: tuple[int, ...], counted: FloatArray | None = None
) -> FloatArray:
    """D_a(A,B) by the relative measures at n = 1, mean over the platforms that have both (Eq. 18), (K,). NaN = none."""
    known = sequential_database(database, counted)
    rows = known.rows_of_workload(workload)
    if not len(rows) or not others:
        return np.full(len(others), np.nan)
    low, high = known.element_range(known.groups[known.group[rows[0]]].origin)
    theirs = known.lookup(known.platform_index[rows][:, None], np.array(others), range(len(known.groups)))
    own = normalise(known.features[rows[:, None], B], low[B], high[B])
    other = normalise(known.features[theirs[:, :, None], B], low[B], high[B])
    other[theirs < 0] = np.nan
    return mean_distance(distance(other, own[:, None]), axis=0)


def strategy_weights(distances: FloatArray, exponent: int) -> FloatArray:
    """r(w) of each benchmark, w = 1 - distance; 1 for all where a distance is not known.

    >>> strategy_weights(np.array([0.1, 0.2, 0.3]), 1).round(9).tolist()
    [1.0, 0.5, 0.0]
    """
    return np.ones(len(distances)) if np.isnan(distances).any() else candidate_weights(distances, exponent)


def _by_curves(
    database: Database, target: int, n: IntArray, alike: Scaling, weights: FloatArray, first: FirstTime
) -> Answer:
    """The weighted mean of what n threads lose, as logarithms; fractions as weighted means."""
    share = weights / weights.sum()
    time_s = first.t1_s / n * np.exp(share @ alike.loss)
    curves = {name: np.full(len(n), np.nan) for name in CURVE_NAMES}
    used = np.ones(len(n))
    if alike.fractions is not None:
        fractions = np.einsum("k,kfj->fj", share, alike.fractions)
        curves |= dict(zip(FRACTIONS, fractions, strict=True))
        used = 1.0 - fractions.sum(axis=0)
    curves |= {"redundancy": n * time_s * used / first.t1_s, "utilisation": used}
    answer = Answer(first.t1_s, n, time_s, np.empty(0), curves, [], [])
    return refitted(answer, float(database.n_nu[target]), float(database.n_ht[target]))


def _by_vectors(
    database: Database, target: int, n: IntArray, alike: Scaling, weights: FloatArray, first: FirstTime
) -> Answer:
    """The weighted mean of the feature vectors, element by element, and the curves that it stands for."""
    valid = ~np.isnan(alike.features)
    weight = np.where(valid, weights[:, None], 0.0)
    total = weight.sum(axis=0)
    mean = (np.where(valid, alike.features, 0.0) * weight).sum(axis=0) / np.where(total > 0, total, 1.0)
    impossible = impossible_elements(float(database.n_nu[target]), float(database.n_ht[target]))
    vector = np.where((total > 0) & ~impossible, mean, np.nan)
    curves = predicted_curves(database, target, first.t1_s, vector, n, decomposed=alike.fractions is not None)
    return Answer(first.t1_s, n, curves.time_s, vector, curves.curves, [], [], curves.warnings)


def _candidates(
    database: Database, target: int, alike: Scaling, distances: FloatArray, weights: FloatArray
) -> list[Candidate]:
    """The benchmarks as candidates (T,B): on T itself, so at no distance from it."""
    apart = None if alike.is_migrated else 0.0
    found = []
    for workload, one, weight in zip(alike.workloads, distances.tolist(), weights.tolist(), strict=True):
        d_a = None if np.isnan(one) else one
        d_t = None if apart is None else d_a
        found.append(Candidate(database.platforms[target], database.workloads[workload], apart, d_a, d_t, weight))
    return found


def _warnings(
    database: Database, query: Query, strategy: str, alike: Scaling, first: FirstTime, n: IntArray
) -> list[str]:
    found = []
    target = database.platforms[query.target]
    if first.is_own:
        found.append(f"t(1) is the one measured on {target}")
    if alike.is_migrated:
        found.append(
            f"no benchmark of strategy {strategy} was measured on {target}: they are predicted there themselves"
        )
    elif len(alike) < FEW:
        found.append(f"{len(alike)} benchmarks of strategy {strategy} only")
    rows = database.rows_of_workload(query.workload)
    if any(database.curve(row)[0].max(initial=1) > 1 for row in rows.tolist()):
        found.append("the workload was measured in parallel; of that n = 1 alone takes part here")
    largest = int(alike.largest_n.max())
    if n.max() > largest:
        found.append(
            f"no benchmark of the strategy was measured beyond {largest} threads: the efficiency there is held"
        )
    if n.max() > database.n_max[query.target] and not alike.is_migrated:
        found.append(f"n = {n.max()} is beyond the {database.n_max[query.target]} threads of the target")
    return found


def _reasons(strategy: str, alike: Scaling) -> tuple[tuple[int, str], ...]:
    level = LOW if len(alike) < FEW or alike.is_migrated else MEDIUM
    return ((level, f"not parallel yet: the scaling is that of {len(alike)} benchmarks of strategy {strategy}"),)
