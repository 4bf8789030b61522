"""What every way of transfer gives: ln(n t(n)) at the knots, what carried it, and how wide an interval must be to hold
what will be measured.

Intervals are calibrated on errors of what is known and was left out (conformal calibration). T's own workloads tell
them where they are many; with a few of them the rest of the database says how far programs depart from the ratio of
speed of two machines. The noise of the measurements behind an answer widens its interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from predictor.core.curves import evaluated_curves, visible_table
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

STRANGE = 0.6  # of ln t: what sets machines, and applications, apart at 90 % where there is nothing to tell it by


@dataclass(frozen=True, eq=False)
class Transfer:
    """ln(n t(n)) of A on T at the knots (J,) and half the width of its interval, with what carried it.

    `platform_weights` (J, R) sum to 1 at each knot and `workload_weights` (B,) to 1. `platform_distance` (R,) and
    `workload_distance` (B,) are in 0..1: 0 behaves exactly alike. `errors_on_target` (J, B): how wrong T's known
    workloads would be, each predicted without itself.
    """

    value: FloatArray
    half_width: FloatArray
    platform_weights: FloatArray
    workload_weights: FloatArray
    platform_distance: FloatArray
    workload_distance: FloatArray
    errors_on_target: FloatArray


def downward_shift(variance: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How much lower than the mean the answer is: relative errors punish too large predictions more.

        min(0.7 variance, 0.35) by default, in ln t

    >>> downward_shift(np.array([0.01, 4.0])).round(9).tolist()
    [0.007, 0.35]
    """
    return np.asarray(np.minimum(h.shift * variance, h.most_shift))


def mean_transfer(one: Transfer, other: Transfer, weight: float = 1.0) -> Transfer:
    """The mean of two transfers in logs, which is hardly ever worse than either.

    Each counts as the inverse of its root mean square error for T's known workloads, the first times `weight`: shares
    s, with sum 1. Half the interval is h_1^s_1 h_2^s_2, as if both erred alike.

    >>> unit, none = np.ones(1), np.zeros(1)
    >>> better = Transfer(np.array([1.0]), np.array([0.2]), unit, unit, none, none, np.array([[0.1]]))
    >>> worse = replace(better, value=np.array([2.0]), errors_on_target=np.array([[0.3]]))
    >>> mean_transfer(better, worse).value.round(3).tolist()
    [1.25]
    """
    errors = [float(np.sqrt((each.errors_on_target**2).mean() + TINY)) for each in (one, other)]
    share = weight * errors[1] / (weight * errors[1] + errors[0])
    rest = 1.0 - share
    means = {name: share * value + rest * getattr(other, name) for name, value in vars(one).items()}
    return Transfer(**means | {"half_width": one.half_width**share * other.half_width**rest})


def widen_by_noise(evidence: Evidence, transfer: Transfer, level: float, of_ratios: float) -> Transfer:
    """The transfer with an interval that also holds what its measurements leave uncertain.

        h' = sqrt(h^2 + z^2 (s V + (1 - s) max(V_T - mean_p V_p, 0)) + sum |u_p| b_p^2 / sum |u_p|)

    V (J,) is the variance of the answer that the noise of its measurements causes (`carried_variance`), V_p that of a
    platform's workloads (`variance_of_means`), s = `of_ratios` how much ratios count, z the normal quantile of the
    level. With many references the errors on which the process is calibrated hold the noise of each: only what T is
    noisier than they is added. b_p is half the interval of how A goes on below where it was measured (`below`).
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
    """What has to be left out together with a reference to put it in T's position: (R,) families, and who can be.

    T has a twin (cpu_model) among the references: each reference alone, of those that have a twin. T has relatives of
    its microarchitecture: all of a cpu_model, where others of the microarchitecture remain. T has none: all of a
    microarchitecture.

    >>> metadata = PlatformMetadata(np.zeros((5, 1)), np.array([0, 0, 1, 2, 3]), np.array([0, 0, 0, 1, 0]))
    >>> families, can_be_left_out = left_out_families(np.array([0, 1, 2, 3]), 4, metadata)
    >>> families.tolist(), can_be_left_out.tolist()
    ([0, 0, 1, 2], [True, True, True, False])
    """
    cpu, family = metadata.cpu[platforms], metadata.microarchitecture[platforms]
    alone, twins = np.arange(len(cpu)), np.bincount(cpu)[cpu]
    if (cpu == metadata.cpu[target]).any():
        return alone, twins > 1
    if (family == metadata.microarchitecture[target]).any():
        families, can_be = cpu, np.bincount(family)[family] > twins
    else:
        families, can_be = family, np.ones(len(cpu), dtype=bool)
    return (families if (families != families[0]).any() else alone), can_be


def noisiness(
    evidence: Evidence, errors: FloatArray, on_target: FloatArray, weights: FloatArray, h: Hyperparameters = DEFAULTS
) -> FloatArray:
    """How large errors are for workloads like A on each platform, (R + 1,), T last; 1 = as usual.

    By the errors of the known workloads on the references (J, R, B) and T (J, B). A platform counts as so noisy as the
    mean of its errors, each in units of what is typical for its workload; what few workloads say is drawn towards 1.
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
    own = effective * (mean * count).sum(axis=1) / total
    return np.asarray((USUAL_COUNT + own) / (USUAL_COUNT + effective))


