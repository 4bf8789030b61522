"""Conversion of a transfer at the knots to an answer: times and overheads at every n, and named candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.answers import Answer, AnswerConfidence, Candidate, DeferredAnswer
from predictor.core.curves import MOST_GRID_VALUES, evaluated_curves, interpolate_rows, shape_range
from predictor.core.distance import tuple_distance
from predictor.core.mpet.beyond import CREDIBILITY, Growth
from predictor.core.mpet.gathering import Evidence
from predictor.core.mpet.hyperparameters import DEFAULTS, ENOUGH
from predictor.core.mpet.transfer import Transfer, downward_shift
from predictor.core.numerics import FEWEST, TINY, known_mean, normal_factor
from predictor.core.reconstruct import LEAST_TIME_SHARE, consistent_curves, fitted_features, log_shares
from predictor.core.references import architecture_warnings, runtimes_of_rows
from profiles.arrays import FloatArray, IntArray
from profiles.scaling.names import CURVE_NAMES, FRACTIONS, RELATIVE_MEASURES
from profiles.scaling.runs import LEAST_UTILISATION
from profiles.scaling.wording import whole_percent

UNKNOWN_SLOPE = 0.1  # of ln t for each ln n: the uncertainty of a curve beyond T's measured range
WIDEST_HALF_WIDTH = np.log(1000.0)  # of ln t
CANDIDATE_PLATFORMS_SHOWN, CANDIDATE_WORKLOADS_SHOWN = 8, 5  # platforms in an answer, and workloads of each
FAR_REFERENCE_DISTANCE = 1.0 - np.exp(-2.0)  # D_p of a reference four times as far as references are from each other
SHAPE_VARIANCE = 1 / 16  # variance per ln t of the range of possible curves between two measured counts


@dataclass(frozen=True)
class MpetConfidence(AnswerConfidence):
    """The numbers by which a reader can judge an answer of `mpet`.

    `references` and `benchmarks` count the platforms and workloads used, `filled_in` the workloads predicted on T.
    `nearest_distance` is the least D_p, `negative_weight` the sum of the negative weights.
    """

    references: int
    benchmarks: int
    filled_in: int
    nearest_distance: float
    negative_weight: float


def answer_from_transfer(
    evidence: Evidence, transfer: Transfer, growth: Growth | None, to_one: Growth | None, level: float
) -> Answer:
    """Return the answer to the query of the evidence. `growth` is the change beyond the thread counts of A, `to_one`
    that below those of T."""
    database, n, mean, u = evidence.database, evidence.asked_n, evidence.mean_curve, transfer.platform_weights
    # Interpolate the differences of the knots from A's mean curve at every n, and at 1 (last); they are constant
    # outside. The interval is widened where T was not measured, by an amount that is not calibrated.
    counts = np.append(n, 1)
    known = counts if growth is None else np.minimum(counts, growth.n[0])
    of_shape = SHAPE_VARIANCE * unknown_shape(evidence, transfer, np.append(evidence.n, known))
    x, at_knots, of_shape = np.log(known), of_shape[: len(evidence.n)], of_shape[len(evidence.n) :]
    gap = transfer.value - downward_shift(at_knots) - mean.at(evidence.log_n)
    log_thread_time = interpolate_rows(gap[None], evidence.n, known)[0] + mean.at(x)
    half_width = np.hypot(np.interp(x, evidence.log_n, transfer.half_width), normal_factor(level) * np.sqrt(of_shape))
    beyond = np.log(counts) - np.log(evidence.largest_on_target if mean.largest_n > 1 else 1)
    half_width += UNKNOWN_SLOPE * np.maximum(np.maximum(beyond, np.log(evidence.least_on_target / counts)), 0.0)
    half_width = np.hypot(half_width, normal_factor(level) * np.interp(x, evidence.log_n, spread_outside(evidence, u)))
    credible_n = None
    if growth is not None:
        log_thread_time += growth.at(growth.value, counts)
        half_width = np.hypot(half_width, growth.at(growth.half_width, counts))
        log_time = (transfer.value - evidence.log_n)[evidence.n <= growth.n[0]]
        credible_n = growth.credible_n(float(log_time.min() - log_time[-1]))
    if to_one is not None:
        inside, share = np.minimum(counts, to_one.n[-1]), unknown_share(evidence, u, counts)
        log_thread_time += share * to_one.at(to_one.value, inside)
        half_width = np.hypot(half_width, share * to_one.at(to_one.half_width, inside))
    half_width = np.minimum(half_width, WIDEST_HALF_WIDTH)[:-1]
    thread_time = np.exp(log_thread_time)
    time_s = thread_time[:-1] / n
    if not can_predict_scaling(evidence):
        time_s[n > 1] = np.nan
    # If A was not measured at n = 1 on most references, and n = 1 is not requested, use t(n) n at the least n as t(1).
    stands_in = 2.0 * evidence.measured_at_one < 1.0 and n.min() > 1
    t1_s = float(thread_time[n.argmin() if stands_in else -1])

    def curves(_: Answer) -> dict[str, FloatArray]:
        is_decomposed = database.groups[evidence.groups[0]].decomposed
        overheads = predict_overheads(evidence, transfer) if is_decomposed else {}
        return consistent_curves(n, time_s, t1_s, overheads)

    def features(answer: Answer) -> FloatArray:
        values = np.stack([time_s, *(answer.curves[name] for name in CURVE_NAMES)])
        n_nu, n_ht = float(database.n_nu[evidence.target]), float(database.n_ht[evidence.target])
        return fitted_features(n, values, n_nu, n_ht)

    return DeferredAnswer(
        {
            "features": features,
            "curves": curves,
            "candidates_t1": lambda _: heaviest_candidates(evidence, transfer, u[0]),
            "candidates_scaling": lambda _: heaviest_candidates(evidence, transfer, u.mean(axis=0)),
        },
        t1_s=t1_s,
        n=n,
        time_s=time_s,
        warnings=answer_warnings(evidence, transfer, credible_n),
        low_s=time_s * np.exp(-half_width),
        high_s=time_s * np.exp(half_width),
        confidence=mpet_confidence(evidence, transfer),
        credible_n=credible_n,
    )


def unknown_share(evidence: Evidence, platform_weights: FloatArray, n: IntArray) -> FloatArray:
    """Return the share of the references, by their weights, on which A was not measured both at n (N,) or less and at
    further counts, (N,)."""
    evaluated, rows = evaluated_curves(evidence.database), evidence.rows[:-1, -1]
    measured = evaluated.measured[:, evaluated.pattern[rows]]
    least = np.where(np.count_nonzero(measured, axis=0) > 1, evaluated.n[measured.argmax(axis=0)], n.max() + 1)
    weights = np.abs(platform_weights).mean(axis=0)
    return np.asarray((least > n[:, None]) @ weights / weights.sum())


def spread_outside(evidence: Evidence, platform_weights: FloatArray) -> FloatArray:
    """Return the deviation over the references of the change of A from the nearest n measured on T to each knot (J,),
    at least that at the knots between, where more references were measured."""
    first, last = np.searchsorted(evidence.n[:-1], [evidence.least_on_target, evidence.largest_on_target])
    place = np.arange(len(evidence.n))
    change = evidence.of_workload - evidence.of_workload[np.clip(place, first, last)]
    weights = np.abs(platform_weights).mean(axis=0) * (evidence.outside == 0) + TINY
    departure = change - np.average(change, axis=1, weights=weights)[:, None]
    deviation = np.sqrt(np.average(departure**2, axis=1, weights=weights))
    below = np.maximum.accumulate((deviation * (place < first))[::-1])[::-1]
    return below + np.maximum.accumulate(deviation * (place > last))


def unknown_shape(evidence: Evidence, transfer: Transfer, n: IntArray) -> FloatArray:
    """Return the range in ln t of the curves at n (N,) that agree with all measurements, (N,).

        sum_p |u_p| range_p(n) / (1 + c)^2,    c = min(R, 32) sum_p |u_p| [p was measured at n],    sum_p |u_p| = 1

    range_p is the `shape_range` of A between the two measured counts next to n on reference p or, outside its range,
    that of the answer between two knots. p counts as measured if n is the largest n of both p and T, or of neither.
    """
    evaluated, rows = evaluated_curves(evidence.database), evidence.rows[:-1, -1]
    patterns, last = evaluated.pattern[rows], len(evaluated.n) - 1
    # Find the grid column of n, or its two neighbours.
    columns = np.minimum(np.searchsorted(evaluated.n, n), last)[:, None]
    below = np.searchsorted(evaluated.n, n, side="right")[:, None] - 1
    left, right = evaluated.left[below, patterns], evaluated.right[columns, patterns]
    rise = evaluated.values[right, rows] - evaluated.values[left, rows]
    of_references = shape_range(rise, evaluated.n[left], evaluated.n[right], n[:, None])
    of_answer = np.zeros(len(n))
    if len(evidence.n) > 1:
        after = np.clip(np.searchsorted(evidence.n, n), 1, len(evidence.n) - 1)
        rise = transfer.value[after] - transfer.value[after - 1]
        of_answer = shape_range(rise, evidence.n[after - 1], evidence.n[after], n)
    ranges = np.where(evaluated.outside[columns, patterns] > 0, of_answer[:, None], of_references)
    weights = np.abs(transfer.platform_weights).mean(axis=0)
    weights /= weights.sum()
    is_comparable = (columns < evaluated.left[-1, patterns]) == (n < evidence.largest_on_target)[:, None]
    measured = evaluated.measured[columns, patterns] & (evaluated.n[columns] == n[:, None]) & is_comparable
    count = min(len(weights), DEFAULTS.neighbours) * (measured @ weights)
    return np.asarray(ranges @ weights / (1.0 + count) ** 2)


def can_predict_scaling(evidence: Evidence) -> bool:
    """Return whether t(n) can be predicted at n > 1.

    This needs curves of A or, if A was measured at n = 1 alone because its references have one thread, curves of T's
    workloads. It is False for a sequential program, and for one measured at n = 1 alone where more threads exist.
    """
    if evidence.mean_curve.largest_n > 1:
        return True
    is_sequential = evidence.database.workload_table["strategy"][evidence.workload] == "sequential"
    could_run_at_more = bool((evidence.database.n_max[evidence.platforms[evidence.has_workload]] > 1).any())
    return evidence.largest_on_target > 1 and not is_sequential and not could_run_at_more


def predict_overheads(evidence: Evidence, transfer: Transfer) -> dict[str, FloatArray]:
    """Return the fractions f and relative measures of A on T at the requested n (J,), by name; NaN = not measured.

    They are predicted from the references with the largest positive weights.

        x = ln((f + e) / (U + e)) for fractions, ln(measure) for measures, e = 1e-4
        x(T,A) = sum_p u_p [x(P,A) + sum_b v_b (x(T,b) - x(P,b))]

    From log shares, all fractions and U are positive and sum to 1. A fraction that is 0 on all references is 0.
    """
    u = np.maximum(transfer.platform_weights.mean(axis=0), 0.0)
    chosen = np.argsort(-u, kind="stable")[:ENOUGH]
    chosen = chosen[u[chosen] > 0]
    platforms = np.append(evidence.platforms[chosen], evidence.target)
    rows = evidence.rows[np.append(chosen, -1)]
    rows[:, :-1][:, ~evidence.measured_on_target] = -1
    at_once = max(1, MOST_GRID_VALUES // (rows.size * len(CURVE_NAMES)))
    of_parts, absent = [], np.ones(len(FRACTIONS), dtype=bool)
    for start in range(0, len(evidence.asked_n), at_once):
        logs, present = log_shares(evidence.database, rows, platforms, evidence.asked_n[start : start + at_once])
        gap = known_mean(logs[-1:, :-1] - logs[:-1, :-1], transfer.workload_weights[:, None, None], axis=1)
        of_parts.append(known_mean(logs[:-1, -1] + gap, u[chosen][:, None, None], axis=0))
        absent &= ~present[:-1, -1].any(axis=0)
    combined = np.concatenate(of_parts, axis=1)
    shares = np.exp(np.minimum(combined[: len(FRACTIONS)], -np.log(LEAST_TIME_SHARE)))
    shares[absent] = 0.0
    fractions = shares / (1.0 + shares.sum(axis=0))
    fractions *= np.minimum(1.0, (1.0 - LEAST_UTILISATION) / np.maximum(fractions.sum(axis=0), LEAST_UTILISATION))
    measures = np.exp(combined[len(FRACTIONS) :])
    return dict(zip((*FRACTIONS, *RELATIVE_MEASURES), np.concatenate([fractions, measures]), strict=True))


def heaviest_candidates(evidence: Evidence, transfer: Transfer, u: FloatArray) -> list[Candidate]:
    """Return the pairs (P,B) with the largest weights. The weight of a reference is divided among its workloads."""
    database = evidence.database
    platforms = np.argsort(-np.abs(u), kind="stable")[:CANDIDATE_PLATFORMS_SHOWN]
    heaviest = np.argsort(-transfer.workload_weights, kind="stable")
    measured = (evidence.rows[platforms, :-1] >= 0) & evidence.measured_on_target
    shares = measured * transfer.workload_weights
    whole = shares.sum(axis=1, keepdims=True)
    weights = (u[platforms, None] * shares / np.where(whole > 0, whole, 1.0)).tolist()
    d_p, d_a = transfer.platform_distance[platforms], transfer.workload_distance
    d_t = tuple_distance(d_p[:, None], d_a).tolist()
    to_platform, to_workload = d_p.tolist(), d_a.tolist()
    candidates = []
    for rank, p in enumerate(platforms.tolist()):
        platform = database.platforms[evidence.platforms[p]]
        for b in heaviest[measured[rank, heaviest]][:CANDIDATE_WORKLOADS_SHOWN].tolist():
            numbers = to_platform[rank], to_workload[b], d_t[rank][b], weights[rank][b]
            candidates.append(Candidate(platform, database.workloads[evidence.workloads[b]], *numbers))
    return candidates


def answer_warnings(evidence: Evidence, transfer: Transfer, credible_n: int | None) -> list[str]:
    """Return sentences on what makes the answer less certain than its interval."""
    database = evidence.database
    warnings = architecture_warnings(database, evidence.target, evidence.platforms)
    of_a, of_target = (runtimes_of_rows(database, rows) for rows in (evidence.rows[:-1, -1], evidence.rows[-1, :-1]))
    if not set(of_a) & set(of_target):
        compared = f"it is compared by those of {', '.join(of_target)}"
        warnings.append(f"no workload of runtime {', '.join(of_a)} was measured on the target: {compared}")
    count = int(np.count_nonzero(evidence.measured_on_target))
    if count < FEWEST:
        warnings.append(f"only {count} workload{'s were' if count > 1 else ' was'} measured on the target")
    count = len(evidence.platforms)
    if count < FEWEST:
        warnings.append(f"only {count} reference machine{'s' if count > 1 else ''}")
    elif transfer.platform_distance.min() > FAR_REFERENCE_DISTANCE:
        warnings.append("no reference behaves like the target: even the nearest is distant")
    if evidence.outliers:
        left_out = "1 profile was" if evidence.outliers == 1 else f"{evidence.outliers} profiles were"
        warnings.append(f"{left_out} left out: contradicted by all others")
    # Warn of requested thread counts that are outside the measured range.
    most, largest, on_target = evidence.asked_n.max(), evidence.mean_curve.largest_n, evidence.largest_on_target
    if most > database.n_max[evidence.target]:
        warnings.append(f"n = {most} is beyond the {database.n_max[evidence.target]} threads of the target")
    if largest == 1 and most > 1:
        measured = "the workload was measured at n = 1 only"
        guess = f"{measured}: beyond, ideal scaling is assumed, corrected by how other workloads scale on the target"
        warnings.append(guess if can_predict_scaling(evidence) else f"no scaling: {measured}")
    elif most > largest:
        how = "beyond, it is extrapolated by scaling laws and by the target's workloads that scale like it up to there"
        warnings.append(f"the workload was measured with at most {largest} threads: {how}")
    if evidence.asked_n.min() < evidence.mean_curve.least_n and evidence.below[1].any():
        fewer = "below, it is extrapolated by scaling laws and other workloads"
        warnings.append(f"the workload was measured with at least {evidence.mean_curve.least_n} threads: {fewer}")
    if evidence.asked_n.min() < evidence.least_on_target:
        fewer = "below, it is extrapolated by scaling laws and the references"
        warnings.append(f"the target was measured with at least {evidence.least_on_target} threads: {fewer}")
    if credible_n is not None and credible_n < most:
        odds = f"{whole_percent(CREDIBILITY)} probable"
        warnings.append(f"a gain beyond n = {credible_n} is not credible: it is less than {odds}")
    if most > on_target and largest > on_target:
        reason = "beyond, its ratio to the references is kept constant"
        warnings.append(f"the target was measured only up to n = {on_target}: {reason}")
    return warnings


def mpet_confidence(evidence: Evidence, transfer: Transfer) -> MpetConfidence:
    """Return the numbers of references and workloads used, and their least distance and negative weight."""
    u = transfer.platform_weights.sum(axis=0) / len(transfer.platform_weights)
    measured = int(np.count_nonzero(evidence.measured_on_target))
    return MpetConfidence(
        references=len(evidence.platforms),
        benchmarks=measured,
        filled_in=len(evidence.workloads) - measured,
        nearest_distance=float(transfer.platform_distance.min()),
        negative_weight=float(np.maximum(-u, 0.0).sum()),
    )
