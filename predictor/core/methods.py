"""Every way to predict, by name. A new method: its module, and its name in METHODS."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from predictor.core.answers import Answer, Candidate, Method, Query, settings_values
from predictor.core.baselines import BASELINES
from predictor.core.errors import (
    InvalidThreadCounts,
    NoReference,
    PredictionError,
    SettingsError,
    TooFewCandidates,
    UnknownMethod,
    UnknownTarget,
    UnknownWorkload,
)
from predictor.core.mpet.method import MPET, MPET_LOG
from predictor.core.mpet2020.method import MPET2020
from predictor.core.noisy_profiles import QuietProfilesFirst

__all__ = [
    "DEFAULT_METHOD",
    "METHODS",
    "Answer",
    "Candidate",
    "InvalidThreadCounts",
    "Method",
    "NoReference",
    "PredictionError",
    "Query",
    "SettingsError",
    "TooFewCandidates",
    "UnknownMethod",
    "UnknownTarget",
    "UnknownWorkload",
    "get_method",
    "settings_values",
]

_EVERY: tuple[Method[Any], ...] = (MPET, MPET_LOG, MPET2020, *BASELINES)
_REGISTERED = tuple(replace(method, predict=QuietProfilesFirst(method.predict)) for method in _EVERY)
DEFAULT_METHOD = MPET.name
METHODS: dict[str, Method[Any]] = {method.name: method for method in _REGISTERED}


def get_method(name: str) -> Method[Any]:
    """The registered method. Raises UnknownMethod, which lists the known ones.

    >>> get_method("mpet2020").settings().t1_workloads
    5
    """
    try:
        return METHODS[name]
    except KeyError:
        raise UnknownMethod(name, tuple(METHODS)) from None
