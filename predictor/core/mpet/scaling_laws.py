"""A prior over scaling laws: how the thread time of a program may grow, before anything of it is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from profiles.arrays import FloatArray

# The share of each kind of law; within a kind all laws are alike probable.
SERIAL_SHARE, AMDAHL_SHARE, USL_SHARE, SATURATION_SHARE, CACHE_SHARE = 0.15, 0.25, 0.25, 0.25, 0.10
SMT_GAIN = 0.25  # of a core: what a hardware thread adds where another one of its core works


@dataclass(frozen=True, eq=False)
class ScalingLaws:
    """L laws of the redundancy over the cores in use m, and how probable each is (L,), with sum 1.

        R(m) = max(1 + sigma (m - 1) + kappa m (m - 1), m / limit) * max(m^-relief, floor)

    `sigma` is the serial part (Amdahl) or contention, `kappa` coherence (USL); beyond `limit` cores a shared resource,
    such as the memory, is used up. `relief` and `floor`: more cores have more cache, until the data fit.
    """

    share: FloatArray
    sigma: FloatArray
    kappa: FloatArray
    limit: FloatArray
    relief: FloatArray
    floor: FloatArray

    def log_thread_time(self, n: FloatArray, cores: FloatArray) -> FloatArray:
        """ln(n t(n) / t(1)) of every law at thread counts (J,) that are worth so many cores (J,), (J, L).

        >>> laws = scaling_laws()
        >>> serial = laws.sigma.tolist().index(1.0)  # Amdahl's law without a parallel part
        >>> n = np.array([1.0, 8.0])
        >>> np.exp(laws.log_thread_time(n, nominal_cores(n, n_ht=4.0))[:, serial]).round(9).tolist()
        [1.0, 8.0]
        """
        m = cores[:, None]
        redundancy = np.maximum(1.0 + self.sigma * (m - 1.0) + self.kappa * m * (m - 1.0), m / self.limit)
        redundancy *= np.maximum(m**-self.relief, self.floor)
        return np.asarray(np.log(redundancy * n[:, None] / m))


def nominal_cores(n: FloatArray, n_ht: float) -> FloatArray:
    """How many cores so many threads (J,) are worth: each has one up to `n_ht`, beyond it counts as SMT_GAIN of one.

    >>> nominal_cores(np.array([2.0, 8.0]), n_ht=4.0).tolist(), nominal_cores(np.array([8.0]), n_ht=np.nan).tolist()
    ([2.0, 5.0], [8.0])
    """
    return n if np.isnan(n_ht) else np.asarray(np.minimum(n, n_ht + SMT_GAIN * np.maximum(n - n_ht, 0.0)))


@cache
def scaling_laws() -> ScalingLaws:
    """The laws that the prior knows, in steps of their logarithms that no measured curve could tell apart.

    >>> laws = scaling_laws()
    >>> len(laws.share), round(float(laws.share.sum()), 9)
    (317, 1.0)
    """
    sigmas = np.concatenate([[0.0], np.geomspace(1e-3, 0.5, 12), [0.7, 0.85, 0.95]])
    kappas = np.geomspace(1e-5, 0.3, 10)
    limits = np.geomspace(2.0, 256.0, 8)
    caches = [(relief, floor) for relief in (0.05, 0.1, 0.2, 0.4) for floor in (0.8, 0.5, 0.25)]
    kinds = [
        (SERIAL_SHARE, [(1.0, 0.0, np.inf, 0.0, 1.0)]),
        (AMDAHL_SHARE, [(sigma, 0.0, np.inf, 0.0, 1.0) for sigma in sigmas]),
        (USL_SHARE, [(sigma, kappa, np.inf, 0.0, 1.0) for sigma in sigmas for kappa in kappas]),
        (SATURATION_SHARE, [(sigma, 0.0, limit, 0.0, 1.0) for sigma in sigmas for limit in limits]),
        (CACHE_SHARE, [(0.0, 0.0, np.inf, relief, floor) for relief, floor in caches]),
    ]
    rows = [(share / len(laws), *law) for share, laws in kinds for law in laws]
    return ScalingLaws(*np.array(rows).T)