def with_departures_of_others(evidence: Evidence, half_width: FloatArray, level: float) -> FloatArray:
    """Half the interval of ln t (J,), of which T's workloads tell the more, the more there are.

        h'^2 = ((K - 1) h^2 + w q^2 (1 + 1/K) (1 + 1/R) / 2) / (K - 1 + w) + a^2,    w = 3 / K

    from K workloads that were measured on T and R references. q is `usual_departure`, between two machines and from the
    median of many workloads; h, which was calibrated on T's own workloads, says nothing where there is one. With
    many, A is predicted better than by one ratio, and q would be too wide. a^2 is of a stranger (`stranger_variance`).
    """
    workloads = int(np.count_nonzero(evidence.measured_on_target))
    references = int(np.count_nonzero(evidence.has_workload))
    strange = stranger_variance(evidence)
    usual = usual_departure(evidence, level, by_application=strange > 0)
    usual_square = usual**2 * (1.0 + 1.0 / workloads) * (1.0 + 1.0 / references) / 2.0
    known, weight = workloads - 1.0, USUAL_COUNT / workloads
    return np.asarray(np.sqrt((known * half_width**2 + weight * usual_square) / (known + weight) + strange))


def stranger_variance(evidence: Evidence) -> float:
    """What is added to the square of half an interval of ln t for a stranger; 0 for others.

        a^2 = 0.6^2 (2 / S) (1 / R + 1 / K)

    from S applications and K workloads on T, and R references. A stranger is of a named application of which T has no
    workload, while T's are of such that have several: what few applications depart from each other says little about
    the next one.
    """
    names = np.array(evidence.database.workload_table["application"], dtype=str)
    on_target = names[evidence.workloads[evidence.measured_on_target]]
    applications = len(set(on_target.tolist()))
    own = names[evidence.workload]
    if not own or own in on_target or "" in on_target or np.isin(names, on_target).sum() == applications:
        return 0.0
    of_pairs = 1.0 / np.count_nonzero(evidence.has_workload) + 1.0 / len(on_target)
    return float(STRANGE**2 * (2.0 / applications) * of_pairs)


def usual_departure(evidence: Evidence, level: float, *, by_application: bool) -> float:
    """How far in ln t `level` of the workloads are from the median ratio of speed of two unlike machines.

        |gap(b,n) - median_b gap(b,n)|,    gap(b,n) = z(q,b,n) - z(p,b,n)

    of each machine p but T and the next one q, where they are of different microarchitectures. With `by_application`
    the median is that of the workloads of the other applications.
    """
    database, evaluated = evidence.database, evaluated_curves(evidence.database)
    machines = np.setdiff1d(np.arange(len(database.platforms)), [evidence.target])
    machines = machines[:: -(-len(machines) // ENOUGH)]
    table = visible_table(database, machines, evidence.groups)
    columns = np.searchsorted(evaluated.n, evidence.n[:: -(-len(evidence.n) // SOME_COUNTS)])
    is_outside = evaluated.outside[columns].take(evaluated.pattern.take(table), axis=1) > 0
    values = np.where((table < 0) | is_outside, np.nan, evaluated.at(table, columns)).transpose(1, 2, 0)
    names = database.workload_table["application"] if by_application else np.zeros(len(database.workloads))
    applications = np.unique(np.array(names), return_inverse=True)[1]
    family = evidence.metadata.microarchitecture[machines]
    departures = _departures((values[1:] - values[:-1])[family[1:] != family[:-1]], applications)
    return float(np.quantile(departures, level)) if len(departures) else STRANGE


def _departures(gap: FloatArray, applications: IntArray) -> FloatArray:
    """|gap - median| of the gaps (pairs of machines, W, J) that are known, one after the other; of several
    applications (W,) the median is that of the others."""
    gap = gap[(~np.isnan(gap)).sum(axis=1).max(axis=1, initial=0) >= FEWEST]
    off = np.empty(gap.shape)
    for application in np.unique(applications).tolist():
        members = applications == application
        off[:, members] = gap[:, members] - known_median(gap if members.all() else gap[:, ~members])[:, None]
    return np.asarray(np.abs(off[~np.isnan(off)]))
