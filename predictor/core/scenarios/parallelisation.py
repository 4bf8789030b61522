"""Parallelisation of sequential code: t(1) of the program, and the scaling of benchmarks of a strategy (scenario 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import (
    LOW,
    MEDIUM,
    Answer,
    AnswerConfidence,
    Candidate,
    log_half_widths,
    predicted_thread_counts,
    refit_features,
)
from predictor.core.database import Database
from predictor.core.distance import distance, mean_distance
from predictor.core.mpet2020.interpolate import candidate_weights
from predictor.core.normalise import normalise, normaliser_range
from predictor.core.reconstruct import consistent_curves, impossible_elements, predicted_curves
from predictor.core.scenarios.benchmarks import (
    DEFAULT_LEVEL,
    OTHERS_WEIGHT,
    Scaling,
    all_benchmarks,
    half_width_of_strategy,
    strategy_benchmarks,
)
from predictor.core.scenarios.scenario import ScenarioFacts, ScenarioQuery
from predictor.core.scenarios.sequential import MEASURE_ELEMENTS, predict_sequential, sequential_database
from profiles.arrays import FloatArray, IntArray
from profiles.scaling.names import FRACTIONS

FEW_BENCHMARKS = 3
WEIGHT_EXPONENT = 1  # k of r(w) for methods without this setting


@dataclass(frozen=True)
class ParallelisationConfidence(AnswerConfidence):
    """The number of benchmarks of the strategy, and whether t(1) was measured on T."""

    benchmarks: int
    t1_is_measured: bool


@dataclass(frozen=True, eq=False)
class FirstTime:
    """t(1) of A on T in seconds, half the width of the interval of ln t(1), and its source."""

    t1_s: float
    half_width: float = 0.0
    is_own: bool = True
    candidates: tuple[Candidate, ...] = ()
    warnings: tuple[str, ...] = ()


def parallelise(database: Database, query: ScenarioQuery, facts: ScenarioFacts) -> Answer:
    """Return t(n) of a program that runs on one thread only, as if it were parallelised by a strategy (Table 3, row 4).

        t(n) = t(1)/n exp[median of L_B(n), weights r_B and o/N]    every method but mpet2020: curves
        v = sum_B r_B v_T,B / sum_B r_B, then Eq. 3-4                mpet2020: feature vectors

    over the benchmarks B of the strategy on T, or predicted there if T has none. L = ln(n t(n)/t(1)) is the loss at n
    threads. All N parallel benchmarks on T are included with weight o/N each, o = 10, because few benchmarks give
    little information (o = 0 if T has fewer than three). t(1) was measured on T, or is predicted by the method from
    sequential profiles. Of A only n = 1 is used. The weight r(w) (Eq. 22) has w = 1 - the distance of the counters at n
    = 1; without counters all weights are equal.

    Example: t(1) = 12 s; two benchmarks of speedup 2 and 4 at n = 4, so L = ln 2 and 0, and no others: their median is
    ln sqrt(2), and t(4) = 12/4 sqrt(2) = 4.24 s.

    Raises a PredictionError if t(1) or benchmarks are missing.
    """
    n = predicted_thread_counts(database, query.target, query.n)
    alike = strategy_benchmarks(database, query, n)
    first = find_first_time(database, query, facts)
    at_one = sequential_database(database, facts.counted)
    distances = counter_distances(at_one, query.workload, alike.workloads)
    # The weights are r(w) with w = 1 - distance, and equal if any distance is unknown.
    weights = np.ones(len(distances))
    if not np.isnan(distances).any():
        weights = candidate_weights(distances, query.setting("scaling_k", WEIGHT_EXPONENT))
    everything = all_benchmarks(database, query, alike, n)
    if query.predicts_elements:
        answer = _answer_by_vectors(database, query.target, n, alike, weights, first=first)
    else:
        answer = _answer_by_curves(database, query.target, n, alike, weights, first=first, everything=everything)
    level = query.setting("level", DEFAULT_LEVEL)
    half_width = np.hypot(first.half_width, half_width_of_strategy(alike, everything, level))
    has_interval = not np.isnan(half_width).all()
    confidence = LOW if len(alike) < FEW_BENCHMARKS or alike.is_migrated else MEDIUM
    because = f"not parallel yet: scaling estimated from {len(alike)} benchmarks of strategy {query.scenario.strategy}"
    return replace(
        answer,
        candidates_t1=list(first.candidates),
        candidates_scaling=_candidates(database, query.target, alike, distances, weights),
        warnings=[
            *_warnings(database, query, alike, n),
            *_warnings_about_first(database, query, first),
            *answer.warnings,
        ],
        low_s=answer.time_s * np.exp(-half_width) if has_interval else None,
        high_s=answer.time_s * np.exp(half_width) if has_interval else None,
        confidence=ParallelisationConfidence(benchmarks=len(alike), t1_is_measured=first.is_own),
        lowered=((confidence, because),),
        largest_measured_n=int(alike.largest_n.max()),
    )


def find_first_time(database: Database, query: ScenarioQuery, facts: ScenarioFacts) -> FirstTime:
    """Return t(1) on T: the measured one, unless the references exclude T; else a prediction."""
    if query.references is None or query.target in query.references:
        at_one = sequential_database(database, facts.counted)
        row = int(at_one.lookup(query.target, query.workload, range(len(at_one.groups))))
        if row >= 0:
            return FirstTime(float(at_one.t1_s[row]))
    answer = predict_sequential(database, query, facts)
    half_width = float(np.nan_to_num(log_half_widths(answer)[0]))
    return FirstTime(answer.t1_s, half_width, False, tuple(answer.candidates_t1), tuple(answer.warnings))


def counter_distances(at_one: Database, workload: int, others: tuple[int, ...]) -> FloatArray:
    """Return D_a(A,B) by the relative measures at n = 1, mean over the platforms that have both (Eq. 18), (K,).

        D_a(A,B) = mean over P of D(v_P,A, v_P,B)

    Parameters: `at_one`, a result of `sequential_database`; `workload` A; `others`, the K workloads B. No unit, 0 to 1;
    NaN if no platform has both with a common measure. Each measure is normalised by the range that a few profiles
    cannot stretch (`robust_range`). Source: Arndt et al. 2020, Eq. 10-13 and 18.

    >>> from predictor.core.database import Group
    >>> features = np.full((3, 84), np.nan); features[:, 43] = 0.0, 0.25, 1.0  # b of BR/INSTR
    >>> three = Database.build(
    ...     platforms=["p"], workloads=["u", "v", "w"], platform_index=[0, 0, 0], workload_index=[0, 1, 2],
    ...     groups=(Group(False, "", ""),), group=[0, 0, 0], features=features, t1_s=[1.0, 1.0, 1.0],
    ...     n_nu=[np.nan], n_ht=[np.nan], n_max=[4])
    >>> counter_distances(three, 0, (1, 2)).tolist()
    [0.25, 1.0]
    """
    rows = at_one.rows_of_workload(workload)
    if not len(rows) or not others:
        return np.full(len(others), np.nan)
    low, high = normaliser_range(at_one, at_one.groups[at_one.group[rows[0]]].origin, "robust")
    low, high = low[MEASURE_ELEMENTS], high[MEASURE_ELEMENTS]
    theirs = at_one.lookup(at_one.platform_index[rows][:, None], np.array(others), range(len(at_one.groups)))
    counters = normalise(at_one.features[rows[:, None], MEASURE_ELEMENTS], low, high).clip(0.0, 1.0)
    other = normalise(at_one.features[theirs[:, :, None], MEASURE_ELEMENTS], low, high).clip(0.0, 1.0)
    other[theirs < 0] = np.nan
    return mean_distance(distance(other, counters[:, None]), axis=0)


def _answer_by_curves(
    database: Database,
    target: int,
    n: IntArray,
    alike: Scaling,
    weights: FloatArray,
    *,
    first: FirstTime,
    everything: Scaling | None,
) -> Answer:
    """Return the answer from the weighted median of the logarithmic losses and the weighted means of the fractions, of
    the benchmarks that are alike and of all of them together."""
    weight_of_all = 0.0 if everything is None else OTHERS_WEIGHT
    total = weights.sum() + weight_of_all
    shares, share_of_all = weights / total, weight_of_all / total
    losses, shares_of_losses = alike.loss, shares
    if everything is not None:
        losses = np.vstack([losses, everything.loss])
        shares_of_losses = np.append(shares, np.full(len(everything), share_of_all / len(everything)))
    time_s = first.t1_s / n * np.exp(weighted_median(losses, shares_of_losses))
    overheads = {}
    if alike.fractions is not None:
        fractions = np.einsum("k,kfj->fj", shares, alike.fractions)
        if everything is not None and everything.fractions is not None:
            fractions += share_of_all * everything.fractions.mean(axis=0)
        overheads = dict(zip(FRACTIONS, fractions, strict=True))
    curves = consistent_curves(n, time_s, first.t1_s, overheads)
    bends = float(database.n_nu[target]), float(database.n_ht[target])
    return refit_features(Answer(first.t1_s, n, time_s, np.empty(0), curves, [], []), *bends)


def weighted_median(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted median of each column of values (K, J), with weights (K,) of a positive sum.

    It is interpolated linearly in the cumulative weight between the middles of the two values around half the weight.
    With equal weights it is the ordinary median.

    >>> weighted_median(np.array([[1.0], [2.0], [4.0], [8.0]]), np.ones(4))
    array([3.])
    >>> weighted_median(np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 1.0, 2.0])).round(3)
    array([2.667])
    """
    order = np.argsort(values, axis=0, kind="stable")
    ranked, weight = np.take_along_axis(values, order, axis=0), weights[order]
    middles = weight.cumsum(axis=0) - weight / 2
    half = weights.sum() / 2
    return np.array([np.interp(half, middles[:, j], ranked[:, j]) for j in range(values.shape[1])])


