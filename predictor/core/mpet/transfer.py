"""What every way of transfer gives: ln(n t(n)) at the knots, how sure it is, and what carried it.

The noise of the measurements behind an answer widens its interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from predictor.core.mpet.gathering import Evidence
from predictor.core.mpet.hyperparameters import DEFAULTS, Hyperparameters
from profiles.arrays import BoolArray, FloatArray

LEAST_SQUARE = 1e-6  # of an error in ln t: smaller ones are alike
DISTURBANCE = 0.2  # of ln t: how much longer a disturbed run may have taken (docs/method-mpet.md)


class LeftOutErrors(NamedTuple):
    """A on the references as if each were T: errors in ln t, expected deviations, and where they tell anything."""

    errors: FloatArray  # (J, R)
    deviations: FloatArray  # (J, R)
    usable: BoolArray  # (J, R)


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
    left_out: LeftOutErrors | None = None  # of one process, not of a mean


def downward_shift(variance: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How much lower than the mean the answer is: relative errors punish too large predictions more.

        min(0.7 variance, 0.35) by default, in ln t

    >>> downward_shift(np.array([0.01, 4.0])).round(9).tolist()
    [0.007, 0.35]
    """
    return np.asarray(np.minimum(h.shift * variance, h.most_shift))


def mean_transfer(transfers: Sequence[Transfer], alike: float = 1.0) -> Transfer:
    """The mean of several transfers in logs, which is hardly ever worse than its parts.

    Each counts as the inverse of its root mean square error for T's known workloads: shares s, with sum 1. Half the
    interval is

        prod h^s * sqrt(alike + (1 - alike) sum s^2)

    for the mean errs less than its parts if their errors are not all `alike` (their correlation).

    >>> one, none = np.ones(1), np.zeros(1)
    >>> better = Transfer(np.array([1.0]), np.array([0.2]), one, one, none, none, errors_on_target=np.array([[0.1]]))
    >>> worse = replace(better, value=np.array([2.0]), errors_on_target=np.array([[0.3]]))
    >>> mean_transfer([better, worse]).value.round(3).tolist()
    [1.25]
    """
    squares = np.array([(transfer.errors_on_target**2).mean() for transfer in transfers])
    shares = (squares + LEAST_SQUARE) ** -0.5
    shares /= shares.sum()
    names = [field.name for field in fields(Transfer) if field.name not in {"half_width", "left_out"}]
    means = {
        name: sum(share * getattr(each, name) for share, each in zip(shares, transfers, strict=True)) for name in names
    }
    half_width = np.prod([each.half_width**share for share, each in zip(shares, transfers, strict=True)], axis=0)
    half_width *= math.sqrt(alike + (1.0 - alike) * (shares**2).sum())
    return replace(transfers[0], left_out=None, half_width=half_width, **means)


def widen_by_noise(evidence: Evidence, transfer: Transfer, level: float) -> Transfer:
    """The transfer with an interval that also holds what its measurements leave uncertain.

        h' = sqrt(h^2 + z^2 V),    z the normal quantile of the level

    V (J,) is the variance of the answer that the noise of its measurements causes (`carried_variance`).
    """
    database, rows = evidence.database, evidence.rows
    errors, deviations, disturbed = (
        np.where(rows >= 0, column[rows], np.nan)
        for column in (database.standard_error, database.run_deviation, database.disturbed_share)
    )
    squares = np.where(rows >= 0, squares_with_single_runs(errors, deviations), 0.0)
    disturbed = np.nan_to_num(disturbed)
    if not (squares.any() or disturbed.any()):
        return transfer
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    variance = carried_variance(squares, disturbed, transfer.platform_weights, transfer.workload_weights)
    return replace(transfer, half_width=np.hypot(transfer.half_width, z * np.sqrt(variance)))


def squares_with_single_runs(errors: FloatArray, deviations: FloatArray) -> FloatArray:
    """The squared standard errors of ln t; of what was measured once, that of one run on the same platform.

        q(p,b) = e(p,b)^2 where b was repeated on p, else the mean of s(p,b')^2 over the b' that were repeated on p,
        else, where nothing was repeated on p, the mean of s^2 over all platforms

    Runs on one platform err alike (docs/method-mpet.md).

    Parameters: e and s (P, W), of ln t; NaN where nothing was repeated, or nothing was measured.
    Returns (P, W), of ln t squared; 0 where nothing at all was repeated.

    >>> nan = np.nan
    >>> squares_with_single_runs(np.array([[0.01, nan], [nan, nan]]), np.array([[0.02, nan], [nan, nan]])).tolist()
    [[0.0001, 0.0004], [0.0004, 0.0004]]
    """
    known = np.isfinite(deviations)
    squares = np.where(known, deviations, 0.0) ** 2
    of_all = squares.sum() / max(known.sum(), 1)
    of_platform = np.where(known.any(axis=1), squares.sum(axis=1) / np.maximum(known.sum(axis=1), 1), of_all)
    return np.where(np.isnan(errors), of_platform[:, None], errors**2)


def carried_variance(squares: FloatArray, disturbed: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
    """The variance of an answer that is carried over by weights of references and workloads.

        t = sum_p u_p (z(p,A) + sum_b v_b (z(T,b) - z(p,b)))
        V = sum_p u_p^2 (q(p,A) + sum_b v_b^2 q(p,b)) + sum_b v_b^2 q(T,b)
            + 0.2^2 (sum_p u_p^2 f(p,A)^2 + (sum_b v_b f(T,b))^2)

    q is the squared standard error of each measurement: these are independent of each other. f is the share of its runs
    that were disturbed. What slows one workload on T slows the others too, so their disturbances add up; a reference's
    other workloads would take off some of what was added to A there, and do not count.

    Parameters: `squares` q and `disturbed` f (R + 1, B + 1), T and A last, 0 where nothing is known; `u` (J, R), of sum
    1 at each knot; `v` (B,), of sum 1. Returns (J,), of ln t squared.

    >>> q, u, v = np.array([[0.0, 0.03], [0.04, 0.0]]) ** 2, np.ones((1, 1)), np.ones(1)
    >>> [carried_variance(q, f, u, v).round(9).tolist() for f in (np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 0.0]]))]
    [[0.0025], [0.0425]]
    """
    by_workload = v**2
    of_references = squares[:-1, -1] + squares[:-1, :-1] @ by_workload + (DISTURBANCE * disturbed[:-1, -1]) ** 2
    on_target = squares[-1, :-1] @ by_workload + (DISTURBANCE * (disturbed[-1, :-1] @ v)) ** 2
    return np.asarray(u**2 @ of_references + on_target)
