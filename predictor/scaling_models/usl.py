"""The universal scalability law: contention and coherence."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from predictor.scaling_models.linear_laws import LinearLaw
from predictor.scaling_models.points import Points
from profiles.arrays import FloatArray


class USL(LinearLaw):
    """Universal scalability law, t(n) = t1 (1 + sigma (n - 1) + kappa n (n - 1)) / n.

    sigma is the contention: threads wait for a resource that only one of them can use. kappa is the coherence: every
    thread exchanges data with every other. The speedup is largest at n = sqrt((1 - sigma) / kappa), `n_peak`, which is
    infinite if kappa = 0.

    Worked example: t1 = 8 s, sigma = 0.1 and kappa = 0.01 give t(2) = 8 (1 + 0.1 + 0.02) / 2 = 4.48 s.

    Learned parameters: `t1_s` in seconds, `sigma` and `kappa` (without unit, at least 0), and `n_peak`. The fit needs
    three thread counts.
    Source: Gunther 1993, A Simple Capacity Model of Massively Parallel Transaction Systems.

    >>> n = np.array([[1.0], [2.0], [4.0], [8.0]])
    >>> model = USL().fit(n, 8 * (1 + 0.1 * (n - 1) + 0.01 * n * (n - 1))[:, 0] / n[:, 0])
    >>> {name: round(value, 6) for name, value in model.parameters().items()}
    {'t1_s': 8.0, 'sigma': 0.1, 'kappa': 0.01, 'n_peak': 9.486833}
    """

    title: ClassVar[str] = "Universal scalability law"
    source: ClassVar[str] = "Gunther 1993"

    def _design(self, points: Points) -> FloatArray:
        n = points.n
        return np.stack([1.0 / n, (n - 1) / n, n - 1], axis=1)

    def _parameters_of(self, coefficients: FloatArray) -> dict[str, float]:
        t1, contention, coherence = (float(value) for value in coefficients)
        if t1 <= 0:
            return dict.fromkeys(("t1_s", "sigma", "kappa", "n_peak"), float("nan"))
        sigma, kappa = contention / t1, coherence / t1
        peak = float(np.sqrt(max(1 - sigma, 0.0) / kappa)) if kappa > 0 else float("inf")
        return {"t1_s": t1, "sigma": sigma, "kappa": kappa, "n_peak": peak}