def _answer_by_vectors(
    database: Database, target: int, n: IntArray, alike: Scaling, weights: FloatArray, *, first: FirstTime
) -> Answer:
    """Return the answer from the weighted mean of the feature vectors, element by element, and its curves."""
    valid = ~np.isnan(alike.features)
    weight = np.where(valid, weights[:, None], 0.0)
    total = weight.sum(axis=0)
    mean = (np.where(valid, alike.features, 0.0) * weight).sum(axis=0) / np.where(total > 0, total, 1.0)
    bends = float(database.n_nu[target]), float(database.n_ht[target])
    vector = np.where((total > 0) & ~impossible_elements(*bends), mean, np.nan)
    decomposed = alike.fractions is not None
    curves = predicted_curves(database, target, first.t1_s, vector, n, decomposed=decomposed)
    return Answer(first.t1_s, n, curves.time_s, vector, curves.curves, [], [], curves.warnings)


def _candidates(
    database: Database, target: int, alike: Scaling, distances: FloatArray, weights: FloatArray
) -> list[Candidate]:
    """Return the benchmarks as candidates (T,B), at distance 0 from the platform if they were measured there."""
    d_p = None if alike.is_migrated else 0.0
    slug, names = database.platforms[target], database.workloads
    candidates = []
    for workload, d, weight in zip(alike.workloads, distances.tolist(), weights.tolist(), strict=True):
        d_a = None if np.isnan(d) else d
        d_t = None if d_p is None else d_a
        candidates.append(Candidate(slug, names[workload], d_p, d_a, d_t, weight))
    return candidates


