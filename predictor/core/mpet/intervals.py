"""How wide an interval must be to hold what will be measured: conformal calibration on left-out errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from profiles.arrays import BoolArray, FloatArray, IntArray

FEW_FAMILIES_CORRECTION = 0.3  # of a family more would be outside, for each family there is
FEWEST_CALIBRATION_UNITS = 3  # scores, and platforms or families: fewer calibrate nothing
UNCALIBRATED_FACTOR = 3.0  # standard deviations, where nothing can be calibrated


def conformal_factor(
    scores: FloatArray, usable: BoolArray, level: float, units: int, few: float = FEW_FAMILIES_CORRECTION
) -> float:
    """How many standard deviations hold `level` of the left-out errors.

    A score is |error| / standard deviation of something known that was predicted as if it were not. The factor is the
    quantile of the scores at

        min(level (1 + few / units), 1),    few = 0.3 by default

    where the units are what may be exchanged for the target: platforms, or families of them that were left out
    together. Beyond the largest score, where the quantile asks for it, the factor grows by 1 / units.

    Example: 99 scores 0.01 ... 0.99 of 99 platforms, level 0.9: the 91st of them, 0.91.

    Parameters: `scores` of any shape; `usable`, which of them count; 0 < `level` < 1.
    Returns a number without unit; 3 with fewer than 3 usable scores.

    >>> scores = np.arange(1, 100)[None] / 100
    >>> round(conformal_factor(scores, scores > 0, 0.9, 99), 2)
    0.91
    """
    pooled = scores[usable]
    if len(pooled) < FEWEST_CALIBRATION_UNITS or units < FEWEST_CALIBRATION_UNITS:
        return UNCALIBRATED_FACTOR
    factor = _quantile(pooled, min(level * (1.0 + few / units), 1.0))
    short = (units + 1) * level > units
    return factor * (1.0 + 1.0 / units) if short else factor


def _quantile(scores: FloatArray, level: float) -> float:
    """The smallest score that at least ceil((count + 1) level) reach; the largest where there are not so many."""
    rank = min(math.ceil((len(scores) + 1) * level), len(scores)) - 1
    return float(np.partition(scores, rank)[rank])


def left_out_errors(projections: FloatArray, products: FloatArray, families: IntArray) -> tuple[FloatArray, FloatArray]:
    """Errors of kriging every platform from those of other families alone, by block deletion (no refit).

        error_f = Q_ff^-1 (Q y)_f,    variance_f = diag(Q_ff^-1) in units of the process variance

    Example: one's own family each, and Q = K^-1 [1 - 1 1'K^-1 / 1'K^-1 1]: error_p = (Q y)_p / Q_pp.

    Parameters: `projections` (J, R, R), Q at each thread count; `products` (J, R, C), Q y for known values y;
    `families` (R,). Returns errors (J, R, C) in the unit of y, and variances (J, R). A family that is everybody has
    no error: NaN.

    >>> projection = np.array([[[2.0, -2.0], [-2.0, 2.0]]])
    >>> errors, variances = left_out_errors(projection, projection @ np.array([[1.0], [4.0]]), np.array([0, 1]))
    >>> errors.ravel().tolist(), variances.ravel().tolist()
    ([-3.0, 3.0], [0.5, 0.5])
    """
    return left_out_family_errors(projections, products, family_members(families))


def family_members(families: IntArray) -> list[IntArray]:
    """The positions of the families of each size, (families of this size, size), smallest size first.

    >>> [members.tolist() for members in family_members(np.array([4, 7, 4]))]
    [[[1]], [[0, 2]]]
    """
    _, members = np.unique(families, return_inverse=True)
    order = np.argsort(members, kind="stable")
    sizes = np.bincount(members)
    starts = np.cumsum(sizes) - sizes
    return [order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes).tolist()]


def left_out_family_errors(
    projections: FloatArray, products: FloatArray, members: Sequence[IntArray]
) -> tuple[FloatArray, FloatArray]:
    """As `left_out_errors`, for families found by `family_members`; one projection may serve all thread counts."""
    errors, variances = left_out_single_errors(projections, products)
    for families in members:
        size = families.shape[1]
        if size == projections.shape[1]:
            errors[:], variances[:] = np.nan, np.nan
        elif size > 1:
            inverse = np.linalg.inv(projections[:, families[:, :, None], families[:, None, :]])
            errors[:, families] = inverse @ products[:, families]
            variances[:, families] = np.diagonal(inverse, axis1=2, axis2=3)
    return errors, variances


def left_out_single_errors(projections: FloatArray, products: FloatArray) -> tuple[FloatArray, FloatArray]:
    """As `left_out_errors`, every platform being its own family.

    >>> projection = np.array([[[2.0, -2.0], [-2.0, 2.0]]])
    >>> left_out_single_errors(projection, projection @ np.array([[1.0], [4.0]]))[0].ravel().tolist()
    [-3.0, 3.0]
    """
    variances = 1.0 / np.diagonal(projections, axis1=1, axis2=2)
    return products * variances[:, :, None], variances
