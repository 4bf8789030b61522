"""What the kriging of T's known workloads gets wrong, and how much of that A's error has too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from predictor.core.database import FloatArray
from predictor.core.transfer.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.transfer.robust import MEAN_TO_SIGMA


class Known(NamedTuple):
    """Errors of kriging with one covariance, in ln t, where the truth is known.

    Of A (J, R) and of T's workloads (J, R, B) on each reference without itself; of the workloads in T's position
    (J, R, B); and on T (J, B), 0 where nothing was measured.
    """

    own: FloatArray
    alone: FloatArray
    in_position: FloatArray
    on_target: FloatArray


@dataclass(frozen=True, eq=False)
class Explaining:
    """A ridge regression of A's errors on those of the known workloads, over the references and knots.

    X (J, R, B) and x (J, B) are the workloads' errors on the references and T, `y` (J, R) those of A, none of them too
    large; `inverse` is C^-1 with C = X'X + ridge, and f (B,) the coefficients.
    """

    X: FloatArray
    x: FloatArray
    y: FloatArray
    inverse: FloatArray
    f: FloatArray

    @classmethod
    def of(cls, known: Known, h: Hyperparameters = DEFAULTS) -> Explaining:
        limit = h.clip * MEAN_TO_SIGMA * np.abs(known.alone).mean(axis=1)
        X = np.clip(known.alone, -limit[:, None], limit[:, None])
        x = np.clip(known.on_target, -limit, limit)
        most = h.clip * MEAN_TO_SIGMA * np.abs(known.own).mean(axis=1, keepdims=True)
        y = np.clip(known.own, -most, most)
        deviation = np.sqrt((X**2).sum(axis=(0, 1)) / y.size) + TINY
        X /= deviation
        rows = X.reshape(y.size, -1)
        products = rows.T @ rows
        products.flat[:: len(products) + 1] += h.ridge * y.size
        inverse = np.asarray(np.linalg.inv(products), dtype=np.float64)
        return cls(X, x / deviation, y, inverse, inverse @ (rows.T @ y.ravel()))

    def on_target(self) -> FloatArray:
        """What A's value on T gains from what the same kriging gets wrong about T's known workloads, (J,)."""
        return np.asarray(self.x @ self.f)

    def on_references(self) -> FloatArray:
        """The same for every reference p, learned from the others, (J, R).

        X_p f_p = y_p - r_p - H_pp (1 - H_pp)^-1 r_p,    r_p = y_p - X_p f,    H_pp = X_p C^-1 X_p'
        """
        of_platform = self.X.transpose(1, 0, 2)
        left = (self.y - self.X @ self.f).T[:, :, None]
        hat = of_platform @ self.inverse @ of_platform.transpose(0, 2, 1)
        return np.asarray(self.y - (left + hat @ np.linalg.solve(np.eye(len(self.y)) - hat, left))[:, :, 0].T)
