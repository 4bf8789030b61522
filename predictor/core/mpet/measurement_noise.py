"""What the noise of the measurements behind an answer adds to its interval."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from predictor.core.database import Database
from predictor.core.mpet.evidence.gathering import Evidence
from predictor.core.mpet.transfer import Transfer
from profiles.arrays import FloatArray

DISTURBANCE = 0.2  # of ln t: how much longer a disturbed run may have taken (docs/method-mpet.md)


class MeasurementNoise(NamedTuple):
    """Of the measurements (R + 1, B + 1), T and A last: the squared standard error of ln t, and which share of the runs
    was disturbed. 0 where nothing is known, and where nothing was measured."""

    squares: FloatArray
    disturbed: FloatArray


def widen_by_noise(database: Database, evidence: Evidence, transfer: Transfer, level: float) -> Transfer:
    """The transfer with an interval that also holds what its measurements leave uncertain.

        h' = sqrt(h^2 + z^2 V),    z the normal quantile of the level

    V (J,) is the variance of the answer that the noise of its measurements causes (`carried_variance`).
    """
    noise = noise_of_measurements(database, evidence)
    if not (noise.squares.any() or noise.disturbed.any()):
        return transfer
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    variance = carried_variance(noise, transfer.platform_weights, transfer.workload_weights)
    return replace(transfer, half_width=np.hypot(transfer.half_width, z * np.sqrt(variance)))


def noise_of_measurements(database: Database, evidence: Evidence) -> MeasurementNoise:
    rows = evidence.rows
    errors, deviations, disturbed = (
        np.where(rows >= 0, column[rows], np.nan)
        for column in (database.standard_error, database.run_deviation, database.disturbed_share)
    )
    squares = np.where(rows >= 0, squares_with_single_runs(errors, deviations), 0.0)
    return MeasurementNoise(squares, np.nan_to_num(disturbed))


def squares_with_single_runs(errors: FloatArray, deviations: FloatArray) -> FloatArray:
    """The squared standard errors of ln t; of what was measured once, that of one run on the same platform.

        q(p,b) = e(p,b)^2 where b was repeated on p, else the mean of s(p,b')^2 over the b' that were repeated on p,
        else, where nothing was repeated on p, the mean of s^2 over all platforms

    Runs on one platform err alike: of the kit's reference machines the mean square of the platform's other workloads
    told best how far single runs of a workload are apart, better than those of the same workload on other platforms
    (docs/method-mpet.md).

    Example: e = 0.01 of a workload with s = 0.02, beside one that was measured once: q = 0.01^2 and 0.02^2. A further
    platform, on which everything was measured once, has q = 0.02^2, too.

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


def carried_variance(noise: MeasurementNoise, u: FloatArray, v: FloatArray) -> FloatArray:
    """The variance of an answer that is carried over by weights of references and workloads.

        t = sum_p u_p (z(p,A) + sum_b v_b (z(T,b) - z(p,b)))
        V = sum_p u_p^2 (q(p,A) + sum_b v_b^2 q(p,b)) + sum_b v_b^2 q(T,b)
            + 0.2^2 (sum_p u_p^2 f(p,A)^2 + (sum_b v_b f(T,b))^2)

    q is the squared standard error of each measurement: these are independent of each other. f is the share of its runs
    that were disturbed. What slows one workload on T slows the others too, so their disturbances add up; a reference's
    other workloads would take off some of what was added to A there, and do not count.

    Example: one reference and one workload, A known to 3 % there, the workload to 4 % on T and exactly on the
    reference: V = 0.03^2 + 0.04^2 = 0.05^2. Were all runs of A disturbed, V = 0.05^2 + 0.2^2.

    Parameters: the noise; `u` (J, R), of sum 1 at each knot; `v` (B,), of sum 1.
    Returns (J,), of ln t squared.

    >>> squares, u, v = np.array([[0.0, 0.03], [0.04, 0.0]]) ** 2, np.ones((1, 1)), np.ones(1)
    >>> [carried_variance(MeasurementNoise(squares, f), u, v).round(9).tolist()
    ...  for f in (np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 0.0]]))]
    [[0.0025], [0.0425]]
    """
    squares, disturbed = noise
    by_workload = v**2
    of_references = squares[:-1, -1] + squares[:-1, :-1] @ by_workload + (DISTURBANCE * disturbed[:-1, -1]) ** 2
    on_target = squares[-1, :-1] @ by_workload + (DISTURBANCE * (disturbed[-1, :-1] @ v)) ** 2
    return np.asarray(u**2 @ of_references + on_target)
