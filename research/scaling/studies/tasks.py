"""Task programs on larger inputs and more threads than were learned (papers/002, Section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.measured import MeasuredPoints
from predictor.scaling_models.points import SIZE, N, Points
from predictor.scaling_models.task_graph import TaskGraphModel, logarithmic_size, positive_fit, work_terms
from profiles.arrays import FloatArray
from research.scaling.studies.workloads import MeasuredWorkload

TASK_STRATEGIES = ("recursive", "task_graph", "nested")
# Programs with work that grows exponentially with the size. The models get 2^size (Section 5.1).
EXPONENTIAL = ("fib", "nqueens")
MOST_EXPONENT = 100.0
LEAST_SIZES = 5
# Share of the sizes that is learned, the smallest ones.
LEARNED_SHARE = 2 / 3
TASK_STATISTICS = ("mean", "median", "max", "bias")


class DirectRegression(ScalingModel):
    """A regression of the time itself, with which papers/002 compares its model. Needs `n` and `size`.

    It is one positive LassoLarsCV on products of Eq. 11's terms of x with 1/p, 1 and p.

    >>> x, p = (grid.ravel() for grid in np.meshgrid([4.0, 8.0, 16.0, 32.0], [1.0, 2.0, 4.0]))
    >>> model = DirectRegression().fit(np.stack([p, x], axis=1), x / p)
    >>> bool(abs(model.predict([[4, 16]])[0] / 4 - 1) < 0.05)
    True
    """

    title: ClassVar[str] = "Direct regression"
    source: ClassVar[str] = "papers/002, Section 5 (the comparison)"
    needed: ClassVar[tuple[str, ...]] = (N, SIZE)

    def _terms(self, points: Points) -> FloatArray:
        p = points.n
        over_p = np.stack([1.0 / p, np.ones(len(p)), p], axis=1)
        return (work_terms(logarithmic_size(points))[:, :, None] * over_p[:, None, :]).reshape(len(p), -1)

    def _fit(self, points: Points, t: FloatArray, **measured: Any) -> None:
        self.coefficients_ = positive_fit(self._terms(points), t)

    def _times(self, points: Points) -> FloatArray:
        return np.asarray(self._terms(points) @ self.coefficients_)

    def parameters(self) -> dict[str, float]:
        return {f"c{k}": float(value) for k, value in enumerate(self.coefficients_, start=1)}


@dataclass(frozen=True)
class Split:
    """The masks of the learned and of the held-out points.

    The larger sizes are held out, at the larger thread counts if many were measured.
    """

    learned: NDArray[np.bool_]
    held_out: NDArray[np.bool_]


def task_study(measured: MeasuredWorkload) -> dict[str, Any]:
    """Return the errors |actual - predicted|/actual of the task graph model and of direct regression, in percent.

    The smaller two thirds of the sizes are learned and the others predicted. If more than four thread counts were
    measured, the lower half of them is learned and the upper half predicted; otherwise all of them are used for both.
    (The paper learns with up to 8 workers and predicts 30 to 36.) Work, delay, missing work and counts are read from
    the parts as in `MeasuredPoints.task_measures`.

    Raise TooFewPoints if fewer than five sizes have a profile pass and parts at n = 1.
    """
    points = _split_points(measured)
    X = np.stack([points.n, model_size(measured.workload, points.size)], axis=1)
    t, measures = points.time_s, points.task_measures()
    split = split_by_size(points)
    learned, held_out = split.learned, split.held_out
    measures_learned = {name: values[learned] for name, values in measures.items()}
    graph = TaskGraphModel().fit(X[learned], t[learned], measures=measures_learned)
    models = {"task_graph": graph, "direct": DirectRegression().fit(X[learned], t[learned])}
    modelled = graph.predict_measures(X[held_out])
    columns = {
        "n": points.n[held_out].tolist(),
        "size": points.size[held_out].tolist(),
        "measured_s": t[held_out].tolist(),
    }
    columns |= {f"{name}_s": model.predict(X[held_out]).tolist() for name, model in models.items()}
    return {
        "workload": measured.workload,
        "platform": measured.platform,
        "learned": _describe_extent(points.take(learned)),
        "asked": _describe_extent(points.take(held_out)),
        "errors": {name: _model_errors(model, X[held_out], t[held_out]) for name, model in models.items()},
        "parts": {
            name: _error_relative_to_work(modelled[name], measures[name][held_out], measures["work_s"][held_out])
            for name in ("work_s", "delay_s", "no_work_s")
        },
        "points": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }


def _split_points(measured: MeasuredWorkload) -> MeasuredPoints:
    """Return the points of all sizes that have parts, and parts at n = 1 of the same size."""
    points = measured.points.over_sizes
    measures = points.task_measures()
    points = points.take(~np.isnan(measures["work_s"]) & ~np.isnan(measures["tasks"]))
    if len(points.sizes) < LEAST_SIZES:
        raise TooFewPoints(f"{measured}: task graph", len(points.sizes), LEAST_SIZES, "sizes with a profile pass")
    return points


def _describe_extent(points: MeasuredPoints) -> dict[str, list[float]]:
    return {"sizes": points.sizes.tolist(), "n": np.unique(points.n).tolist()}


def split_by_size(points: MeasuredPoints) -> Split:
    """Split the points as in Table 1 of papers/002: smaller sizes on fewer workers are learned.

    The smaller LEARNED_SHARE of the sizes is learned. If more than four thread counts were measured, only the lower
    half of them is learned, and only the upper half is held out.
    """
    last = points.sizes[max(round(len(points.sizes) * LEARNED_SHARE), 3) - 1]
    small, few = points.size <= last, np.ones(len(points), dtype=np.bool_)
    counts = np.unique(points.n)
    if len(counts) > 4:
        few = points.n <= counts[len(counts) // 2]
        return Split(small & few, ~small & ~few)
    return Split(small & few, ~small)


def model_size(workload: str, size: FloatArray) -> FloatArray:
    """Return the input size for the models: 2^size for EXPONENTIAL programs, as their work grows exponentially with it.

    >>> model_size("fib", np.array([10.0])), model_size("mergesort", np.array([10.0]))
    (array([1024.]), array([10.]))
    """
    exponential = workload.split("/", maxsplit=1)[0] in EXPONENTIAL and size.max() <= MOST_EXPONENT
    return np.asarray(2.0**size if exponential else size)


def _model_errors(model: ScalingModel, X: FloatArray, t: FloatArray) -> dict[str, float]:
    signed = 100.0 * (model.predict(X) / t - 1.0)
    errors = np.abs(signed)
    named = (errors.mean(), np.median(errors), errors.max(), signed.mean())
    return dict(zip(TASK_STATISTICS, map(float, named), strict=True))


def _error_relative_to_work(modelled: FloatArray, actual: FloatArray, work: FloatArray) -> float:
    """Return the mean absolute error of a part, in percent of the work."""
    return float(100.0 * (np.abs(modelled - actual) / work).mean())
