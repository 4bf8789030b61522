"""`mpet` with one ingredient changed: what each of them gives, measured in one run with the method itself."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.mpet.hyperparameters import DEFAULTS
from predictor.core.mpet.method import MPET, MpetSettings, predict_mpet

HYPERPARAMETER_CHANGES: dict[str, dict[str, Any]] = {
    "nothing filled in": {"worthwhile": 0.0},
    "filled in whatever it tells": {"worthwhile": math.inf},
    "plain means as speed": {"far_off": math.inf},
    "no share of mpet-log": {"other_share": 0.0},
    "no process of the nearest alone": {"neighbours": 1_000_000},
    "the 48 nearest": {"neighbours": 48},
    "nearest on paper": {"neighbours_paper": 1e6},
    "near n alone": {"whole_share": 0.0},
    "whole curves alone": {"whole_share": 1.0},
    "halves of both": {"whole_share": 0.5},
    "without unexplained workloads": {"ridge": 1e9},
    "twins as others of one cpu_model": {"twin_cpu_model": DEFAULTS.cpu_model, "twin_microarchitecture": 0.0},
    "no cpu_model": {"cpu_model": 0.0, "twin_cpu_model": 0.0, "twin_microarchitecture": 0.0},
    "no metadata": {"metadata": 0.0},
    "no linear part": {"linear": 0.0},
    "no smooth part": {"smooth": 0.0},
    "no short-range part": {"short": 0.0},
    "all workloads alike": {"workload_power": 0.0},
    "all n alike": {"nearness": 1e6},
    "no extra noise for outliers": {"robust": 1e6},
    "no shift": {"shift": 0.0},
}
REFERENCE_LIMITS = {"64 references": 64, "96 references": 96, "all references": 1_000_000}


def ablation_methods() -> list[Method[Any]]:
    """A method for each change, named `mpet: <change>`; not among METHODS.

    >>> [method.name for method in ablation_methods()][:2]
    ['mpet: nothing filled in', 'mpet: filled in whatever it tells']
    """
    changed = {
        name: partial(predict_mpet, h=replace(DEFAULTS, **change)) for name, change in HYPERPARAMETER_CHANGES.items()
    }
    counted = {name: partial(_with_references, most=most) for name, most in REFERENCE_LIMITS.items()}
    return [replace(MPET, name=f"{MPET.name}: {name}", predict=how) for name, how in (changed | counted).items()]


def _with_references(database: Database, query: Query, settings: MpetSettings, *, most: int) -> Answer:
    return predict_mpet(database, query, replace(settings, references=most))
