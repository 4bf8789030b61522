"""Amdahl's law: one part of the time shrinks with the thread count, the other part is constant."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from predictor.scaling_models.linear_laws import LinearLaw
from predictor.scaling_models.points import Points
from profiles.arrays import FloatArray


class Amdahl(LinearLaw):
    """Amdahl's law, t(n) = t1 ((1 - f) + f/n), with the parallel fraction f.

    Worked example: t1 = 10 s and f = 0.9 give t(9) = 1 + 9/9 = 2 s.

    Learned parameters: `t1_s` in seconds and `parallel_fraction` from 0 to 1. The fit needs two thread counts.
    Source: Amdahl 1967, as Eq. 5 of Furtunato et al. (When parallel speedups hit the memory wall).

    >>> model = Amdahl().fit([[1], [3], [9]], [10.0, 4.0, 2.0])
    >>> {name: round(value, 9) for name, value in model.parameters().items()}, model.predict([[90]]).round(9)
    ({'t1_s': 10.0, 'parallel_fraction': 0.9}, array([1.1]))
    """

    title: ClassVar[str] = "Amdahl's law"
    source: ClassVar[str] = "Amdahl 1967"

    def _design(self, points: Points) -> FloatArray:
        return np.stack([np.ones(len(points)), 1.0 / points.n], axis=1)

    def _parameters_of(self, coefficients: FloatArray) -> dict[str, float]:
        serial, parallel = coefficients
        return {"t1_s": float(serial + parallel), "parallel_fraction": float(parallel / (serial + parallel))}
