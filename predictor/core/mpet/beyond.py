"""How a workload goes on beyond the thread counts at which it was measured.

A prior over scaling laws, and the curves of the other workloads of the target, its *companions*: each counts as far as
it agrees with A inside the measured range, on the references. What this misses of the companions, each left out, says
how sure it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from predictor.core.database import Database
from predictor.core.mpet.evidence.curves import evaluated_curves, evenly_spaced
from predictor.core.mpet.evidence.gathering import Evidence
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.intervals import FEWEST_CALIBRATION_UNITS, conformal_factor
from predictor.core.mpet.robust_ratios import application_families
from predictor.core.mpet.scaling_laws import scaling_laws
from profiles.arrays import FloatArray, IntArray

AGREEMENT_SCALES = (0.03, 0.1, 0.3)  # of ln t: how far from A's own growth a curve may be that counts in full
SCALE_CHOICE_POWER = 4
MOST_COMPARED_PLATFORMS = 48
MOST_LAWS_ASKED = 48  # laws most like A, which are predicted by the other curves
MOST_INSIDE_COUNTS, MOST_TARGET_COUNTS = 6, 12  # thread counts, on each reference and beyond
WIDEST_GAP = 1.5  # of ln n between measured counts: a value between them is no measurement
MEASUREMENT_ERROR = 0.03  # of ln t
LARGEST_COUNTED_ERROR = 1.5  # of ln t: a larger one of a companion says no more
LEAST_SQUARE = 1e-6  # of errors in ln t: smaller ones are alike
CREDIBILITY = 0.9
LEAST_GAIN = 0.02  # of ln t: less is no gain


@dataclass(frozen=True, eq=False)
class Growth:
    """How ln(n t(n)) of A on T changes from the last measured thread count, at counts `n` (J,), ascending.

    `n[0]` is the last measured count, where there is no change. `half_width` (J,) is of the interval; `curves` (J, K)
    are possible courses, `weights` (J, K) how probable each is, with sum 1 at every n.
    """

    n: IntArray
    value: FloatArray
    half_width: FloatArray
    curves: FloatArray
    weights: FloatArray

    def at(self, values: FloatArray, n: IntArray) -> FloatArray:
        """`values` (J,) at any n, linear in ln n; beyond the last one it goes on as between the last two."""
        x, known = np.log(n), np.log(self.n)
        slope = (values[-1] - values[-2]) / (known[-1] - known[-2])
        return np.asarray(np.interp(x, known, values) + slope * np.maximum(x - known[-1], 0.0))

    def credible_n(self, least: float) -> int:
        """The largest n with a gain that is 90 % probable over every smaller one; the last measured n if there is none.

        `least`: ln t of the fastest measured n, less ln t of the last one.
        """
        log_times = self.curves - np.log(self.n / self.n[0])[:, None]
        fastest, best = np.full(log_times.shape[1], least), 0
        for j in range(1, len(self.n)):
            if self.weights[j][log_times[j] < fastest - LEAST_GAIN].sum() >= CREDIBILITY:
                fastest, best = log_times[j], j
        return int(self.n[best])


class Inside(NamedTuple):
    """Growth of the companions and of A (last) inside the measured range, (B + 1, F), NaN = not measured.

    Each of the F columns is of one reference, from `start` threads to `stop`, the last at which A was measured there.
    """

    growth: FloatArray
    start: FloatArray
    stop: FloatArray


class Candidates(NamedTuple):
    """Curves that A may follow: the companions, then the laws (K,).

    `growth` (J, K) is their course beyond the measured range, NaN where a companion was not measured so far; `prior`
    (K,) how much each counts before A is looked at. Of some of them, the `subjects` (S,), and of A (last) `distance`
    (S + 1, K) is the mean squared difference in ln t from each curve inside the measured range.
    """

    growth: FloatArray
    prior: FloatArray
    subjects: IntArray
    distance: FloatArray


def growth_beyond(
    database: Database, evidence: Evidence, level: float, h: Hyperparameters = DEFAULTS
) -> Growth | None:
    """How A goes on on T beyond the largest n at which it was measured; None where nobody asks for that.

    The counts at which this is known depend on T alone: what is said of an n does not depend on which others are asked.
    """
    last = evidence.mean_curve.largest_n
    if last == 1 or evidence.asked_n.max() <= last:
        return None
    companions = np.flatnonzero(evidence.measured_on_target)
    families = application_families(database, evidence)[0][companions]
    inside = growth_inside(database, evidence, companions)
    n = counts_beyond(database, evidence)
    growth = growth_on_target(database, evidence, companions, n)
    candidates = candidate_curves(database, evidence, inside, growth, n, families, h)
    return calibrated_growth(n, candidates, families, level)


def counts_beyond(database: Database, evidence: Evidence) -> IntArray:
    """The last measured n of A and further ones: powers of two, T's breakpoints and threads, where T was measured."""
    last, target = evidence.mean_curve.largest_n, evidence.target
    evaluated = evaluated_curves(database)
    rows = evidence.rows[-1, :-1]
    measured = evaluated.n[evaluated.measured_in(evaluated.pattern[rows[rows >= 0]])]
    measured = measured[measured > last]
    measured = measured[evenly_spaced(np.log(measured), MOST_TARGET_COUNTS)]
    facts = np.array([database.n_nu[target], database.n_ht[target], database.n_max[target]])
    most = max(2 * last, int(database.n_max[target]))
    powers = 2 ** np.arange(np.ceil(np.log2(most)) + 1, dtype=np.int64)
    counts = np.unique(np.concatenate([powers, measured, facts[~np.isnan(facts)].astype(np.int64)]))
    return np.append(last, counts[counts > last])


