"""Which errors of known things tell how wrong the answer may be, and how wide its interval must be for that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predictor.core.mpet.evidence.gathering import Evidence
from predictor.core.mpet.evidence.metadata import PlatformMetadata
from predictor.core.mpet.hyperparameters import TINY
from predictor.core.mpet.intervals import conformal_factor, family_members
from profiles.arrays import BoolArray, FloatArray, IntArray

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
