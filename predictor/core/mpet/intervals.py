"""How wide an interval must be to hold what will be measured: conformal calibration on left-out errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from predictor.core.mpet.gathering import Evidence
from predictor.core.mpet.hyperparameters import TINY
from predictor.core.mpet.platforms import PlatformMetadata
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


FEWEST_USABLE_ERRORS = 20  # references times knots: with fewer in T's position all references count
USUAL_NOISE_WORKLOADS = 3.0  # a platform is as noisy as usual until so many workloads say otherwise
LARGEST_TYPICAL_ERRORS = 4.0  # typical errors: a larger one counts as so large
MEAN_ABSOLUTE_OF_NORMAL = 0.8  # mean absolute deviation in standard deviations


class TargetPosition(NamedTuple):
    """How references are put in T's position: what is left out together, and where that tells something."""

    members: list[IntArray]  # of the families of each size; none if every reference is left out by itself
    usable: BoolArray  # (J, R)
    units: int  # how many families there are

    @property
    def is_alone(self) -> bool:
        """Whether every reference is left out by itself."""
        return not self.members


class Noisiness(NamedTuple):
    """How large errors are for workloads like A, of the references (R,) and T; 1 = as usual."""

    of_references: FloatArray
    of_target: float


def left_out_families(platforms: IntArray, target: int, metadata: PlatformMetadata) -> tuple[IntArray, BoolArray]:
    """What has to be left out together with a reference to put it in T's position: (R,) families, and who can be.

    T has a twin (cpu_model) among the references: each reference alone, of those that have a twin. T has relatives of
    its microarchitecture: all of a cpu_model, where others of the microarchitecture remain. T has none: all of a
    microarchitecture.

    Example: references of the CPU models 0, 0, 1, 2, of which 0 and 1 are of T's microarchitecture 0, and T's model is
    3: a model at a time is left out, of the first three.

    >>> metadata = PlatformMetadata(np.zeros((5, 1)), np.array([0, 0, 1, 2, 3]), np.array([0, 0, 0, 1, 0]))
    >>> families, can_be_left_out = left_out_families(np.array([0, 1, 2, 3]), 4, metadata)
    >>> families.tolist(), can_be_left_out.tolist()
    ([0, 0, 1, 2], [True, True, True, False])
    """
    cpu, family = metadata.cpu[platforms], metadata.microarchitecture[platforms]
    alone = np.arange(len(cpu))
    if (cpu == metadata.cpu[target]).any():
        return alone, _occurrences(cpu) > 1
    if (family == metadata.microarchitecture[target]).any():
        families, can_be = cpu, _occurrences(family) > _occurrences(cpu)
    else:
        families, can_be = family, np.ones(len(cpu), dtype=bool)
    return (families if (families != families[0]).any() else alone), can_be


def _occurrences(codes: IntArray) -> IntArray:
    """How often each code (0, 1, ...) occurs among them."""
    return np.bincount(codes)[codes]


def position_of_target(evidence: Evidence, metadata: PlatformMetadata) -> TargetPosition:
    """How the references are put in T's position; where too few tell anything, all of them count."""
    families, can_be = left_out_families(evidence.platforms, evidence.target, metadata)
    usable = evidence.measured.T & can_be
    if np.count_nonzero(usable) < FEWEST_USABLE_ERRORS:
        usable = np.ones(usable.shape, dtype=bool)
    units = int(np.count_nonzero(np.bincount(families)))
    return TargetPosition(family_members(families) if units < len(families) else [], usable, units)


def calibrated_half_width(
    position: TargetPosition,
    noise: Noisiness,
    level: float,
    *,
    errors: FloatArray,
    deviations: FloatArray,
    deviation: FloatArray,
) -> FloatArray:
    """Half the interval of ln t at each knot, (J,).

    The references were left out like T and predicted; their errors (J, R), in units of their own standard deviations
    (J, R) and of how noisy the platform is for the known workloads, are the scores.

        score = |error| / (deviation sqrt(noise)),    h = conformal factor * deviation on T * sqrt(noise of T)

    >>> position = TargetPosition(members=[], usable=np.ones((1, 99), dtype=bool), units=99)
    >>> errors = np.arange(1, 100)[None] / 100
    >>> noise = Noisiness(np.ones(99), 1.0)
    >>> calibrated_half_width(
    ...     position, noise, 0.9, errors=errors, deviations=np.ones((1, 99)), deviation=np.array([2.0])).round(2)
    array([1.82])
    """
    scores = np.abs(errors) / (deviations * np.sqrt(noise.of_references) + TINY)
    factor = conformal_factor(scores, position.usable, level, position.units)
    return np.asarray(factor * deviation * np.sqrt(noise.of_target))


def noisiness(evidence: Evidence, errors: FloatArray, of_target: FloatArray, weights: FloatArray) -> Noisiness:
    """How noisy each platform is, by the errors of the known workloads on the references (J, R, B) and T (J, B).

    A platform counts as so noisy as the mean of its errors, each in units of what is typical for its workload; what few
    workloads say is drawn towards 1.
    """
    J, R, B = errors.shape
    relative = np.empty((J, R + 1, B))
    np.abs(errors, out=relative[:, :-1])
    np.abs(of_target, out=relative[:, -1])
    typical = relative[:, :-1].sum(axis=1) / (R * MEAN_ABSOLUTE_OF_NORMAL) + TINY
    relative /= typical[:, None]
    mean = np.minimum(relative, LARGEST_TYPICAL_ERRORS, out=relative).sum(axis=0) / J
    count = evidence.is_known * weights**2
    count[-1] *= evidence.measured_on_target
    total = count.sum(axis=1) + TINY
    effective = total**2 / ((count**2).sum(axis=1) + TINY)
    own = effective * (mean * count).sum(axis=1) / (total * MEAN_ABSOLUTE_OF_NORMAL)
    noise = (USUAL_NOISE_WORKLOADS + own) / (USUAL_NOISE_WORKLOADS + effective)
    return Noisiness(noise[:-1], float(noise[-1]))
