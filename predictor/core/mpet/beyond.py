"""Extrapolation of a workload beyond, and below, the thread counts at which it was measured.

The prediction is a weighted mean over scaling laws and over the curves of the other workloads of the target, its
*companions*. The weight of each depends on its agreement with A inside the measured range, on the references. The
interval is calibrated on the errors for the companions, each left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Literal

import numpy as np

from predictor.core.arrays import distinct_codes, evenly_spaced
from predictor.core.curves import evaluated_curves, interpolate_rows
from predictor.core.database import Database, Group
from predictor.core.metadata import smt_begins, weights_by_name, workload_name_vectors
from predictor.core.mpet.gathering import Evidence, application_families
from predictor.core.mpet.hyperparameters import ENOUGH, LEAST_LOG_ERROR, MOST_COUNTS, SOME_COUNTS
from predictor.core.mpet.transfer import downward_shift
from predictor.core.numerics import FEWEST, TINY, deviation_factors, mean_square, normal_factor, shares_by_error
from predictor.core.reconstruct import log_utilisation
from profiles.arrays import FloatArray, IntArray

Part = Literal["all", "use", "idle"]  # of the thread time
WHOLE_PROGRAMS = Group(decomposed=True, runtime="threads", origin="measured")  # the profiles of `mpet sweep`
SMT_GAIN = 0.25  # performance that a second hardware thread adds to a core, in cores
SLOWEST = 1.5  # the largest t(n) / t(1) of any law
LAWS_WEIGHT = 6.0  # weight of all scaling laws together, in companions
AGREEMENT_SCALES = (0.03, 0.1, 0.3)  # of ln t: differences from A's growth up to which a curve has its full weight
BEST_SHARE = 0.2  # share of the companions, those that scale best on a machine
MACHINE_SHARE = 0.5  # share of their losses beyond the measured n that are the machine's, not their own
CREDIBILITY = 0.9  # least probability of a credible gain
LEAST_GAIN = 0.05  # of ln t: a smaller difference is not a gain


@cache
def scaling_laws() -> FloatArray:
    """Return the 332 scaling laws of the prior (9, L): the probability of each, with sum 1, then its parameters sigma,
    kappa, limit, relief, floor, whether it is a law of the load (1 or 0), load, and smt.

    The parameters are in logarithmic steps that measured curves cannot distinguish.

    >>> scaling_laws().shape, round(float(scaling_laws()[0].sum()), 9)
    ((9, 332), 1.0)
    """
    sigmas = np.concatenate([[0.0], np.geomspace(1e-3, 0.5, 12), [0.7, 0.85, 0.95]])
    kappas = np.geomspace(1e-5, 0.3, 10)
    limits = np.geomspace(2.0, 256.0, 8)
    caches = [(relief, floor) for relief in (0.05, 0.1, 0.2, 0.4) for floor in (0.8, 0.5, 0.25)]
    # Losses of ln t with all hardware threads at work (lower clock, shared caches), and with a second thread on each
    # core. Their sum is at most 0.6, because on two cores a program that does not scale at all loses ln 2.
    losses = [(load, smt) for load in (0.0, 0.1, 0.2, 0.35, 0.5) for smt in (0.0, 0.15, 0.3, 0.45) if load + smt <= 0.6]
    kinds = [  # the probability of each kind; within a kind all laws are equally probable
        (0.17, [(1.0, 0.0, np.inf, 0.0, 1.0, 0.0, 0.0, 0.0)]),  # serial
        (0.22, [(sigma, 0.0, np.inf, 0.0, 1.0, 0.0, 0.0, 0.0) for sigma in sigmas]),  # Amdahl's
        (0.10, [(sigma, kappa, np.inf, 0.0, 1.0, 0.0, 0.0, 0.0) for sigma in sigmas for kappa in kappas]),  # USL
        (0.22, [(sigma, 0.0, limit, 0.0, 1.0, 0.0, 0.0, 0.0) for sigma in sigmas for limit in limits]),  # saturation
        (0.06, [(0.0, 0.0, np.inf, relief, floor, 0.0, 0.0, 0.0) for relief, floor in caches]),
        (0.18, [(0.0, 0.0, np.inf, 0.0, 1.0, 1.0, load, smt) for load, smt in losses]),
        (0.05, [(0.0, 0.0, np.inf, 0.0, 1.0, 1.0, 0.0, float(np.log(2.0)))]),  # a second thread adds nothing
    ]
    return np.array([(share / len(laws), *law) for share, laws in kinds for law in laws]).T


def law_thread_times(n: FloatArray, cores: FloatArray, n_max: float, n_ht: float, part: Part = "all") -> FloatArray:
    """Return ln(n t(n) / t(1)) of every law at thread counts n (J,) that are equivalent to m cores (J,), (J, L).

        R(m) = min(max(1 + sigma (m - 1) + kappa m (m - 1), m / limit) * max(m^-relief, floor), 1.5 m)

    is the redundancy. `sigma` is the serial part (Amdahl) or contention, `kappa` coherence (USL). Beyond `limit` cores
    a shared resource, such as the memory bandwidth, is saturated. `relief` and `floor` describe that more cores have
    more cache, until the data fit. n threads take at most 1.5 times as long as one; one in a hundred programs takes
    longer. Laws of the load have R = 1, and depend on the share of the `n_max` hardware threads at work:

        ln(n t(n) / t(1)) = load n / n_max + smt (n - n_ht) / (n_max - n_ht)

    The second term starts at `n_ht`, from which cores have a second thread. Without SMT (`n_ht` is NaN) the factor of
    smt is n / n_max, except in the law with smt = ln 2 (a second thread adds nothing), where it is 0.

    By parts of the thread time: the serial part is idle time, load and coherence are useful work that takes longer, and
    a limit may be either.

    >>> n = np.array([1.0, 8.0])
    >>> times = law_thread_times(n, np.array([1.0, 5.0]), 8.0, 4.0)
    >>> np.exp(times[:, 0]).round(9).tolist()  # Amdahl's law without a parallel part
    [1.0, 8.0]
    >>> times[:, -2].tolist()  # lost to the machine's load
    [0.0625, 0.5]
    >>> np.exp(times[:, -1]).round(9).tolist()  # only the four cores work
    [1.0, 2.0]
    """
    _, sigma, kappa, limit, relief, floor, is_of_load, load, smt = scaling_laws()
    m = cores[:, None]
    serial, coherence = sigma * (m - 1.0) * (part != "use"), kappa * m * (m - 1.0) * (part != "idle")
    redundancy = np.maximum(1.0 + serial + coherence, m / limit)
    if part == "idle":
        return np.asarray(np.where(is_of_load > 0, 0.0, np.log(np.minimum(redundancy, SLOWEST * m))))
    redundancy *= np.maximum(m**-relief, floor)
    redundancy = np.minimum(redundancy, SLOWEST * m)
    at_work = np.minimum(n / n_max, 1.0)
    if n_ht < n_max:
        of_load = at_work[:, None] * load + np.clip((n - n_ht) / (n_max - n_ht), 0.0, 1.0)[:, None] * smt
    else:
        of_load = at_work[:, None] * (load + np.where(smt < np.log(2.0), smt, 0.0))
    return np.asarray(np.where(is_of_load > 0, of_load, np.log(redundancy * n[:, None] / m)))


@dataclass(frozen=True, eq=False)
class Growth:
    """The change of ln(n t(n)) of A from a measured thread count `n[0]` to further counts `n` (J,): on T from the last
    measured count upwards, or on a reference from the first one downwards.

    `half_width` (J,) is half the interval of the change. `curves` (J, K) are possible changes and `weights` (J, K)
    their probabilities, with sum 1 at every n.
    """

    n: IntArray
    value: FloatArray
    half_width: FloatArray
    curves: FloatArray
    weights: FloatArray

    def at(self, values: FloatArray, n: IntArray) -> FloatArray:
        """Return `values` (J,) interpolated at any n, linear in ln n, with the last slope beyond the last count."""
        x, known = np.log(n), np.log(self.n)
        slope = (values[-1] - values[-2]) / (known[-1] - known[-2])
        return np.asarray(np.interp(x, known, values) + slope * np.maximum(x - known[-1], 0.0))

    def credible_n(self, least: float) -> int:
        """Return the largest n at which a gain over every smaller n is 90 % probable, or the last measured n.

        `least` is ln t of the fastest measured n minus ln t of the last measured n.
        """
        log_times = self.curves - np.log(self.n / self.n[0])[:, None]
        fastest, best = np.full(log_times.shape[1], least), 0
        for j in range(1, len(self.n)):
            if self.weights[j][log_times[j] < fastest - LEAST_GAIN].sum() >= CREDIBILITY:
                fastest, best = log_times[j], j
        return int(self.n[best])


@dataclass(frozen=True, eq=False)
class Agreement:
    """The agreement of A with K curves, companions then laws, inside the measured range, in a part of the thread time.

    `distance` (S + 1, K) is the mean squared difference in ln t of some of the curves, the `subjects` (S,), and of A
    (last), from each curve. `prior` (2, S + 1, K) are prior weights: without names, and by the similarity of names, 0
    for the curves that are left out with a subject, its family of `families` (B,); None: A alone is predicted.
    `growth` (F, B) are changes of companions between `columns` (F, 2) on a reference, without losses of the machine.
    """

    part: Part
    families: IntArray | None
    prior: FloatArray
    subjects: IntArray
    distance: FloatArray
    growth: FloatArray
    columns: IntArray

    @cached_property
    def weights(self) -> list[FloatArray]:
        """The weights prior / (scale^2 + distance)^2 of all curves for each subject and A, (S + 1, K), or without
        families for A alone, (1, K); for each scale and prior."""
        rows = slice(None) if self.families is not None else slice(-1, None)
        unlike = [(scale**2 + self.distance[rows]) ** 2 for scale in AGREEMENT_SCALES]
        return [prior / of_scale for of_scale in unlike for prior in self.prior[:, rows]]


def growth_beyond(evidence: Evidence, level: float) -> Growth | None:
    """Return the growth of A on T beyond the largest measured n, or None if no such n is requested.

    The counts of the growth depend on T alone, because the answer at one n must not depend on the other requested n.
    """
    last = evidence.mean_curve.largest_n
    if last == 1 or evidence.asked_n.max() <= last:
        return None
    n = growth_counts(evidence.database, evidence.target, evidence.rows[-1, :-1], last)
    return _growth_on_target(evidence, n, level)


def growth_to_one(evidence: Evidence, level: float) -> Growth | None:
    """Return the growth of A on T from the least n measured on T down to n = 1, by scaling laws that agree with A on
    the references; None if that is 1. The counts ascend."""
    first = evidence.least_on_target
    if first == 1:
        return None
    powers = 2 ** np.arange(np.ceil(np.log2(first)), dtype=np.int64)
    growth = _growth_on_target(evidence, np.append(powers, first)[::-1], level)
    return Growth(**{name: values[::-1] for name, values in vars(growth).items()})


def _growth_on_target(evidence: Evidence, n: IntArray, level: float) -> Growth:
    database, target, companions = evidence.database, evidence.target, np.flatnonzero(evidence.measured_on_target)
    rows = evidence.rows.take(np.append(companions, len(evidence.workloads)), axis=1)
    families = application_families(evidence)[companions]
    agreements = agreements_inside(database, rows[:-1], evidence.platforms, evidence.workloads[companions], families)
    # If T has fewer threads than n[0] there is no such knot; then no companion was measured beyond it either.
    at_first = evidence.curves[np.searchsorted(evidence.n[:-1], n[0]), -1, companions]
    return growth_on_platform(database, target, rows[-1, :-1], n, at_first, agreements=agreements, level=level)


def with_growth_below(evidence: Evidence, level: float) -> Evidence:
    """Return the evidence with the `growth_below`; `of_workload` becomes the mean of it and of the mean curve."""
    if not evidence.outside[0].any():  # A was measured down to the least knot on every reference
        return evidence
    rows, evaluated, families = evidence.rows[:-1], evaluated_curves(evidence.database), application_families(evidence)
    knots = np.searchsorted(evaluated.n, evidence.n)
    known, *growth = growth_below(
        evidence.database, rows, evidence.platforms, evidence.workloads, knots, families=families, level=level
    )
    mixed = evidence.of_workload + known * (evaluated.at(rows[:, -1], knots) + growth[0] - evidence.of_workload) / 2.0
    return replace(evidence, below=known * np.array(growth), of_workload=mixed)


def growth_below(
    database: Database,
    rows: IntArray,
    platforms: IntArray,
    workloads: IntArray,
    knots: IntArray,
    *,
    families: IntArray | None = None,
    level: float = CREDIBILITY,
) -> FloatArray:
    """Return the growth of A on each reference below its least measured n, (3, J, R): the share in 0..1 to which it is
    known, the mean change of ln(n t(n)) to the knots, and half the interval of that change.

    The share is that of the companions measured at n on the reference, each weighted by its squared prior. Companions
    that were not measured there either contain the same loss as A, which then cancels in ratios between machines. For
    references with the same least n, the growth is computed on the one with most companions. No downward shift is
    applied. `knots` are columns of the grid.
    """
    evaluated, companions = evaluated_curves(database), np.count_nonzero(rows[:, :-1] >= 0, axis=1)
    first = evaluated.measured[:, evaluated.pattern[rows[:, -1]]].argmax(axis=0)
    found = np.zeros((3, len(knots), len(rows)))
    if first.max() <= knots[0]:
        return found
    agreements = agreements_inside(database, rows, platforms, workloads, families)
    weights = (rows[:, :-1] >= 0) * agreements[0].prior[1, -1, : len(workloads)] ** 2
    known = np.einsum("jrb,rb->jr", evaluated.inside[knots][:, evaluated.pattern[rows[:, :-1]]], weights)
    found[0] = known / (weights.sum(axis=1) + TINY) * (knots[:, None] < first)
    for start in distinct_codes(first[found[0].any(axis=0)]).tolist():
        same_start, below = np.flatnonzero(first == start), np.flatnonzero(knots < start)[::-1]
        p = int(same_start[companions[same_start].argmax()])
        platform, of_p, n = int(platforms[p]), rows[p, :-1], evaluated.n[np.append(start, knots[below])]
        at_first = evaluated.at(of_p, np.array([start]))[0]
        growth = growth_on_platform(database, platform, of_p, n, at_first, agreements=agreements, level=level)
        found[1][np.ix_(below, same_start)] = (growth.curves * growth.weights).sum(axis=1)[1:, None]
        found[2][np.ix_(below, same_start)] = growth.half_width[1:, None]
    return found


def agreements_inside(
    database: Database, rows: IntArray, platforms: IntArray, workloads: IntArray, families: IntArray | None = None
) -> tuple[Agreement, ...]:
    """Return the agreement in the whole thread time or, for a whole program with measured processor time, in useful
    work and idle time: unlike the loops of its companions, a program reads, starts and writes on one thread.
    """
    group = database.groups[database.group[rows[:, -1].max()]]
    parts: tuple[Part, ...] = ("use", "idle") if group == WHOLE_PROGRAMS else ("all",)
    return tuple(agreement_inside(database, rows, platforms, workloads, families, part=part) for part in parts)


def growth_on_platform(
    database: Database,
    platform: int,
    rows: IntArray,
    n: IntArray,
    at_first: FloatArray,
    *,
    agreements: tuple[Agreement, ...],
    level: float = CREDIBILITY,
) -> Growth:
    """Return the growth of A on a platform: the `mixed_growth`, or the sum of those of two parts with independent
    errors. The other parameters are those of `courses_on_platform`.
    """
    of_parts = []
    for agreement in (agreement_on_platform(database, platform, rows, each) for each in agreements):
        courses = courses_on_platform(database, platform, rows, n, at_first, part=agreement.part)
        of_parts.append(mixed_growth(n, agreement, courses, level))
    if len(of_parts) == 1:
        return of_parts[0]
    use, idle = of_parts
    half_width = np.hypot(use.half_width, idle.half_width)
    # Use the laws of the idle time, with their spread scaled to the uncertainty of both parts together.
    wider = (half_width + TINY) / (idle.half_width + TINY)
    curves = use.value[:, None] + idle.value[:, None] + wider[:, None] * (idle.curves - idle.value[:, None])
    return Growth(n, use.value + idle.value, half_width, curves, idle.weights)


def agreement_on_platform(database: Database, platform: int, rows: IntArray, agreement: Agreement) -> Agreement:
    """Return the agreement with larger distances of companions that scale worse on the references than on T (their
    `rows` (B,), -1 = none).

    They scale badly on one machine only, for example because their data do not fit into memory there. This says little
    about A, whose growth on T is unknown. Losses of the machines are subtracted (`cores_worth`; with SMT, what a second
    thread that adds nothing loses), and differences of up to 0.3 of ln t ignored. T is one of F + 1 comparisons.
    """
    evaluated, (columns, place) = evaluated_curves(database), np.unique(agreement.columns, return_inverse=True)
    n, inside = evaluated.n[columns].astype(np.float64), evaluated.inside[columns][:, evaluated.pattern[rows]]
    values = np.where(inside & (rows >= 0), evaluated.at(rows, columns), np.nan)
    values -= np.log(n / cores_worth(n, values, smt_begins(database, platform)))[:, None]
    first, last = place.reshape(-1, 2).T
    worse = np.maximum(np.nan_to_num(agreement.growth - (values[last] - values[first])), 0.0)
    excess = np.maximum(worse**2 - AGREEMENT_SCALES[-1] ** 2, 0.0).sum(axis=0)
    if not excess.any():
        return agreement
    distance = agreement.distance.copy()
    distance[:, : len(rows)] += excess / (len(first) * (len(first) + 1) + TINY)
    return replace(agreement, distance=distance)


def growth_counts(database: Database, target: int, rows: IntArray, last: int) -> IntArray:
    """Return the last measured n of A and further counts: powers of two, those of T, and those measured in `rows`."""
    evaluated = evaluated_curves(database)
    measured = evaluated.n[evaluated.measured_in(evaluated.pattern[rows])]
    measured = measured[measured > last]
    measured = measured[evenly_spaced(np.log(measured), MOST_COUNTS)]
    facts = np.array([database.n_nu[target], database.n_ht[target]])
    most = int(database.n_max[target]) if database.n_max[target] > last else 2 * last
    powers = 2 ** np.arange(np.log2(most) + 1).astype(np.int64)
    counts = np.unique(np.concatenate([powers, measured, facts[~np.isnan(facts)].astype(np.int64), [most]]))
    return np.append(last, counts[(counts > last) & (counts <= most)])


def agreement_inside(
    database: Database,
    rows: IntArray,
    platforms: IntArray,
    workloads: IntArray,
    families: IntArray | None = None,
    *,
    part: Part,
) -> Agreement:
    """Return the agreement of companions, laws and A by the growth of their thread times inside the measured range.

    The weight of a companion is divided by the root of the number of companions of its application: they are similar.

    Parameters: `rows` (R, B + 1) of the companions `workloads` (B,) and of A (last) on the `platforms`, -1 = none; the
    `families` (B,) of the companions.
    """
    measured, of_laws, of_cores, pairs = growth_inside(database, rows, platforms, part)
    share_of_law = scaling_laws()[0]
    values, weight = np.nan_to_num(measured), (~np.isnan(measured)).astype(np.float64)
    shared = weight @ weight.T
    squares = values**2 @ weight.T
    distance = (squares + squares.T - 2.0 * values @ values.T) / np.maximum(shared, 1.0)
    to_laws = squares.diagonal()[:, None] - 2.0 * values @ of_laws.T + weight @ (of_laws**2).T
    to_laws /= np.maximum(weight.sum(axis=1), 1.0)[:, None]
    # Two curves without a common thread count get at least the distance of a curve from the farthest law.
    distance += (shared == 0) * np.maximum(to_laws.max(axis=1), distance.max(initial=0.0))[:, None]
    chosen = np.argsort(-share_of_law / (AGREEMENT_SCALES[0] ** 2 + to_laws[-1]), kind="stable")[:ENOUGH]
    share = weight[-1] / max(weight[-1].sum(), 1.0)
    squares = of_laws**2 @ share
    among_laws = squares[chosen, None] + squares - 2.0 * (of_laws[chosen] * share) @ of_laws.T
    B, application = len(workloads), database.workload_table["application"]
    table = [[distance[:B, :B], to_laws[:B]], [to_laws[:B, chosen].T, among_laws], [distance[B:, :B], to_laws[B:]]]
    programs = [application[b] or f"workload {b}" for b in workloads.tolist()]
    _, member, count = np.unique(programs, return_inverse=True, return_counts=True)
    prior = np.tile(np.append(1.0 / np.sqrt(count[member]), LAWS_WEIGHT * share_of_law), (2, B + len(chosen) + 1, 1))
    names = workload_name_vectors(database, (*workloads, database.workload_index[rows[:, -1].max()]))
    by_name = weights_by_name((names @ names[:-1].T).toarray())
    # Limit the factor by names to that of A: if no name is similar to A's, names change nothing.
    prior[1, np.append(np.arange(B), -1), :B] *= np.minimum(by_name, by_name[-1].max(initial=1.0))
    subjects, distances = np.append(np.arange(B), B + chosen), np.maximum(np.block(table), 0.0)
    if families is not None:
        prior[:, np.arange(len(subjects)), subjects] = 0.0
        prior[:, :B, :B] *= families[:, None] != families
    return Agreement(part, families, prior, subjects, distances, (measured[:-1] - of_cores).T, pairs)


def growth_inside(database: Database, rows: IntArray, platforms: IntArray, part: Part) -> tuple[np.ndarray, ...]:
    """Return the changes of the thread times of the companions and A (last) inside the measured range, (B + 1, F),
    NaN = not measured; those of the laws (L, F); the largest losses of the machine (1, F); and the columns (F, 2).

    Each of the F changes is that on one reference from one thread count to the last at which A was measured
    there. References with several counts of A are used, of many those with the largest counts.

    For a part, A's change is that of its useful work or of 1 / U. Companions are compared in useful work alone.
    """
    evaluated = evaluated_curves(database)
    measured = evaluated.measured[:, evaluated.pattern[rows[:, -1]]] & (rows[:, -1] >= 0)
    farthest = len(measured) - 1 - measured[::-1].argmax(axis=0)
    compared = np.flatnonzero(measured.sum(axis=0) > 1)
    compared = compared[np.argsort(-farthest[compared], kind="stable")][:ENOUGH]
    count, pairs = rows.shape[1], [np.zeros((0, 2), dtype=np.int64)]
    changes = [np.zeros((0, count + scaling_laws().shape[1] + 1))]
    for p in compared.tolist():
        columns = np.flatnonzero(measured[:, p])
        columns = columns[evenly_spaced(evaluated.log_n[columns], SOME_COUNTS)]
        patterns = evaluated.pattern[rows[p]]
        known = evaluated.inside[columns][:, patterns] & (rows[p] >= 0)
        values = np.where(known, evaluated.at(rows[p], columns), np.nan)
        n = evaluated.n[columns].astype(np.float64)
        n_max, n_ht = float(database.n_max[platforms[p]]), smt_begins(database, int(platforms[p]))
        worth = cores_worth(n, values[:, :-1], n_ht)
        by_laws = law_thread_times(n, worth, n_max, n_ht, part)
        loss = np.log(n / np.where(n > n_ht, np.minimum(worth, n_ht), worth))[:, None]
        pairs.append(np.stack([columns[:-1], np.full(len(columns) - 1, columns[-1])], axis=1))
        if part != "all":
            log_used = log_utilisation(database, rows[[p], -1:], platforms[[p]], evaluated.n[columns])[0, 0]
            if part == "use":
                values[:, -1] += log_used
            else:
                values[:, :-1], values[:, -1] = np.nan, -log_used
        every = np.concatenate([values, by_laws, loss], axis=1)
        changes.append(every[-1] - every[:-1])
    return *np.split(np.concatenate(changes).T, [count, -1]), np.concatenate(pairs)


def cores_worth(n: FloatArray, log_thread_times: FloatArray, n_ht: float, share: float = 1.0) -> FloatArray:
    """Return the number of cores to which n threads (J,), ascending, are equivalent for the companions (J, B) that
    scale best on a machine.

    A `share` of their losses, beyond those of SMT, is the machine's: its units, caches and clock. Beyond the measured
    counts use the last slope. With few companions use n cores up to `n_ht` (NaN without SMT), then a quarter for each.

    >>> n = np.array([1.0, 2.0, 4.0])
    >>> thread_times = np.array([[1.0, 1.0, 1.0], [1.25, 1.25, 1.6], [np.nan, np.nan, np.nan]])
    >>> [cores_worth(n, np.log(thread_times), np.nan, share).round(3).tolist() for share in (1.0, 0.5)]
    [[1.0, 1.6, 2.56], [1.0, 1.789, 3.2]]
    """
    nominal, x = np.log(np.fmin(n, n_ht + SMT_GAIN * np.maximum(n - n_ht, 0.0))), np.log(n)
    losses = log_thread_times - log_thread_times[:1]
    known = (~np.isnan(losses)).sum(axis=1) >= FEWEST
    if known.sum() < 2 or not known[0]:
        return np.asarray(np.exp(nominal))
    losses = np.sort(losses[known], axis=1)  # NaN last
    best = (BEST_SHARE * (~np.isnan(losses)).sum(axis=1)).astype(np.int64)
    loss = losses[np.arange(len(losses)), best]
    worth = np.maximum.accumulate(x[known] - np.maximum(loss, 0.0))
    last = int(np.flatnonzero(known)[-1])
    slope = (worth[-1] - worth[-2]) / (x[known][-1] - x[known][-2])
    beyond = np.maximum(np.minimum(min(slope, 1.0) * (x - x[last]), nominal - nominal[last]), 0.0)
    return np.asarray(np.exp(nominal + share * (np.interp(x, x[known], worth) + beyond - nominal)))


def courses_on_platform(
    database: Database, platform: int, rows: IntArray, n: IntArray, at_first: FloatArray, *, part: Part
) -> FloatArray:
    """Return the changes of ln(n t(n)) from n[0], (J, K), of the companions with `rows` (B,), and of the laws.

    Companions are interpolated between measured counts (`interpolate_rows`) and NaN outside. If a companion was
    measured beyond n[0] but not at it, its value at n[0] is `at_first` (B,), the ln(n t(n)) from which the transfer
    predicted A, so that no loss is counted twice. If it was measured beyond n[0] only, it has no loss.
    """
    counts, place = np.unique(np.append(n, 1), return_inverse=True)
    values = np.full((len(counts), len(rows)), np.nan)
    patterns = np.where(rows >= 0, evaluated_curves(database).pattern[rows], 0)
    for pattern in distinct_codes(patterns[patterns > 0]).tolist():  # companions measured at the same n
        of_pattern = np.flatnonzero(patterns == pattern)
        measured_n, _ = database.curve(int(rows[of_pattern[0]]))
        points = database.curve_offsets[rows[of_pattern]][:, None] + np.arange(len(measured_n))
        measured = np.log(measured_n * database.curve_time_s[points])
        if n[0] < measured_n[-1] and n[0] not in measured_n:
            position = np.searchsorted(measured_n, n[0])
            measured = np.insert(measured, position, at_first[of_pattern], axis=1)
            measured_n = np.insert(measured_n, position, n[0])
        inside = np.flatnonzero((measured_n[0] <= counts) & (counts <= measured_n[-1]))
        values[inside[:, None], of_pattern] = interpolate_rows(measured, measured_n.astype(np.int64), counts[inside]).T
    n_max, n_ht = float(database.n_max[platform]), smt_begins(database, platform)
    threads = counts.astype(np.float64)
    worth = cores_worth(threads, values, n_ht, MACHINE_SHARE if n[-1] > n[0] else 1.0)
    by_laws = law_thread_times(threads, worth, n_max, n_ht, part)
    if part == "idle":
        values[:] = np.nan
    courses = np.append(values, by_laws, axis=1)[place[:-1]]
    return np.asarray(courses - courses[0])


def mixed_growth(n: IntArray, agreement: Agreement, courses: FloatArray, level: float = CREDIBILITY) -> Growth:
    """Return the mean of the `courses` (J, K), weighted by their agreement with A, with an interval.

    The means with the `weights` of three scales and two priors are combined by their errors for the subjects, each left
    out with its family, weighted by the similarity of each subject to A. The interval contains `level` of the errors
    for the companions. Without families the combinations have equal weights, and there is no interval.
    """
    families = agreement.families
    subjects = agreement.subjects[: 0 if families is None else None]
    known, curves = (~np.isnan(courses)).astype(np.float64), np.nan_to_num(courses)
    sums = np.concatenate([known, curves, curves**2])
    likeness = agreement.weights[len(agreement.weights) // 2][-1, subjects]  # the middle scale, and names
    weights, means, squares, errors = [], [], [], []
    for weight in agreement.weights:
        total, first, second = np.split(sums @ weight.T, 3)  # (J, S + 1) each
        weights.append(known * weight[-1] / total[:, -1:])
        means.append(first / total)
        squares.append(second / total)
        errors.append(mean_square(means[-1][1:, :-1] - courses[1:, subjects], likeness))
    choice = shares_by_error(np.log(errors).mean(axis=1))
    mean, square = (np.tensordot(choice, np.array(of_each), axes=1) for of_each in (means, squares))
    variance = np.maximum(square - mean**2, 0.0)
    value = mean - downward_shift(variance)
    weight = np.tensordot(choice, np.array(weights), axes=1)
    if families is None:
        return Growth(n, value[:, -1], np.zeros(len(n)), curves, weight)
    B = len(families)
    missed = value[:, :B] - courses[:, :B]
    typical = np.where(known[:, :B].any(axis=1), mean_square(missed, agreement.prior[0, -1, :B]), variance[:, -1])
    deviation = np.sqrt((variance + typical[:, None]) / 2.0 + LEAST_LOG_ERROR**2)
    half_width = deviation_factors(np.abs(missed) / deviation[:, :B], level) * deviation[:, -1]
    half_width[0] = 0.0
    wider = half_width / (normal_factor(level) * np.sqrt(variance[:, -1]) + TINY)
    spread = mean[:, -1:] + np.maximum(wider, 1.0)[:, None] * (curves - mean[:, -1:])
    return Growth(n, value[:, -1], half_width, spread, weight)
