"""Laws that are linear in their coefficients: least squares of relative errors, with confidence intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import nnls

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.points import Points
from profiles.arrays import FloatArray

RELATIVE_STEP = 1e-6  # step of the central differences, relative to the coefficient
LEAST_OF_LARGEST = 1e-3  # smallest coefficient for the step, relative to the largest coefficient


class LinearLaw(ScalingModel):
    """Base class of laws t = sum_k c_k d_k(x) with c_k >= 0, fitted by least squares of (t_predicted - t) / t.

    Subclasses return the columns d in `_design` and convert the coefficients into parameters in `_parameters_of`.
    Learned: `coefficients_` (K,) in seconds, and `covariance_` (K, K), NaN if N <= K.
    """

    def _design(self, points: Points) -> FloatArray:
        raise NotImplementedError

    def _parameters_of(self, coefficients: FloatArray) -> dict[str, float]:
        raise NotImplementedError

    def _fit(self, points: Points, t: FloatArray, **measured: Any) -> None:
        weighted = self._design(points) / t[:, None]
        count = weighted.shape[1]
        if np.linalg.matrix_rank(weighted) < count:
            raise TooFewPoints(self.title, int(np.linalg.matrix_rank(weighted)), count, "independent points")
        scale = np.linalg.norm(weighted, axis=0)
        self.coefficients_ = nnls(weighted / scale, np.ones(len(t)))[0] / scale
        self.degrees_of_freedom_ = len(t) - count
        self.covariance_ = np.full((count, count), np.nan)
        if self.degrees_of_freedom_ > 0:
            residuals = weighted @ self.coefficients_ - 1.0
            variance = residuals @ residuals / self.degrees_of_freedom_
            self.covariance_ = np.linalg.pinv(weighted.T @ weighted) * variance

    def _times(self, points: Points) -> FloatArray:
        return np.asarray(self._design(points) @ self.coefficients_)

    def parameters(self) -> dict[str, float]:
        return self._parameters_of(self.coefficients_)

    def confidence_intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Return the interval of each parameter by the delta method, value -+ q sqrt(g' C g).

        g is the gradient of the parameter with respect to the coefficients, C is the covariance of the coefficients,
        and q is Student's quantile with N - K degrees of freedom. The interval is NaN if N <= K, and for a parameter
        that is infinite nearby.

        The fit keeps coefficients at or above 0. An interval may extend below 0, which means that the effect may be
        absent.

        >>> from predictor.scaling_models.amdahl import Amdahl
        >>> low, high = Amdahl().fit([[1], [2], [4]], [8.0, 4.5, 2.6]).confidence_intervals()["t1_s"]
        >>> bool(low < 8.0 < high)
        True
        """
        values = self.parameters()
        if self.degrees_of_freedom_ <= 0:
            return dict.fromkeys(values, (float("nan"), float("nan")))
        quantile = stats.t.ppf(0.5 + level / 2, self.degrees_of_freedom_)
        intervals = {}
        for name, gradient in self._gradients().items():
            if not np.isfinite(gradient).all():  # for example n_peak, which is infinite at kappa = 0
                intervals[name] = (float("nan"), float("nan"))
                continue
            variance = float(gradient @ self.covariance_ @ gradient)
            half_width = quantile * max(variance, 0.0) ** 0.5
            intervals[name] = (values[name] - half_width, values[name] + half_width)
        return intervals

    def _gradients(self) -> dict[str, FloatArray]:
        """Return the gradient of each parameter with respect to the coefficients, by central differences."""
        gradients = {name: np.zeros(len(self.coefficients_)) for name in self.parameters()}
        for k in range(len(self.coefficients_)):
            step = np.zeros(len(self.coefficients_))
            size = max(abs(self.coefficients_[k]), np.abs(self.coefficients_).max() * LEAST_OF_LARGEST)
            step[k] = RELATIVE_STEP * size
            up, down = self._parameters_of(self.coefficients_ + step), self._parameters_of(self.coefficients_ - step)
            for name, gradient in gradients.items():
                is_finite = np.isfinite([up[name], down[name]]).all()
                gradient[k] = (up[name] - down[name]) / (2 * step[k]) if is_finite else np.nan
        return gradients
