"""Profiles that cannot be right: so far from what the rest says that no platform could explain it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from predictor.core.mpet.evidence.gathering import Evidence, knots_first
from predictor.core.mpet.robust import MEDIAN_TO_SIGMA
from profiles.arrays import BoolArray, FloatArray, IntArray

FEWEST_PLATFORMS_TO_JUDGE, FEWEST_WORKLOADS_OF_A_PLATFORM = 6, 3  # with fewer nobody can tell who is wrong
MEDIAN_ROUNDS = 2  # of taking medians off, of workloads and of platforms
OUTLYING_DEVIATIONS = 12.0  # robust standard deviations of the workload
MOST_JUDGING_PLATFORMS = 96  # platforms: more of them change a workload's median no more
FEWEST_ALIKE = 3  # platforms that are so far off on the same side: a kind of machine, such as those with a GPU
LEAST_OUTLYING_LOG_FACTOR = 3.0  # of ln t: and twenty times too fast or too slow


def without_outliers(evidence: Evidence) -> Evidence:
    """The evidence less its outlying profiles, which it counts. T and one reference always remain.

    A workload whose profile on T is outlying tells nothing about T, and is left out altogether; so is a reference
    that shares no other with T.
    """
    is_known = np.empty((len(evidence.platforms) + 1, len(evidence.workloads) + 1), dtype=bool)
    is_known[:, :-1] = evidence.is_known
    is_known[:-1, -1] = evidence.has_workload
    is_known[-1, -1] = False
    most_workloads = is_known.sum(axis=1).max()
    if most_workloads < FEWEST_WORKLOADS_OF_A_PLATFORM or len(is_known) < FEWEST_PLATFORMS_TO_JUDGE:
        return evidence
    level = np.zeros(is_known.shape)
    J = len(evidence.n)
    level[:, :-1] = knots_first(evidence.curves).sum(axis=0) / J
    level[:-1, -1] = evidence.of_workload.sum(axis=1) / J
    is_outlying = outlying_values(level, is_known)
    if not is_outlying.any():
        return evidence
    remaining = evidence.is_known & ~is_outlying[:, :-1]
    on_target = evidence.is_known[-1] & is_outlying[-1, :-1]
    kept = np.flatnonzero(~is_outlying[:-1, -1] & (remaining[:-1] & remaining[-1]).any(axis=1))
    if not evidence.has_workload[kept].any():  # the others are relatives of T, from which workloads are filled in
        return evidence
    curves = evidence.curves.copy(order="K")
    curves[is_outlying[:, :-1]] = 0.0
    outliers = int(np.count_nonzero(is_outlying))
    of_workload = evidence.of_workload.copy(order="K")  # a view would keep all curves of before
    plausible = replace(evidence, is_known=remaining, curves=curves, of_workload=of_workload, outliers=outliers)
    if on_target.any():
        plausible = plausible.of_workloads(np.flatnonzero(~on_target))
    return plausible.nearest(kept) if len(kept) < len(evidence.platforms) else plausible


def outlying_values(level: FloatArray, is_known: BoolArray) -> BoolArray:
    """Which values of platforms by workloads (P, B) contradict a platform and a workload part by medians.

    Outlying is more than 12 robust standard deviations of its workload and more than e^3 = 20 times off, unless three
    platforms are so far off on the same side: then they are of a kind, such as machines with a GPU.

    >>> level = np.add.outer(np.arange(6.0), np.arange(4.0))
    >>> level[2, 1] += 7
    >>> np.argwhere(outlying_values(level, np.ones(level.shape, dtype=bool))).tolist()
    [[2, 1]]
    """
    rest = np.where(is_known, level, np.inf).astype(np.float32)  # digits enough to tell what is twenty times off
    some = slice(None, None, -(-len(rest) // MOST_JUDGING_PLATFORMS))
    per_platform, per_workload = is_known.sum(axis=1), is_known[some].sum(axis=0)
    for _ in range(MEDIAN_ROUNDS):
        rest -= _medians(rest[some].T, per_workload)
        rest -= _medians(rest, per_platform)[:, None]
    rest -= _medians(rest[some].T, per_workload)
    spread = MEDIAN_TO_SIGMA * _medians(np.abs(rest[some]).T, per_workload)
    limit = np.maximum(OUTLYING_DEVIATIONS * spread, LEAST_OUTLYING_LOG_FACTOR)
    is_outlying = np.zeros(is_known.shape, dtype=bool)
    for side in (-1.0, 1.0):
        is_far = is_known & (side * rest > limit)
        is_outlying |= is_far & (is_far.sum(axis=0) < FEWEST_ALIKE)
    return is_outlying


def _medians(rows: NDArray[np.float32], counts: IntArray) -> NDArray[np.float32]:
    """The lower median of each row's `counts` finite values, the others being infinite; 0 where there are none."""
    ascending = np.sort(rows, axis=1)
    middle = ascending[np.arange(len(rows)), np.maximum(counts - 1, 0) // 2]
    return np.where(counts > 0, middle, np.float32(0.0))
