"""Variants of `mpet2020` with the weights that the paper leaves to future work, compared in one run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.mpet2020.method import MPET2020, Mpet2020Settings, predict_mpet2020

CHANGED_WEIGHTS: dict[str, dict[str, Any]] = {
    "fit error": {"candidate_weight": "fit_error"},
    "dimensions": {"candidate_weight": "dimensions"},
    "fit error and dimensions": {"candidate_weight": "fit_error_and_dimensions"},
    "scaling parts": {"element_weight": "scaling_parts"},
    "repeatable elements": {"element_weight": "repeatable"},
    "repeatable elements, fit error and dimensions": {
        "element_weight": "repeatable",
        "candidate_weight": "fit_error_and_dimensions",
    },
}


def weighted_methods() -> list[Method[Any]]:
    """Return one method for each change, named `mpet2020: <change>`. METHODS does not include them.

    >>> [method.name for method in weighted_methods()][:2]
    ['mpet2020: fit error', 'mpet2020: dimensions']
    """
    return [
        replace(MPET2020, name=f"{MPET2020.name}: {name}", predict=partial(_with_weights, changes=changes))
        for name, changes in CHANGED_WEIGHTS.items()
    ]


def _with_weights(database: Database, query: Query, settings: Mpet2020Settings, *, changes: dict[str, Any]) -> Answer:
    return predict_mpet2020(database, query, replace(settings, **changes))