def growth_inside(database: Database, evidence: Evidence, companions: IntArray) -> Inside:
    """How the thread times of A and the companions change between the counts at which A was measured, on the references
    where it was measured at several: of many, those where it was measured farthest."""
    evaluated = evaluated_curves(database)
    rows = evidence.rows[:-1][:, np.append(companions, len(evidence.workloads))]
    measured = evaluated.measured[:, evaluated.pattern[rows[:, -1]]] & (rows[:, -1] >= 0)
    farthest = len(measured) - 1 - measured[::-1].argmax(axis=0)
    compared = np.flatnonzero(measured.sum(axis=0) > 1)
    compared = compared[np.argsort(-farthest[compared], kind="stable")][:MOST_COMPARED_PLATFORMS]
    growth, start, stop = [np.zeros((0, len(companions) + 1))], [], []
    for p in compared.tolist():
        columns = np.flatnonzero(measured[:, p])
        columns = columns[evenly_spaced(evaluated.log_n[columns], MOST_INSIDE_COUNTS)]
        patterns = evaluated.pattern[rows[p]]
        values = evaluated.at(rows[p], columns)
        gap = (evaluated.log_n[evaluated.right] - evaluated.log_n[evaluated.left])[columns][:, patterns]
        known = evaluated.inside[columns][:, patterns] & (gap < WIDEST_GAP) & (rows[p] >= 0)
        values[~known] = np.nan
        growth.append(values[-1] - values[:-1])
        start.append(evaluated.n[columns[:-1]])
        stop.append(np.full(len(columns) - 1, evaluated.n[columns[-1]]))
    if not start:
        return Inside(growth[0].T, np.zeros(0), np.zeros(0))
    return Inside(np.concatenate(growth).T, np.concatenate(start), np.concatenate(stop))


def growth_on_target(database: Database, evidence: Evidence, companions: IntArray, n: IntArray) -> FloatArray:
    """How ln(n t(n)) of the companions changes on T from n[0], (J, B); NaN where T was not measured so far.

    Between measured counts n t(n) is a straight line over n, as of Amdahl's law.
    """
    growth = np.full((len(n), len(companions)), np.nan)
    for b, row in enumerate(evidence.rows[-1, companions].tolist()):
        counts, time_s = database.curve(row)
        if len(counts) and counts[0] <= n[0]:
            values = np.log(np.interp(n, counts, counts * time_s))
            growth[:, b] = np.where(n <= counts[-1], values - values[0], np.nan)
    return growth


def candidate_curves(
    database: Database,
    evidence: Evidence,
    inside: Inside,
    growth: FloatArray,
    n: IntArray,
    families: IntArray,
    h: Hyperparameters,
) -> Candidates:
    """The companions and the laws, compared with each companion and A by what is known of both inside the range.

    Companions of one application count as the root of their number: copies of one program are not many programs.
    """
    laws, n_ht = scaling_laws(), float(database.n_ht[evidence.target])
    known = ~np.isnan(inside.growth)
    values, weight = np.where(known, inside.growth, 0.0), known.astype(np.float64)
    spans, of_span = np.unique(np.stack([inside.start, inside.stop]), axis=1, return_inverse=True)
    of_laws = (laws.log_thread_time(spans[1]) - laws.log_thread_time(spans[0])).T  # (L, spans)
    sums, counts = (np.zeros((len(values), spans.shape[1])) for _ in range(2))
    np.add.at(sums.T, of_span, values.T)
    np.add.at(counts.T, of_span, weight.T)
    shared = weight @ weight.T
    products = values**2 @ weight.T
    distance = (products + products.T - 2.0 * values @ values.T) / np.maximum(shared, 1.0)
    distance = np.where(shared > 0, distance, distance.max(initial=0.0))
    to_laws = (values**2).sum(axis=1)[:, None] - 2.0 * sums @ of_laws.T + counts @ (of_laws**2).T
    to_laws /= np.maximum(weight.sum(axis=1), 1.0)[:, None]
    _, member, count = np.unique(families, return_inverse=True, return_counts=True)
    prior = np.append(1.0 / np.sqrt(count[member]), h.laws_weight * laws.share)
    B = len(families)
    near = np.argsort(-laws.share / (AGREEMENT_SCALES[0] ** 2 + to_laws[-1]), kind="stable")[:MOST_LAWS_ASKED]
    share = counts[-1] / max(counts[-1].sum(), 1.0)
    squares = of_laws**2 @ share
    among_laws = squares[near, None] + squares - 2.0 * (of_laws[near] * share) @ of_laws.T
    rows = [[distance[:B, :B], to_laws[:B]], [to_laws[:B, near].T, among_laws], [distance[B:, :B], to_laws[B:]]]
    further = laws.log_thread_time(n.astype(np.float64), n_ht)
    return Candidates(
        growth=np.append(growth, further - further[0], axis=1),
        prior=prior,
        subjects=np.append(np.arange(B), B + near),
        distance=np.maximum(np.block(rows), 0.0),
    )


