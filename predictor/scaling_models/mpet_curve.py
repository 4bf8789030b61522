"""The MPET curve as a scaling model: straight lines of R(n) with one bend for NUMA and one for SMT threads."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.points import Points
from profiles.arrays import FloatArray
from profiles.scaling.features import evaluate_curves, fit_curves
from profiles.scaling.names import ELEMENTS
from profiles.scaling.runs import LEAST_REDUNDANCY

NO_GAUSSIAN_SUM = np.zeros(1, dtype=np.bool_)


class MpetCurve(ScalingModel):
    """MPET curve, t(n) = t1 R(n)/n with R from Eq. 5:

        R(n) = m n + b + [n > n_nu] (m_nu (n - n_nu) + b_nu) + [n > n_ht] (m_ht (n - n_ht) + b_ht)

    t1 = n_1 t(n_1) at the smallest measured n_1. The six elements are fitted by least squares
    (`profiles.scaling.features`). A segment without measurements has no elements, so that the line before its
    breakpoint continues. R is kept at or above 1e-9. Several times at the same n count with their mean.

    Settings: `n_nu` and `n_ht`, the breakpoints of the machine as thread counts; None = no such effect.
    Learned: the six elements (NaN = not measured) and `t1_s`. The fit needs two thread counts.
    Source: Arndt et al. 2020, Eq. 5.

    >>> n = np.array([[1], [2], [3], [4], [5], [6]])
    >>> model = MpetCurve(n_ht=4).fit(n, [12.0, 6.0, 4.0, 3.0, 3.6, 4.0])
    >>> model.predict([[8]]).round(9), round(model.parameters()["m_ht"], 9)
    (array([4.5]), 0.5)
    """

    title: ClassVar[str] = "MPET curve"
    source: ClassVar[str] = "Arndt et al. 2020, Eq. 5"

    def __init__(self, n_nu: int | None = None, n_ht: int | None = None) -> None:
        self.n_nu = n_nu
        self.n_ht = n_ht

    def _fit(self, points: Points, t: FloatArray, **measured: Any) -> None:
        n, index = np.unique(points.n.astype(np.int64), return_inverse=True)
        if len(n) < 2:
            raise TooFewPoints(self.title, len(n), 2, "thread counts")
        mean_s = np.bincount(index, weights=t) / np.bincount(index)
        self.t1_s_ = float(n[0] * mean_s[0])
        elements, rms = fit_curves(n, (n * mean_s / self.t1_s_)[None], self.n_nu, self.n_ht, NO_GAUSSIAN_SUM)
        self.elements_ = elements[0]
        self.rms_ = float(rms[0])

    def _times(self, points: Points) -> FloatArray:
        r = evaluate_curves(self.elements_[None], points.n, self.n_nu, self.n_ht, NO_GAUSSIAN_SUM)[0]
        return np.asarray(self.t1_s_ * np.maximum(r, LEAST_REDUNDANCY) / points.n)

    def parameters(self) -> dict[str, float]:
        return {"t1_s": self.t1_s_} | dict(zip(ELEMENTS, self.elements_.tolist(), strict=True))
