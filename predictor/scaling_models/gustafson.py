"""Gustafson's law: the parallel part grows with the input size, the serial part does not."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from predictor.scaling_models.linear_laws import LinearLaw
from predictor.scaling_models.points import SIZE, Points
from profiles.arrays import FloatArray


class Gustafson(LinearLaw):
    """Gustafson's law, t(n, x) = serial + parallel x/n. The input size x = n has the scaled speedup n - s (n - 1).

    Gustafson's fraction s = serial / (serial + parallel x/n) is the serial fraction of the parallel run.
    `serial_fraction` is s at the largest measured x/n. Without `size`, the input size is 1 everywhere, and the law is
    Amdahl's law with the fraction of the parallel run.

    Worked example: serial = 1 s and parallel = 3 s per unit of input give t(4, 4) = 1 + 3 = 4 s, like t(1, 1). One
    thread would need 1 + 12 = 13 s for x = 4, so that the scaled speedup is 13/4 = 4 - 0.25 * 3.

    Learned parameters: `serial_s` and `parallel_s` (per unit of size) in seconds, `serial_fraction` from 0 to 1.
    Source: Gustafson 1988.

    >>> model = Gustafson().fit([[1, 1], [4, 4], [1, 2]], [4.0, 4.0, 7.0])
    >>> model.predict([[1, 4], [8, 8]]).round(9), round(model.parameters()["parallel_s"], 9)
    (array([13.,  4.]), 3.0)
    """

    title: ClassVar[str] = "Gustafson's law"
    source: ClassVar[str] = "Gustafson 1988"
    optional: ClassVar[tuple[str, ...]] = (SIZE,)

    def _fit(self, points: Points, t: FloatArray, **measured: Any) -> None:
        self.largest_share_ = float(self._design(points)[:, 1].max())
        super()._fit(points, t)

    def _design(self, points: Points) -> FloatArray:
        return np.stack([np.ones(len(points)), points.column(SIZE) / points.n], axis=1)

    def _parameters_of(self, coefficients: FloatArray) -> dict[str, float]:
        serial, parallel = coefficients
        largest = serial + parallel * self.largest_share_
        return {
            "serial_s": float(serial),
            "parallel_s": float(parallel),
            "serial_fraction": float(serial / largest),
        }
