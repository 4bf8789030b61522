"""The extended Amdahl model on times by size and threads, at once and as a stream (papers/000, Sections 3.2-3.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from predictor.scaling_models.base import TooFewPoints
from predictor.scaling_models.extended_amdahl import ExtendedAmdahl
from profiles.arrays import FloatArray
from research.scaling.studies.workloads import MeasuredWorkload

WITHIN = (10, 20)  # percent
WAYS = ("fitted to all", "size left out", "stream, first estimate", "stream, updated")
SIZE_STATISTICS = (
    "mean",
    "median",
    "p95",
    "max",
    *(f"within_{percent}" for percent in WITHIN),
    "large_within_10",
    "max_s",
    "count",
)


@dataclass(frozen=True, eq=False)
class Mispredictions:
    """Predicted and measured seconds at N points (n, size). Points without a prediction are NaN."""

    n: FloatArray
    size: FloatArray
    predicted_s: FloatArray
    measured_s: FloatArray

    @property
    def seconds(self) -> FloatArray:
        return self.predicted_s - self.measured_s

    @property
    def percent(self) -> FloatArray:
        """Return the mispredictions in percent of the predicted time, as in Figures 5, 9, 11 and 12 of papers/000.

        >>> Mispredictions(*np.array([[1.0], [5.0], [8.0], [10.0]])).percent
        array([-25.])
        """
        return 100.0 * self.seconds / self.predicted_s

    def statistics(self) -> dict[str, float | int | None]:
        """Return SIZE_STATISTICS of the absolute mispredictions. Without predictions, only the count is not None.

        `large_within_10` covers the larger half of the sizes only, as small ones are mostly noise (Section 3.2).

        >>> said = Mispredictions(*np.array([[1.0, 2.0], [5.0, 5.0], [10.0, 4.0], [10.5, 6.0]]))
        >>> said.statistics()["within_10"], said.statistics()["max_s"]
        (50.0, 2.0)
        """
        is_predicted = np.isfinite(self.predicted_s)
        if not is_predicted.any():
            return dict.fromkeys(SIZE_STATISTICS[:-1]) | {"count": 0}
        errors = np.abs(self.percent[is_predicted])
        named: dict[str, float | int | None] = {
            "mean": float(errors.mean()),
            "median": float(np.median(errors)),
            "p95": float(np.percentile(errors, 95)),
            "max": float(errors.max()),
        }
        named |= {f"within_{limit}": 100.0 * float((errors <= limit).mean()) for limit in WITHIN}
        large = self.size[is_predicted] >= np.median(np.unique(self.size))
        named["large_within_10"] = 100.0 * float((errors[large] <= 10).mean()) if large.any() else None
        return named | {"max_s": float(np.abs(self.seconds[is_predicted]).max()), "count": int(is_predicted.sum())}

    def rows(self) -> list[dict[str, float]]:
        columns = {"n": self.n, "size": self.size, "predicted_s": self.predicted_s, "measured_s": self.measured_s}
        columns |= {"percent": self.percent}
        return [
            dict(zip(columns, row, strict=True)) for row in zip(*map(np.ndarray.tolist, columns.values()), strict=True)
        ]


def size_study(measured: MeasuredWorkload, model: ExtendedAmdahl, seed: int = 0, shuffles: int = 10) -> dict[str, Any]:
    """Compare the extended Amdahl model with measured times in the four WAYS. `model` has the settings.

    - fitted to all: the model is fitted to all points and compared there (Sections 3.2, 3.3; Figures 5-6, 9-10);
    - size left out: each size but the smallest and the largest is predicted by the model of all other sizes;
    - stream, updated: single runs in random order, each predicted just before it is learned (Figures 12, 14);
    - stream, first estimate: the same, but learning ends with the first estimate of T_seq (Figures 11, 13).

    Errors are in percent of the predicted time, as in the paper. The statistics of the streams are over `shuffles`
    orders; `mispredictions` has the points of the first order. Raise TooFewPoints if fewer than degree + 2 sizes, or no
    thread count above 1, were measured.
    """
    points = measured.points.over_sizes
    needed = model.degree + 2
    if len(points.sizes) < needed:
        raise TooFewPoints(f"{measured}: degree {model.degree}", len(points.sizes), needed, "sizes")
    if points.n.max() == 1:
        raise TooFewPoints(str(measured), 1, 2, "thread counts")
    X, t = np.stack([points.n, points.size], axis=1), points.time_s
    fitted = clone(model).fit(X, t)
    streams = _streams(measured, model, seed, shuffles)
    every = {
        "fitted to all": [_mispredictions(X, fitted.predict(X), t)],
        "size left out": [_predict_left_out(X, t, points.sizes[1:-1], model)],
    } | streams
    return {
        "workload": measured.workload,
        "platform": measured.platform,
        **model.get_params(),
        "sizes": points.sizes.tolist(),
        "parameters": fitted.parameters(),
        "statistics": {way: _pool(every[way]).statistics() for way in WAYS},
        "mispredictions": {way: every[way][0].rows() for way in WAYS},
    }


def _predict_left_out(X: FloatArray, t: FloatArray, sizes: FloatArray, model: ExtendedAmdahl) -> Mispredictions:
    predicted_s = np.full(len(t), np.nan)
    for size in sizes:
        out = X[:, 1] == size
        predicted_s[out] = clone(model).fit(X[~out], t[~out]).predict(X[out])
    is_predicted = np.isin(X[:, 1], sizes)
    return _mispredictions(X[is_predicted], predicted_s[is_predicted], t[is_predicted])


def _streams(
    measured: MeasuredWorkload, model: ExtendedAmdahl, seed: int, shuffles: int
) -> dict[str, list[Mispredictions]]:
    X, t = measured.single_runs()
    rng = np.random.default_rng(seed)
    streams: dict[str, list[Mispredictions]] = {WAYS[2]: [], WAYS[3]: []}
    for order in [rng.permutation(len(t)) for _ in range(shuffles)]:
        for way, update in ((WAYS[2], False), (WAYS[3], True)):
            predicted_s = streaming_predictions(clone(model), X[order], t[order], update=update)
            streams[way].append(_mispredictions(X[order], predicted_s, t[order]))
    return streams


def streaming_predictions(model: ExtendedAmdahl, X: FloatArray, t: FloatArray, *, update: bool = True) -> FloatArray:
    """Return the prediction of each point just before the model learns the point (Section 3.5), in seconds (N,).

    The points are learned in the order of X. With `update=False`, the model stops learning at its first approximation,
    after k + 1 sizes at p = 1 and one point at p > 1 (Figures 11, 13; with updates: 12, 14). Before that, there is no
    prediction (NaN).

    >>> X = np.array([[1, 1.0], [1, 2.0], [2, 2.0], [2, 4.0]])
    >>> streaming_predictions(ExtendedAmdahl(degree=1), X, np.array([1.0, 2.0, 1.5, 3.0])).round(9)
    array([nan, nan, nan,  3.])
    """
    predicted_s = np.full(len(t), np.nan)
    sizes: set[float] = set()
    ready = False
    for index, row in enumerate(X):
        if ready:
            predicted_s[index] = model.predict(row[None])[0]
        if update or not ready:
            model.partial_fit(row[None], t[index : index + 1])
        if not ready:
            sizes |= {float(row[1])} if row[0] == 1 else set()
            ready = len(sizes) > model.degree and bool(np.isfinite(model.parallel_fraction_))
    return predicted_s


def _mispredictions(X: FloatArray, predicted_s: FloatArray, measured_s: FloatArray) -> Mispredictions:
    return Mispredictions(X[:, 0], X[:, 1], predicted_s, measured_s)


def _pool(every: list[Mispredictions]) -> Mispredictions:
    n, size, predicted_s, measured_s = (
        np.concatenate([getattr(mispredictions, name) for mispredictions in every])
        for name in ("n", "size", "predicted_s", "measured_s")
    )
    return Mispredictions(n, size, predicted_s, measured_s)