def calibrated_growth(n: IntArray, candidates: Candidates, families: IntArray, level: float) -> Growth:
    """The mean course of the candidates, each as much as it agrees with A, and how wrong that is for the companions.

        w ~ prior / (scale^2 + distance)^2

    at three scales, of which those count that err less on the subjects, the more a subject is like A; a companion is
    left out with its family. The mean is shifted by -0.7 of the variance (at most 0.35): relative errors punish too
    large predictions more.
    """
    B, subjects = len(families), candidates.subjects
    known = (~np.isnan(candidates.growth)).astype(np.float64)
    curves = np.nan_to_num(candidates.growth)
    itself = np.zeros(candidates.distance.shape, dtype=bool)
    itself[:B, :B] = families[:, None] == families
    itself[np.arange(len(subjects)), subjects] = True
    likeness = (candidates.prior / (AGREEMENT_SCALES[1] ** 2 + candidates.distance[-1]) ** 2)[subjects]
    weights, means, squares, errors = [], [], [], []
    for scale in AGREEMENT_SCALES:
        weight = candidates.prior / (scale**2 + candidates.distance) ** 2
        weight[itself] = 0.0
        total = known @ weight.T  # (J, S + 1)
        weights.append(known * weight[-1] / total[:, -1:])
        means.append(curves @ weight.T / total)
        squares.append(curves**2 @ weight.T / total)
        errors.append(mean_square(means[-1][1:, :-1] - candidates.growth[1:, subjects], likeness))
    choice = np.exp(-SCALE_CHOICE_POWER * np.log(errors).mean(axis=1))
    choice /= choice.sum()
    mean, square = (np.tensordot(choice, np.array(of_scale), axes=1) for of_scale in (means, squares))
    variance = np.maximum(square - mean**2, 0.0)
    value = mean - np.minimum(DEFAULTS.shift * variance, DEFAULTS.most_shift)
    missed = value[:, :B] - candidates.growth[:, :B]
    typical = np.where(known[:, :B].any(axis=1), mean_square(missed, candidates.prior[:B]), variance[:, -1])
    deviation = np.sqrt((variance + typical[:, None]) / 2.0 + MEASUREMENT_ERROR**2)
    half_width = deviation_factors(np.abs(missed) / deviation[:, :B], level) * deviation[:, -1]
    half_width[0] = 0.0
    wider = half_width / (NormalDist().inv_cdf((1.0 + level) / 2.0) * np.sqrt(variance[:, -1]) + TINY)
    return Growth(
        n=n,
        value=value[:, -1],
        half_width=half_width,
        curves=mean[:, -1:] + np.maximum(wider, 1.0)[:, None] * (curves - mean[:, -1:]),
        weights=np.tensordot(choice, np.array(weights), axes=1),
    )


def mean_square(errors: FloatArray, weight: FloatArray) -> FloatArray:
    """The weighted mean square of errors (J, K) in ln t at each n (J,), NaN passed over; none counts as larger than 1.5.

    >>> mean_square(np.array([[1.0, np.nan], [3.0, 1.0]]), np.array([1.0, 1.0])).round(6).tolist()
    [1.000001, 1.625001]
    """
    known = ~np.isnan(errors)
    squares = np.where(known, np.minimum(np.abs(errors), LARGEST_COUNTED_ERROR) ** 2, 0.0)
    return np.asarray(squares @ weight / np.maximum(known @ weight, TINY) + LEAST_SQUARE)


def deviation_factors(scores: FloatArray, level: float) -> FloatArray:
    """How many standard deviations hold `level` of the companions' errors (J, B), at each n (J,).

    The root mean square of the factor of all n, which many scores tell, and of that at each n, which tells whether
    errors grow as expected. Without companions enough, that of a normal distribution.
    """
    known = ~np.isnan(scores)
    normal = NormalDist().inv_cdf((1.0 + level) / 2.0)
    units = int(known[0].sum()) if len(known) else 0
    if units < FEWEST_CALIBRATION_UNITS:
        return np.full(len(scores), normal)
    pooled = conformal_factor(scores[1:], known[1:], level, units)
    factors = [
        np.hypot(pooled, conformal_factor(of_n, usable, level, int(usable.sum()))) / np.sqrt(2.0)
        if usable.sum() >= FEWEST_CALIBRATION_UNITS
        else normal
        for of_n, usable in zip(scores, known, strict=True)
    ]
    return np.array(factors)
