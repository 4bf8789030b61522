"""The result of every transfer, ln(n t(n)) at the knots with the weights behind it, and the width of its interval.

Intervals are calibrated on the errors for known values that were left out (conformal calibration). With many workloads
on T these are T's; with a few, the rest of the database shows how much programs deviate from the ratio of speed of two
machines. The noise of the measurements behind an answer widens its interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from predictor.core.arrays import sampled
from predictor.core.curves import evaluated_curves, platforms_of_groups, visible_table
from predictor.core.metadata import PlatformMetadata
from predictor.core.mpet.gathering import Evidence
from predictor.core.mpet.hyperparameters import DEFAULTS, ENOUGH, SOME_COUNTS, USUAL_COUNT, Hyperparameters
from predictor.core.numerics import (
    FEWEST,
    MEAN_TO_SIGMA,
    TINY,
    carried_variance,
    known_median,
    normal_factor,
    squares_with_single_runs,
    variance_of_means,
)
from profiles.arrays import BoolArray, FloatArray, IntArray

DEPARTURE_WITHOUT_DATA = 0.6  # assumed 90 % quantile of `usual_departure`, in ln t, if no data are available


@dataclass(frozen=True, eq=False)
class Transfer:
    """A prediction of ln(n t(n)) of A on T at the knots (J,), half the width of its interval, and its weights.

    `platform_weights` (J, R) sum to 1 at each knot, `workload_weights` (B,) to 1. `platform_distance` (R,) and
    `workload_distance` (B,) are in 0..1, where 0 is the same behaviour. `errors_on_target` (J, B) are the errors for
    T's known workloads, each predicted without itself.
    """

    value: FloatArray
    half_width: FloatArray
    platform_weights: FloatArray
    workload_weights: FloatArray
    platform_distance: FloatArray
    workload_distance: FloatArray
    errors_on_target: FloatArray


def downward_shift(variance: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """Return how far below the mean the answer is, because relative errors are larger if it is too large.

        min(0.7 variance, 0.35) by default, in ln t

    >>> downward_shift(np.array([0.01, 4.0])).round(9).tolist()
    [0.007, 0.35]
    """
    return np.asarray(np.minimum(h.shift * variance, h.most_shift))


def mean_transfer(one: Transfer, other: Transfer, weight: float = 1.0, more: FloatArray | float = 0.0) -> Transfer:
    """Return the mean of two transfers in logarithms.

    The shares s_1 and s_2 (sum 1) are proportional to the inverse root mean square errors for T's known workloads, the
    first times `weight`. `more` (2,) is added to the mean squares. Half the interval is h_1^s_1 h_2^s_2, as for errors
    that are fully correlated.

    >>> unit, none = np.ones(1), np.zeros(1)
    >>> better = Transfer(np.array([1.0]), np.array([0.2]), unit, unit, none, none, np.array([[0.1]]))
    >>> worse = replace(better, value=np.array([2.0]), errors_on_target=np.array([[0.3]]))
    >>> mean_transfer(better, worse).value.round(3).tolist()
    [1.25]
    """
    squares = np.array([(each.errors_on_target**2).mean() for each in (one, other)])
    errors = np.sqrt(squares + more + TINY).tolist()
    share = weight * errors[1] / (weight * errors[1] + errors[0])
    other_share = 1.0 - share
    means = {name: share * value + other_share * getattr(other, name) for name, value in vars(one).items()}
    return Transfer(**means | {"half_width": one.half_width**share * other.half_width**other_share})


def widen_by_noise(evidence: Evidence, transfer: Transfer, level: float, of_ratios: float) -> Transfer:
    """Return the transfer with its interval widened by the uncertainty of the measurements behind it.

        h' = sqrt(h^2 + z^2 (s V + (1 - s) max(V_T - mean_p V_p, 0)) + sum |u_p| b_p^2 / sum |u_p|)

    V (J,) is the variance of the answer caused by the noise of its measurements (`carried_variance`), V_p that of the
    mean of a platform's workloads (`variance_of_means`), s = `of_ratios` the weight of ratios, z the normal quantile of
    the level. The errors on which the process is calibrated include the noise of the references, so only the excess of
    T's noise is added to its part. b_p is half the interval of A below the measured range of p (`below`).
    """
    database, rows = evidence.database, evidence.rows
    errors, deviations, disturbed = (
        np.where(rows >= 0, column[rows], np.nan)
        for column in (database.standard_error, database.run_deviation, database.disturbed_share)
    )
    squares = np.where(rows >= 0, squares_with_single_runs(errors, deviations), 0.0)
    disturbed = np.nan_to_num(disturbed)
    u, v = transfer.platform_weights, transfer.workload_weights
    of_platforms = variance_of_means(squares[:, :-1], disturbed[:, :-1], v)
    more_than_others = max(of_platforms[-1] - of_platforms[:-1].mean(), 0.0)
    variance = of_ratios * carried_variance(squares, disturbed, u, v) + (1.0 - of_ratios) * more_than_others
    below = (np.abs(u) * evidence.below[1] ** 2).sum(axis=1) / np.abs(u).sum(axis=1)
    return replace(transfer, half_width=np.sqrt(transfer.half_width**2 + normal_factor(level) ** 2 * variance + below))


def left_out_families(platforms: IntArray, target: int, metadata: PlatformMetadata) -> tuple[IntArray, BoolArray]:
    """Return the families of references that are left out together to put each in T's position (R,), and which
    references can be put there (R,).

    If a reference has T's cpu_model, each reference is left out alone, and those can be that share their cpu_model. If
    one has only T's microarchitecture, families are cpu_models, and those can be left out whose microarchitecture has
    others. Otherwise families are microarchitectures.

    >>> metadata = PlatformMetadata(np.zeros((5, 1)), np.array([0, 0, 1, 2, 3]), np.array([0, 0, 0, 1, 0]))
    >>> families, can_be_left_out = left_out_families(np.array([0, 1, 2, 3]), 4, metadata)
    >>> families.tolist(), can_be_left_out.tolist()
    ([0, 0, 1, 2], [True, True, True, False])
    """
    cpu, family = metadata.cpu[platforms], metadata.microarchitecture[platforms]
    each_alone, twins = np.arange(len(cpu)), np.bincount(cpu)[cpu]
    if (cpu == metadata.cpu[target]).any():
        return each_alone, twins > 1
    if (family == metadata.microarchitecture[target]).any():
        families, can_be = cpu, np.bincount(family)[family] > twins
    else:
        families, can_be = family, np.ones(len(cpu), dtype=bool)
    return (families if (families != families[0]).any() else each_alone), can_be


def noisiness(
    evidence: Evidence, errors: FloatArray, on_target: FloatArray, weights: FloatArray, h: Hyperparameters = DEFAULTS
) -> FloatArray:
    """Return the size of the errors for workloads similar to A on each platform (T last), relative to usual, (R + 1,).

    It is the mean of the platform's errors for the known workloads, `errors` (J, R, B) and `on_target` (J, B), each in
    units of the typical error for its workload. The fewer the workloads, the more the mean is drawn towards 1.
    """
    J, R, _ = errors.shape
    relative = np.abs(np.append(errors, on_target[:, None], axis=1))
    typical = relative[:, :-1].sum(axis=1) / R + TINY
    relative /= typical[:, None]
    mean = np.minimum(relative, h.clip * MEAN_TO_SIGMA, out=relative).sum(axis=0) / J
    count = evidence.is_known * weights**2
    count[-1] *= evidence.measured_on_target
    total = count.sum(axis=1) + TINY
    effective = total**2 / ((count**2).sum(axis=1) + TINY)
    weighted_sum = effective * (mean * count).sum(axis=1) / total
    return np.asarray((USUAL_COUNT + weighted_sum) / (USUAL_COUNT + effective))


def with_departures_of_others(evidence: Evidence, half_width: FloatArray, level: float) -> FloatArray:
    """Return half the interval of ln t (J,), in which T's workloads have the more weight the more there are.

        h'^2 = ((K - 1) h^2 + w q^2 (1 + 1/K) (1 + 1/R) / 2) / (K - 1 + w) + a^2,    w = 3 / K

    for K workloads measured on T and R references. q is `usual_departure`, between two machines and from the median of
    many workloads. h was calibrated on T's workloads and has no weight if there is only one. With many workloads A is
    predicted better than by one ratio, and q would be too wide. a^2 is `stranger_variance`.
    """
    workloads = int(np.count_nonzero(evidence.measured_on_target))
    references = int(np.count_nonzero(evidence.has_workload))
    usual_square = usual_departure(evidence, level) ** 2 * (1.0 + 1.0 / workloads) * (1.0 + 1.0 / references) / 2.0
    known, weight = workloads - 1.0, USUAL_COUNT / workloads
    return np.asarray(
        np.sqrt((known * half_width**2 + weight * usual_square) / (known + weight) + stranger_variance(evidence))
    )


def stranger_variance(evidence: Evidence) -> float:
    """Return the term added to the square of half an interval of ln t for a workload of an unknown application.

        a^2 = 0.6^2 (2 / S) (1 / R + 1 / K)

    for S applications and K workloads on T, and R references. It is 0 unless A's application is named and T has no
    workload of it but several of others, whose deviations from each other say little about another application.
    """
    names = np.array(evidence.database.workload_table["application"], dtype=str)
    on_target = names[evidence.workloads[evidence.measured_on_target]]
    applications = len(set(on_target.tolist()))
    of_a = names[evidence.workload]
    if not of_a or of_a in on_target or "" in on_target or np.isin(names, on_target).sum() == applications:
        return 0.0
    of_pairs = 1.0 / np.count_nonzero(evidence.has_workload) + 1.0 / len(on_target)
    return float(DEPARTURE_WITHOUT_DATA**2 * (2.0 / applications) * of_pairs)


def usual_departure(evidence: Evidence, level: float) -> float:
    """Return the quantile `level` of the deviations in ln t from the median ratio of speed of two machines.

        |gap(b,n) - median_b gap(b,n)|,    gap(b,n) = z(q,b,n) - z(p,b,n)

    for each machine p except T and the next machine q, if their microarchitectures differ.
    """
    database, evaluated = evidence.database, evaluated_curves(evidence.database)
    # Other platforms, such as a user's own if A is simulated, do not count.
    machines = sampled(np.setdiff1d(platforms_of_groups(database, evidence.groups), [evidence.target]), ENOUGH)
    table = visible_table(database, machines, evidence.groups)
    table = table[:, (table >= 0).any(axis=0)]  # of a site with thousands of workloads, these may be a few
    columns = np.searchsorted(evaluated.n, sampled(evidence.n, SOME_COUNTS))
    is_outside = evaluated.outside[columns].take(evaluated.pattern.take(table), axis=1) > 0
    values = np.where((table < 0) | is_outside, np.nan, evaluated.at(table, columns)).transpose(1, 2, 0)
    family = evidence.metadata.microarchitecture[machines]
    gap = (values[1:] - values[:-1])[family[1:] != family[:-1]]
    gap = gap[(~np.isnan(gap)).sum(axis=1).max(axis=1, initial=0) >= FEWEST]
    departures = np.abs(gap - known_median(gap)[:, None])
    return float(np.nanquantile(departures, level)) if len(gap) else DEPARTURE_WITHOUT_DATA
