"""Prediction of t(1) only, from times and counters at one thread (scenario 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from predictor.core.answers import Answer, log_half_widths
from predictor.core.database import Database, Group
from predictor.core.scenarios.scenario import ScenarioFacts, ScenarioQuery
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.names import ELEMENTS, FEATURE_NAMES, RELATIVE_MEASURE_CURVES, RELATIVE_MEASURES

# The elements m and b of each relative measure.
MEASURE_SLOPES = np.arange(0, len(FEATURE_NAMES), len(ELEMENTS))[RELATIVE_MEASURE_CURVES]
MEASURE_ELEMENTS = MEASURE_SLOPES + 1
ABOUT_SCALING = ("no scaling", "no time at")  # warnings that do not concern t(1)


def predict_sequential(database: Database, query: ScenarioQuery, facts: ScenarioFacts) -> Answer:
    """Return t(1) of A on T, predicted by a method from t(1) and the counters at n = 1 of every profile only.

    At n = 1 runtimes and the decomposition make no difference: all profiles of an origin are comparable. Returns an
    answer at n = 1 without features. Raises a PredictionError if the method refuses: mpet2020 ranks by counters, and
    refuses without them.
    """
    at_one = sequential_database(database, facts.counted)
    answer = query.method.predict(at_one, sequential_query(query), query.settings)
    time_s = np.array([answer.t1_s])
    half_width = log_half_widths(answer)
    curves = {name: np.full(1, np.nan) for name in answer.curves} | {
        name: answer.curves[name] for name in RELATIVE_MEASURES
    }
    return replace(
        answer,
        n=np.ones(1, dtype=np.int64),
        time_s=time_s,
        features=np.full(len(FEATURE_NAMES), np.nan),
        curves=curves,
        candidates_scaling=[],
        warnings=[text for text in answer.warnings if not text.startswith(ABOUT_SCALING)],
        low_s=None if answer.low_s is None else time_s * np.exp(-half_width),
        high_s=None if answer.high_s is None else time_s * np.exp(half_width),
    )


def sequential_query(query: ScenarioQuery) -> ScenarioQuery:
    """Return the query for a `sequential_database`: without a group, at n = 1."""
    return replace(query, group=None, n=(1,))


def sequential_database(database: Database, counted: Callable[[], FloatArray | None]) -> Database:
    """Return the profiles as if only n = 1 had been measured, once per database; the same pairs are hidden.

    All features are invalid except the seven relative measures at n = 1, stored as the element b. Of a pair's profiles
    in several groups of an origin one is kept, preferably a decomposed one. Profiles with curves that do not begin at n
    = 1 are omitted.
    """
    whole: Database = database.derive(("sequential",), lambda: _reduce_to_one(database, counted()))
    hidden = database.hidden_rows
    return whole.without(database.platform_index[hidden], database.workload_index[hidden]) if len(hidden) else whole


def _reduce_to_one(database: Database, counted: FloatArray | None) -> Database:
    origins = sorted({group.origin for group in database.groups})
    rows = _one_for_each_pair(database, origins)
    group = np.array([origins.index(old_group.origin) for old_group in database.groups], dtype=np.int64)
    features = np.full((len(rows), len(FEATURE_NAMES)), np.nan)
    features[:, MEASURE_ELEMENTS] = relative_measures_at_one(database, counted)[rows]
    return database.with_profiles(
        platform_index=database.platform_index[rows],
        workload_index=database.workload_index[rows],
        groups=[Group(False, "", origin) for origin in origins],
        group=group[database.group[rows]],
        features=features,
        t1_s=database.t1_s[rows],
        curve_offsets=np.arange(len(rows) + 1),
        curve_n=np.ones(len(rows)),
        curve_time_s=database.t1_s[rows],
    )


def _one_for_each_pair(database: Database, origins: list[str]) -> IntArray:
    """Return the rows with a measured t(1): for each pair and origin the first, decomposed before time-only."""
    origin = np.array([origins.index(group.origin) for group in database.groups], dtype=np.int64)[database.group]
    time_only = np.array([not group.decomposed for group in database.groups])[database.group]
    rows = np.flatnonzero(starts_at_one(database) & np.isfinite(database.t1_s))
    keys = (database.group, time_only, origin, database.workload_index, database.platform_index)
    rows = rows[np.lexsort([key[rows] for key in keys])]
    pair = np.stack([key[rows] for key in keys[2:]])
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (pair[:, 1:] != pair[:, :-1]).any(axis=0)
    return rows[first]


def starts_at_one(database: Database) -> BoolArray:
    """Return whether t(1) was measured, not replaced by another value, (N,). A profile without a curve counts as
    measured."""
    lengths = np.diff(database.curve_offsets)
    if not len(database.curve_n):
        return np.ones(len(lengths), dtype=bool)
    first = database.curve_n[np.minimum(database.curve_offsets[:-1], len(database.curve_n) - 1)]
    return np.asarray((lengths == 0) | (first == 1))


def relative_measures_at_one(database: Database, counted: FloatArray | None = None) -> FloatArray:
    """Return the relative measures at n = 1 of every row, (N, 7): as counted, else m + b of the fitted curve (Eq. 5).
    NaN = unknown.

    >>> features = np.full((1, 84), np.nan); features[0, [42, 43]] = 0.125, 0.5  # m and b of BR/INSTR
    >>> one = Database.build(
    ...     platforms=["p"], workloads=["w"], platform_index=[0], workload_index=[0], groups=(Group(True, "", ""),),
    ...     group=[0], features=features, t1_s=[1.0], n_nu=[np.nan], n_ht=[np.nan], n_max=[4])
    >>> relative_measures_at_one(one)[0, :2].tolist()
    [0.625, nan]
    """
    slope = np.nan_to_num(database.features[:, MEASURE_SLOPES], nan=0.0)
    fitted = database.features[:, MEASURE_ELEMENTS] + slope
    return fitted if counted is None else np.where(np.isnan(counted), fitted, counted)
