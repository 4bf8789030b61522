"""The methods as a scikit-learn estimator, which predicts times of unmeasured pairs from a table of times."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from predictor.core.answers import Answer, Query
from predictor.core.arrays import slug_index
from predictor.core.errors import PredictionError
from predictor.core.methods import get_method
from predictor.core.steps import single_thread
from predictor.core.tabulated import database_from_measurements
from profiles.arrays import FloatArray, IntArray
from profiles.measurements import Measurements, PlatformRecord, ProfileRecord, RunTable, WorkloadRecord

TABLE_COLUMNS = ("platform", "workload", "n")
KNOWN_OF_PLATFORM = frozenset(field.name for field in fields(PlatformRecord)) - {"name"}
LARGEST_N_OF_TABLE = 2**16
LEAST_INTERVAL_HALF = 0.01  # least half width of an interval, relative to the time


class MpetRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A regressor that predicts times of (platform, workload, n) from times of other platforms and workloads.

    Rows of X are (platform, workload, n): two names, or any objects with distinct texts, and a whole number of threads.
    y (M,) contains wall times in seconds, all positive; several rows with the same triple are repeats. Times of a
    workload may be in another unit if it is the same on every platform.

    Parameters: `method` is a name from `predictor.core.methods`, `settings` its settings; `platforms` maps a platform
    to its known properties, by names of PlatformRecord (`physical_cores`, `threads`, `n_nu`, `n_ht`, `base_mhz`, ...).

    `predict` returns (K,) seconds; the prediction of a measured triple does not use that measurement. It is NaN if too
    little is known, and `refusals_` then has the reason by (platform, workload). `predict_interval` returns (K, 2).

    >>> table = [(p, w, n) for p in "abc" for w in "xyz" for n in (1, 2, 4) if (p, w) != ("c", "z")]
    >>> speed, work = {"a": 1.0, "b": 2.0, "c": 4.0}, {"x": 8.0, "y": 16.0, "z": 32.0}
    >>> times = [work[w] / speed[p] / n for p, w, n in table]
    >>> MpetRegressor(method="speed-ratio").fit(table, times).predict([("c", "z", 1), ("c", "z", 4)]).round(2)
    array([8., 2.])
    """

    def __init__(
        self,
        method: str = "mpet",
        settings: Mapping[str, Any] | None = None,
        platforms: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.method = method
        self.settings = settings
        self.platforms = platforms

    def fit(self, X: ArrayLike, y: ArrayLike) -> MpetRegressor:
        """Store the table as a database. Raise ValueError if it is not a table of times, UnknownMethod or
        SettingsError."""
        X, times = validate_data(self, X, y, dtype=None, ensure_min_features=3, y_numeric=True)
        platform, workload, n = _checked_columns(X)
        times = np.asarray(times, dtype=np.float64)
        if (times <= 0).any():
            raise ValueError(f"y must be positive times in seconds, not {times[times <= 0][0]}")
        self.method_ = get_method(self.method)
        self.settings_ = self.method_.settings_from(dict(self.settings or {}))
        self.platforms_, self.workloads_ = (tuple(np.unique(names).tolist()) for names in (platform, workload))
        self.database_ = database_from_measurements(
            _measurements(self.platforms_, self.workloads_, (platform, workload, n), times, self.platforms or {})
        )
        self.refusals_: dict[tuple[str, str], str] = {}
        return self

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return times in seconds, (K,); NaN if refused, with the reason in `refusals_`."""
        return self.predict_with_interval(X)[:, 0]

    def predict_interval(self, X: ArrayLike) -> FloatArray:
        """Return the interval of each time, (K, 2) in seconds, at the level of the method's settings; NaN if there is
        none."""
        return self.predict_with_interval(X)[:, 1:]

    def predict_with_interval(self, X: ArrayLike) -> FloatArray:
        """Return the time, low and high of each triple, (K, 3) in seconds, in one pass; NaN as in `predict`."""
        check_is_fitted(self)
        with warnings.catch_warnings():
            # Columns are identified by position, so X may be a list of tuples after a fit with a data frame.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            checked = validate_data(self, X, dtype=None, reset=False, ensure_min_features=3)
        platform, workload, n = _checked_columns(checked)
        values = np.full((len(n), 3), np.nan)
        pairs, of_pair = np.unique(np.stack([platform, workload], axis=1), axis=0, return_inverse=True)
        for index, (target, program) in enumerate(pairs.tolist()):
            rows = np.flatnonzero(of_pair.ravel() == index)
            answer = self._ask(target, program, np.unique(n[rows]))
            if answer is not None:
                values[rows] = _values_at(answer, n[rows])
        return values

    def _ask(self, platform: str, workload: str, n: IntArray) -> Answer | None:
        program = slug_index(self.database_.workloads, workload)
        target = slug_index(self.database_.platforms, platform)
        if program is None or target is None:
            self.refusals_[platform, workload] = "no time of this platform, or of this workload, was learned"
            return None
        try:
            with single_thread():
                query = Query(program, target, n=tuple(n.tolist()))
                return self.method_.predict(self.database_, query, self.settings_)
        except PredictionError as error:
            self.refusals_[platform, workload] = str(error)
            return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.positive_only = True
        tags.target_tags.required = True
        return tags


def _checked_columns(X: Any) -> tuple[Any, Any, IntArray]:
    """Return platform and workload as texts and n as whole numbers. Raise ValueError for other columns."""
    if X.shape[1] != len(TABLE_COLUMNS):
        raise ValueError(f"X must have the columns {', '.join(TABLE_COLUMNS)}, not {X.shape[1]} columns")
    try:
        n = np.asarray(X[:, 2], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("the third column of X, n, must contain numbers of threads") from error
    wrong = (n != np.floor(n)) | (n < 1) | (n > LARGEST_N_OF_TABLE)
    if wrong.any():
        raise ValueError(f"n must be a whole number from 1 to {LARGEST_N_OF_TABLE}, not {n[wrong][0]:g}")
    platform, workload = (np.array([str(name) for name in X[:, place]]) for place in (0, 1))
    return platform, workload, n.astype(np.int64)


def _values_at(answer: Answer, n: IntArray) -> FloatArray:
    """Return the time and its interval at each n, (K, 3)."""
    nothing = np.full(len(answer.n), np.nan)
    low, high = (nothing if values is None else values for values in (answer.low_s, answer.high_s))
    # The noise of a table without repeats is unknown, and calculated times have no scatter. The minimum half width
    # prevents intervals of no width.
    low = np.minimum(low, answer.time_s * (1 - LEAST_INTERVAL_HALF))
    high = np.maximum(high, answer.time_s * (1 + LEAST_INTERVAL_HALF))
    return np.stack([answer.time_s, low, high], axis=1)[np.searchsorted(answer.n, n)]


def _measurements(
    platforms: tuple[str, ...],
    workloads: tuple[str, ...],
    columns: tuple[Any, Any, IntArray],
    times: FloatArray,
    facts: Mapping[str, Mapping[str, Any]],
) -> Measurements:
    platform, workload, n = columns
    of_platform, of_workload = np.searchsorted(platforms, platform), np.searchsorted(workloads, workload)
    profiles = []
    for pair in np.unique(of_platform * len(workloads) + of_workload).tolist():
        rows = np.flatnonzero(of_platform * len(workloads) + of_workload == pair)
        counts = n[rows]
        repeats = np.array([np.count_nonzero(counts[: row + 1] == counts[row]) for row in range(len(rows))])
        runs = RunTable(counts, repeats, np.zeros(len(rows), dtype=np.bool_), times[rows])
        profiles.append(ProfileRecord(pair // len(workloads), pair % len(workloads), runs))
    return Measurements(
        origin="measured",
        time_kinds={},
        platforms=[_platform_record(name, facts.get(name, {})) for name in platforms],
        workloads=[WorkloadRecord(name=name) for name in workloads],
        profiles=profiles,
    )


def _platform_record(name: str, facts: Mapping[str, Any]) -> PlatformRecord:
    if unknown := sorted(set(facts) - KNOWN_OF_PLATFORM):
        raise ValueError(
            f"unknown fields of a platform: {', '.join(unknown)}; known: {', '.join(sorted(KNOWN_OF_PLATFORM))}"
        )
    return PlatformRecord(**{"cpu_model": ""} | dict(facts) | {"name": name})
