"""Companions: profiles that show how a machine scales beyond the thread counts of the profile to be extrapolated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predictor.core.database import Database
from profiles.arrays import FloatArray, IntArray

# The kinship of a companion by its platform, and the factor of its weight for the same workload.
SAME_PLATFORM, SAME_CPU, SAME_MICROARCHITECTURE, SAME_VENDOR, ANY_PLATFORM = 1.0, 1.0, 0.5, 0.1, 0.03
SAME_WORKLOAD = 4.0
SCOPES = ("none", "platform", "kin", "all")
LEAST_KINSHIP = {"platform": SAME_PLATFORM, "kin": SAME_MICROARCHITECTURE, "all": 0.0}


@dataclass(frozen=True, eq=False)
class Companion:
    """A measured curve of another profile, with thread counts of the platform of the profile to be extrapolated.

    `n` (M,) is ascending. `log_r` (M,) is the logarithm of R up to a constant. `weight` is 1 for another workload on
    the same platform.
    """

    n: FloatArray
    log_r: FloatArray
    weight: float
    label: str = ""

    def log_r_at(self, n: FloatArray) -> FloatArray:
        """Return log R, interpolated over log n. NaN outside the measured range."""
        return np.asarray(np.interp(np.log(n), np.log(self.n), self.log_r, left=np.nan, right=np.nan))


def companions_of(
    database: Database, platform: int, workload: int, *, scope: str = "all", most: int = 48
) -> list[Companion]:
    """Return the profiles that are most similar to one of `workload` on `platform`, without those of this pair itself.

    The kinship of a platform is 1 for the same platform or processor model, 0.5 for the same microarchitecture, 0.1 for
    the same vendor, and 0.03 otherwise. It is also 0.03 if only one of the two platforms has SMT threads. A profile of
    the same workload has four times the weight. Platforms with kinship 0.03 contribute only the same workload. `scope`
    "platform" selects the same platform, "kin" also the same processor model and microarchitecture, "all" every
    platform, and "none" no companions.

    Thread counts of another platform are mapped to those of this one, so that 1, n_nu, n_ht and the number of all
    threads coincide.

    Returns: at most `most` companions, the greatest weight first. Companions with equal weights are ordered by the
    difference of their platform's number of threads from this one's.
    Errors: ValueError for another scope.
    """
    if scope not in SCOPES:
        raise ValueError(f"unknown scope {scope!r}; known: {', '.join(SCOPES)}")
    if scope == "none":
        return []
    of_platform = _kinship(database, platform)
    rows = _candidate_rows(database, platform, workload, of_platform)
    kinship = of_platform[database.platform_index[rows]]
    same = database.workload_index[rows] == workload
    is_related = kinship >= LEAST_KINSHIP[scope]
    if scope == "platform":
        is_related &= database.platform_index[rows] == platform
    rows, weights = rows[is_related], (kinship * np.where(same, SAME_WORKLOAD, 1.0))[is_related]
    size_distance = np.abs(np.log(database.n_max[database.platform_index[rows]] / database.n_max[platform]))
    order = np.lexsort((size_distance, -weights))[:most]
    ours = _breakpoints_and_end(database, platform)
    return [_companion(database, int(rows[i]), platform, ours, float(weights[i])) for i in order]


def companions_from_curves(curves: Sequence[tuple[FloatArray, FloatArray]]) -> list[Companion]:
    """Return companions for curves (n, t) of the same platform, with n ascending and t in seconds.

    >>> companion = companions_from_curves([(np.array([1.0, 2.0]), np.array([4.0, 3.0]))])[0]
    >>> companion.log_r_at(np.array([2.0, 4.0])).round(3)
    array([0.405,   nan])
    """
    return [Companion(n, np.log(n * t / (n[0] * t[0])), weight=1.0) for n, t in curves]


def _candidate_rows(database: Database, platform: int, workload: int, kinship: FloatArray) -> IntArray:
    """Return the visible rows of the workload or of similar platforms, without those of the pair.

    Rows with fewer than two thread counts are left out.
    """
    same, at_home = database.workload_index == workload, database.platform_index == platform
    usable = (same | (kinship >= SAME_VENDOR)[database.platform_index]) & ~(same & at_home) & ~database.hidden
    return np.asarray(np.flatnonzero(usable & (np.diff(database.curve_offsets) >= 2)))


def _kinship(database: Database, platform: int) -> FloatArray:
    """Return the kinship of every platform to this one, (P,)."""
    kinship = np.full(len(database.platforms), ANY_PLATFORM)
    levels = (("vendor", SAME_VENDOR), ("microarchitecture", SAME_MICROARCHITECTURE), ("cpu_model", SAME_CPU))
    for column, level in levels:
        codes = _text_codes(database, column)
        if codes[platform] >= 0:
            kinship[codes == codes[platform]] = level
    has_hyperthreads = np.isfinite(database.n_ht)
    kinship[has_hyperthreads != has_hyperthreads[platform]] = ANY_PLATFORM
    kinship[platform] = SAME_PLATFORM
    return kinship


def _text_codes(database: Database, column: str) -> NDArray[np.intp]:
    """Return the texts of a column of the platforms as integer codes, (P,). -1 means unknown."""

    def encode() -> NDArray[np.intp]:
        texts = np.array(database.platform_table[column])
        codes = np.unique(texts, return_inverse=True)[1]
        return np.where(texts == "", -1, codes)

    codes: NDArray[np.intp] = database.derive(f"codes of {column}", encode)
    return codes


def _companion(
    database: Database, row: int, platform: int, ours: tuple[float, float, float], weight: float
) -> Companion:
    n, time_s = database.curve(row)
    theirs = int(database.platform_index[row])
    threads = np.asarray(n, dtype=np.float64)
    mapped = threads if theirs == platform else _map_counts(threads, _breakpoints_and_end(database, theirs), ours)
    label = f"{database.workloads[database.workload_index[row]]} on {database.platforms[theirs]}"
    return Companion(mapped, np.log(threads * time_s / (threads[0] * time_s[0])), weight, label)


def _breakpoints_and_end(database: Database, platform: int) -> tuple[float, float, float]:
    threads = database.platform_table["threads"][platform]
    most = float(threads) if np.isfinite(float(threads)) else float(database.n_max[platform])
    return float(database.n_nu[platform]), float(database.n_ht[platform]), most


def _map_counts(n: FloatArray, theirs: tuple[float, ...], ours: tuple[float, ...]) -> FloatArray:
    """Map thread counts of their machine to ours: linear between the marks that both have, in proportion beyond."""
    marks = [(1.0, 1.0)]
    for their, our in zip(theirs, ours, strict=True):
        if their > marks[-1][0] and our > marks[-1][1]:  # always false for NaN
            marks.append((their, our))
    if len(marks) == 1:
        return n
    x, y = np.array(marks).T
    return np.asarray(np.where(n > x[-1], n * y[-1] / x[-1], np.interp(n, x, y)))
