"""What the kriging of T's known workloads gets wrong, and how much of that A's error has too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from predictor.core.mpet.gaussian.kriging import invert_definite
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.robust import MEAN_TO_SIGMA, clip_to
from profiles.arrays import FloatArray


class KnownErrors(NamedTuple):
    """Errors of kriging with one covariance, in ln t, where the truth is known.

    Of A (J, R) and of T's workloads (J, R, B) on each reference without itself; of the workloads in T's position
    (J, R, B); and on T (J, B), 0 where nothing was measured.
    """

    own: FloatArray
    alone: FloatArray
    in_position: FloatArray
    on_target: FloatArray


@dataclass(frozen=True, eq=False)
class ResidualRegression:
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
    def fit(cls, errors: KnownErrors, h: Hyperparameters = DEFAULTS) -> ResidualRegression:
        J, R, B = errors.alone.shape
        limit = (h.clip * MEAN_TO_SIGMA / R) * np.abs(errors.alone).sum(axis=1)
        rows, x = clip_to(errors.alone, limit[:, None]).reshape(J * R, B), clip_to(errors.on_target, limit)
        y = clip_to(errors.own, (h.clip * MEAN_TO_SIGMA / R) * np.abs(errors.own).sum(axis=1, keepdims=True))
        deviation = np.sqrt(np.einsum("ib,ib->b", rows, rows) / len(rows)) + TINY
        rows /= deviation
        inverse = rows.T @ rows
        inverse.flat[:: B + 1] += h.ridge * len(rows)
        invert_definite(inverse)  # definite, by the ridge
        return cls(rows.reshape(J, R, B), x / deviation, y, inverse, inverse @ (y.ravel() @ rows))

    def on_target(self) -> FloatArray:
        """What A's value on T gains from what the same kriging gets wrong about T's known workloads, (J,)."""
        return np.asarray(self.x @ self.f)

    def on_references(self) -> FloatArray:
        """What A's value on every reference p would gain in the same way, learned from the others, (J, R).

        X_p f_p = y_p - (1 - H_pp)^-1 r_p,    r_p = y_p - X_p f,    H_pp = X_p C^-1 X_p'
        """
        left = self.y - self.X @ self.f
        hat = self.X.transpose(1, 0, 2) @ (self.X @ self.inverse).transpose(1, 2, 0)
        return np.asarray(self.y - np.linalg.solve(np.eye(len(left)) - hat, left.T[:, :, None])[:, :, 0].T)
