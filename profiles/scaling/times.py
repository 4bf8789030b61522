"""From curves back to times: Eq. 3-4, for the fit error and for predictions alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from profiles.arrays import FloatArray
from profiles.scaling.names import FRACTIONS

LEAST_REDUNDANCY = 1e-9
LEAST_UTILISATION = 0.01


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Times rebuilt from curves: `time_s` and `utilisation` (..., N), NaN = invalid; `clamps` names each clamp."""

    time_s: FloatArray
    utilisation: FloatArray
    clamps: tuple[str, ...]


def utilisation(fractions: FloatArray | None, shape: tuple[int, ...]) -> FloatArray:
    """U(n) = 1 - (l + w + c + d + s + j) of fractions (..., 6, N); ones of `shape` where None (time-only). (Eq. 4)

    >>> utilisation(np.array([[0.0], [0.25], [0.0], [0.125], [0.0], [0.0]]), (1,)).tolist()
    [0.625]
    """
    if fractions is None:
        return np.ones(shape)
    return np.asarray(1.0 - fractions.sum(axis=-2), dtype=np.float64)


def reconstruct(t1_s: ArrayLike, redundancy: FloatArray, fractions: FloatArray | None, n: ArrayLike) -> Reconstruction:
    """The times that curves stand for (Eq. 3-4), kept possible.

        t(n) = t(1) R(n) / (n U(n))        U(n) = 1 - (l + w + c + d + s + j)

    First every fraction is kept in [0, 1], R at or above 1e-9 and U at or above 0.01; `clamps` names each kind that
    happened, once. Example: t(1) = 12 s, R(4) = 1.2, w(4) = 0.25: t(4) = 12 * 1.2 / (4 * 0.75) = 4.8 s.

    Parameters: `t1_s` (...) in seconds; `redundancy` (..., N); `fractions` (..., 6, N) in the order of FRACTIONS, or
    None for time-only curves (U = 1); `n` (N,) thread counts.
    Returns: Reconstruction, (..., N). NaN: any curve that takes part is invalid at that n, or t(1) is.
    Errors: ValueError where the shapes do not broadcast.

    >>> rebuilt = reconstruct(12.0, np.array([1.2]), np.array([[0], [0.25], [0], [0], [0], [-0.1]]), [4])
    >>> rebuilt.time_s.round(9).tolist(), rebuilt.clamps
    ([4.8], ('task_join below 0',))
    """
    clamps = []
    if fractions is not None:
        for row, name in enumerate(FRACTIONS):
            if (fractions[..., row, :] < 0).any():
                clamps.append(f"{name} below 0")
            if (fractions[..., row, :] > 1).any():
                clamps.append(f"{name} above 1")
        fractions = np.clip(fractions, 0.0, 1.0)
    if (redundancy < LEAST_REDUNDANCY).any():
        clamps.append(f"redundancy below {LEAST_REDUNDANCY:g}")
    used = utilisation(fractions, np.shape(redundancy))
    if (used < LEAST_UTILISATION).any():
        clamps.append(f"utilisation below {LEAST_UTILISATION:g}")
    used = np.maximum(used, LEAST_UTILISATION)
    scaled = np.asarray(t1_s, dtype=np.float64)[..., None] * np.maximum(redundancy, LEAST_REDUNDANCY)
    return Reconstruction(time_s=scaled / (np.asarray(n) * used), utilisation=used, clamps=tuple(clamps))
