"""How far a program departs from the ratio of speed of two machines, as the workloads of other machines tell it.

T's own workloads tell it where they are many. With a few of them an interval needs what the rest of the database says.
"""

from __future__ import annotations

import numpy as np

from predictor.core.database import Database
from predictor.core.mpet.curves import evaluated_curves
from predictor.core.mpet.gathering import Evidence, visible_table
from predictor.core.mpet.hyperparameters import DEFAULTS, Hyperparameters
from predictor.core.mpet.platforms import platform_metadata
from predictor.core.robust import known_median
from profiles.arrays import FloatArray, IntArray

MOST_REFERENCES, MOST_OTHERS = 4, 24  # machines that are compared: more of them change the quantile little
MOST_KNOTS_COMPARED = 3  # thread counts at which they are compared
FEWEST_COMMON = 4  # workloads of two machines: from the median of fewer nothing departs far
UNKNOWN_DEPARTURE = 0.6  # of ln t, at 90 %: where no two machines have enough workloads in common


def with_departures_of_others(
    database: Database, evidence: Evidence, half_width: FloatArray, level: float, h: Hyperparameters = DEFAULTS
) -> FloatArray:
    """Half the interval of ln t (J,), of which T's workloads tell the more, the more there are.

        h'^2 = ((K - 1) h^2 + w q^2 (1 + 1/K) (1 + 1/R) / 2) / (K - 1 + w) + a^2,    w = 4 / K by default

    from K workloads that were measured on T and R references. q is `usual_departure`, between two machines and from the
    median of many workloads; h, which was calibrated on T's own workloads, says nothing where there is one. With
    many, A is predicted better than by one ratio, and q would be too wide.
    a^2 is added for a stranger (`stranger_variance`).
    """
    workloads = int(np.count_nonzero(evidence.measured_on_target))
    references = int(np.count_nonzero(evidence.has_workload))
    strange = stranger_variance(database, evidence, h)
    usual = usual_departure(database, evidence, level, by_application=strange > 0)
    usual_square = usual**2 * (1.0 + 1.0 / workloads) * (1.0 + 1.0 / references) / 2.0
    known, weight = workloads - 1.0, h.usual_weight / workloads
    square = (known * half_width**2 + weight * usual_square) / (known + weight)
    return np.asarray(np.sqrt(square + strange))


def stranger_variance(database: Database, evidence: Evidence, h: Hyperparameters = DEFAULTS) -> float:
    """What is added to the square of half an interval of ln t for a stranger; 0 for others.

        a^2 = 0.6^2 (2 / S) (1 / R + 1 / K)

    from S applications and K workloads on T, and R references. A stranger is of a named application of which T has no
    workload, while T's are of such that have several: what few applications depart from each other says little about
    the next one.
    """
    names = np.array(database.workload_table["application"], dtype=str)
    on_target = names[evidence.workloads[evidence.measured_on_target]]
    applications = len(set(on_target.tolist()))
    own = names[evidence.workload]
    if not own or own in on_target or "" in on_target or np.isin(names, on_target).sum() == applications:
        return 0.0
    references = np.count_nonzero(evidence.has_workload)
    return float(h.strange**2 * (2.0 / applications) * (1.0 / references + 1.0 / len(on_target)))


def usual_departure(database: Database, evidence: Evidence, level: float, *, by_application: bool) -> float:
    """How far in ln t `level` of the workloads are from the median ratio of speed of two unlike machines.

        |gap(b,n) - median_b gap(b,n)|,    gap(b,n) = z(q,b,n) - z(p,b,n)

    of references p and other machines q but T, of other microarchitectures than p; where references have too few
    workloads, of those other machines among each other. With `by_application` the median is that of the workloads of
    the other applications.
    """
    evaluated = evaluated_curves(database)
    others = np.setdiff1d(np.arange(len(database.platforms)), [evidence.target])
    others = others[:: -(-len(others) // MOST_OTHERS)]
    references = evidence.platforms[:MOST_REFERENCES]
    table = visible_table(database, np.concatenate([references, others]), evidence.groups, evaluated)
    columns = np.searchsorted(evaluated.n, evidence.n)
    columns = columns[:: -(-len(columns) // MOST_KNOTS_COMPARED)]
    is_outside = evaluated.outside[columns].take(evaluated.pattern.take(table), axis=1) > 0
    values = np.where((table < 0) | is_outside, np.nan, evaluated.at(table, columns)).transpose(1, 2, 0)
    of_references, of_others = values[: len(references)], values[len(references) :]
    family = platform_metadata(database).microarchitecture
    applications = None
    if by_application:
        names = np.array(database.workload_table["application"], dtype=str)
        applications = np.unique(names, return_inverse=True)[1]
    unlike = family[references][:, None] != family[others]
    departures = _departures((of_others - of_references[:, None])[unlike], applications)
    if not len(departures):
        next_unlike = family[others[1:]] != family[others[:-1]]
        departures = _departures((of_others[1:] - of_others[:-1])[next_unlike], applications)
    return float(np.quantile(departures, level)) if len(departures) else UNKNOWN_DEPARTURE


def _departures(gap: FloatArray, applications: IntArray | None) -> FloatArray:
    """|gap - median| of the gaps (pairs of machines, W, J) that are known, one after the other."""
    gap = gap[(~np.isnan(gap)).sum(axis=1).max(axis=1, initial=0) >= FEWEST_COMMON]
    if applications is None:
        off = gap - known_median(gap)[:, None]
    else:
        off = np.empty(gap.shape)
        for application in range(int(applications.max()) + 1):
            members = applications == application
            off[:, members] = gap[:, members] - known_median(gap[:, ~members])[:, None]
    return np.asarray(np.abs(off[~np.isnan(off)]))