def _warnings(database: Database, query: ScenarioQuery, alike: Scaling, n: IntArray) -> list[str]:
    sentences = []
    strategy, target = query.scenario.strategy, query.target
    if alike.is_migrated:
        sentences.append(
            f"no benchmark of strategy {strategy} was measured on {database.platforms[target]}: predictions are used"
        )
    if len(alike) < FEW_BENCHMARKS:
        sentences.append(f"only {len(alike)} benchmark{'s' if len(alike) > 1 else ''} of strategy {strategy}")
    largest = int(alike.largest_n.max())
    if n.max() > largest:
        sentences.append(
            f"no benchmark of strategy {strategy} is known beyond {largest} threads: its efficiency is kept constant"
        )
    if n.max() > database.n_max[target]:
        sentences.append(f"n = {n.max()} is beyond the {database.n_max[target]} threads of the target")
    return sentences


def _warnings_about_first(database: Database, query: ScenarioQuery, first: FirstTime) -> list[str]:
    sentences = [f"t(1) was measured on {database.platforms[query.target]}"] if first.is_own else []
    rows = database.rows_of_workload(query.workload).tolist()
    if any(database.curve(row)[0].max(initial=1) > 1 for row in rows):
        sentences.append("the workload was also measured in parallel: only n = 1 is used here")
    return [*sentences, *first.warnings]
