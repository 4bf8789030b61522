"""Gustafson's law: the parallel part grows with the input, the serial part does not."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from predictor.scaling_models.linear_laws import LinearLaw
from predictor.scaling_models.points import SIZE, Points
from profiles.arrays import FloatArray


class Gustafson(LinearLaw):
    """t(n, x) = serial + parallel x/n: the scaled speedup of the input x = n over n times the work is n - s (n - 1).

    Gustafson's fraction s = serial / (serial + parallel x/n) is that of the parallel run; `serial_fraction` gives it
    for the largest measured x/n. Without `size` the input is fixed at 1 and the law is Amdahl's with the fraction
    seen from the parallel side.

    Worked example: serial 1 s, parallel 3 s a unit of input: t(4, 4) = 1 + 3 = 4 s, as t(1, 1); one thread would
    need 1 + 12 = 13 s for it: a scaled speedup of 13/4 = 4 - 0.25 * 3.

    Parameters learned: `serial_s`, `parallel_s` (per unit of size) in seconds, `serial_fraction`, 0..1.
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
