"""Helpers of the baselines and other entries: curves as a matrix, and intervals for methods without intervals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mpet_bench.datasets import KEY

Floats = NDArray[np.float64]


class LogMatrix:
    """A table's ln(n t(n)) as a matrix, with platforms in rows and (workload, n) in columns. Unknown pairs are NaN.

    Every curve has a value at every n of the table and of the questions: interpolated in ln n, and constant beyond both
    ends. `at` is a pair of arrays (K,), the row and the column of each question. `times` converts values there to
    seconds.
    """

    def __init__(self, table: pd.DataFrame, questions: pd.DataFrame) -> None:
        both = pd.concat([table[KEY], questions[KEY]])
        self.platforms, self.workloads, self.n = (np.unique(both[name].to_numpy()) for name in KEY)
        curves = np.full((len(self.platforms), len(self.workloads), len(self.n)), np.nan)
        row, column = (np.searchsorted(names, table[key].to_numpy())
                       for names, key in ((self.platforms, "platform"), (self.workloads, "workload")))  # fmt: skip
        n = table["n"].to_numpy()
        order = np.lexsort((n, column, row))
        row, column, log_n, z = (
            values[order] for values in (row, column, np.log(n), np.log(n * table["time_s"].to_numpy()))
        )
        starts = np.flatnonzero((np.diff(row, prepend=-1) != 0) | (np.diff(column, prepend=-1) != 0))
        for start, end in pairwise([*starts.tolist(), len(row)]):
            curves[row[start], column[start]] = np.interp(np.log(self.n), log_n[start:end], z[start:end])
        self.values = curves.reshape(len(self.platforms), -1)
        workload, self.place_of_n = (np.searchsorted(getattr(self, name), questions[key].to_numpy())
                                     for name, key in (("workloads", "workload"), ("n", "n")))  # fmt: skip
        self.at = (
            np.searchsorted(self.platforms, questions["platform"].to_numpy()),
            workload * len(self.n) + self.place_of_n,
        )

    def times(self, values: Floats) -> Floats:
        """Return the seconds of the questions (K,) from a matrix of logarithms without gaps."""
        return np.exp(values[self.at]) / self.n[self.place_of_n]

    def effects(self) -> Floats:
        """Return the additive model of each n, without gaps: speed of the platform at that n + size of the workload."""
        of_n = [additive_model(self.values[:, place :: len(self.n)]) for place in range(len(self.n))]
        return np.stack(of_n, axis=2).reshape(self.values.shape)


def additive_model(values: Floats, rounds: int = 20) -> Floats:
    """Return row effect + column effect of a matrix with gaps (NaN), by alternating means.

    The effect of a column without any value is the mean of all values.

    >>> additive_model(np.array([[1.0, 2.0], [3.0, np.nan]])).round(9)
    array([[1., 2.], [3., 4.]])
    """
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    in_row, in_column = np.maximum(known.sum(axis=1), 1), np.maximum(known.sum(axis=0), 1)
    overall = filled.sum() / max(known.sum(), 1)
    row, column = np.zeros(len(values)), np.where(known.any(axis=0), filled.sum(axis=0) / in_column, overall)
    for _ in range(rounds):
        row = ((filled - column) * known).sum(axis=1) / in_row
        column = np.where(known.any(axis=0), ((filled - row[:, None]) * known).sum(axis=0) / in_column, overall)
    return np.asarray(row[:, None] + column)


def conformal_interval(entry: Any, table: pd.DataFrame, questions: pd.DataFrame, level: float) -> Floats:
    """Return intervals (K, 2) around the predictions of a fitted entry, by split conformal prediction.

    A tenth of the known pairs, at most 500, is hidden from another entry of the same class. The half width is the
    `level` quantile of the other entry's |ln(predicted / measured)| on these pairs. The intervals are valid if the
    questions are like random pairs, and not if they are harder.
    """
    pair = table.groupby(KEY[:2], sort=True).ngroup().to_numpy()
    drawn = np.random.RandomState(0).permutation(pair.max() + 1)
    held_out = np.isin(pair, drawn[: min(500, max(1, len(drawn) // 10))])
    other = type(entry)()
    other.fit(table[~held_out].reset_index(drop=True))
    predicted = other.predict(table[held_out].drop(columns="time_s").reset_index(drop=True))
    errors = np.sort(np.abs(np.log(predicted / table["time_s"][held_out].to_numpy())))
    half_width = errors[min(int(np.ceil((len(errors) + 1) * level)), len(errors)) - 1]
    return np.outer(entry.predict(questions), np.exp([-half_width, half_width]))
