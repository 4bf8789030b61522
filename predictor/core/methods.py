"""The registry of prediction methods by name. To add a method, add its module and its entry in METHODS.

Profiles with a large variation between repeats are used only if a query has no answer without them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from predictor.core.answers import Answer, Method, Query, Settings, settings_values
from predictor.core.baselines import BASELINES
from predictor.core.database import Database
from predictor.core.errors import PredictionError, SettingsError, TooFewCandidates, UnknownMethod
from predictor.core.mpet.method import MPET
from predictor.core.mpet2020.method import MPET2020
from predictor.core.two_steps import (
    check_in_two_steps,
    estimate_in_two_steps,
    lacks_in_two_steps,
    predict_in_two_steps,
)
from profiles.arrays import IntArray

MOST_STANDARD_ERROR = 0.2  # of ln t(n); answers are better without profiles above it (docs/accuracy/explanations.md)
__all__ = [
    "DEFAULT_METHOD",
    "METHODS",
    "Answer",
    "Method",
    "PredictionError",
    "Query",
    "SettingsError",
    "TooFewCandidates",
    "UnknownMethod",
    "get_method",
    "settings_values",
]


def predict_from_quiet_profiles(
    predict: Callable[[Database, Query, Settings], Answer], database: Database, query: Query, settings: Settings
) -> Answer:
    """Return the prediction without noisy profiles. If it is refused, use those of the workload and of the target; if
    it is still refused, use all, so that no query is refused because of noise."""
    rows: IntArray = database.derive(("noisy",), lambda: np.flatnonzero(database.standard_error > MOST_STANDARD_ERROR))
    is_of_query = (database.workload_index[rows] == query.workload) | (database.platform_index[rows] == query.target)
    for hidden in (rows, rows[~is_of_query]):
        if len(hidden):
            quiet = database.without(database.platform_index[hidden], database.workload_index[hidden])
            try:
                return predict(quiet, query, settings)
            except PredictionError:
                continue
    return predict(database, query, settings)


def _quiet(method: Method[Any]) -> Method[Any]:
    return replace(method, predict=partial(predict_from_quiet_profiles, method.predict))


_QUIET_MPET = _quiet(MPET)
_IN_TWO_STEPS = replace(
    _QUIET_MPET,
    predict=partial(predict_in_two_steps, _QUIET_MPET.predict),
    check=check_in_two_steps,
    lacks_by_target=lacks_in_two_steps,
    estimate=partial(estimate_in_two_steps, _QUIET_MPET.predict),
)
_REGISTERED: tuple[Method[Any], ...] = (_IN_TWO_STEPS, *map(_quiet, (MPET2020, *BASELINES)))
DEFAULT_METHOD = MPET.name
METHODS: dict[str, Method[Any]] = {method.name: method for method in _REGISTERED}


def get_method(name: str) -> Method[Any]:
    """Return the registered method. Raise UnknownMethod, which lists the known ones.

    >>> get_method("mpet2020").settings().t1_workloads
    5
    """
    try:
        return METHODS[name]
    except KeyError:
        raise UnknownMethod(name, tuple(METHODS)) from None
