"""Ablation of `mpet`: variants that change one ingredient each, to measure its effect."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.mpet.hyperparameters import DEFAULTS, Hyperparameters
from predictor.core.mpet.method import MPET, MpetSettings, predict_mpet

CHANGED_HYPERPARAMETERS: dict[str, Hyperparameters] = {
    "no process of the nearest alone": replace(DEFAULTS, neighbours=1_000_000),
    "the 48 nearest": replace(DEFAULTS, neighbours=48),
    "nearest on paper": replace(DEFAULTS, paper_share=1e6),
    "without unexplained workloads": replace(DEFAULTS, ridge=1e9),
    "twins as others of one cpu_model": replace(
        DEFAULTS, twin_cpu_model=DEFAULTS.cpu_model, twin_microarchitecture=0.0
    ),
    "no cpu_model": replace(DEFAULTS, cpu_model=0.0, twin_cpu_model=0.0, twin_microarchitecture=0.0),
    "no metadata": replace(DEFAULTS, metadata=0.0),
    "no linear part": replace(DEFAULTS, linear=0.0),
    "no smooth part": replace(DEFAULTS, smooth=0.0),
    "no short-range part": replace(DEFAULTS, short=0.0),
    "all workloads alike": replace(DEFAULTS, workload_power=0.0),
    "all n alike": replace(DEFAULTS, nearness=1e6),
    "no extra noise for outliers": replace(DEFAULTS, robust=1e6),
    "no shift": replace(DEFAULTS, shift=0.0),
}
# These changes have no effect if there are many references.
CHANGED_FEW_REFERENCES: dict[str, Hyperparameters] = {
    "no features": replace(DEFAULTS, features=0.0),
    "no process over workloads": replace(DEFAULTS, workload_noise=1e9),
}
REFERENCE_LIMITS = {"64 references": 64, "96 references": 96, "all references": 1_000_000}


def ablation_methods() -> list[Method[Any]]:
    """Return one method for each change, named `mpet: <change>`. METHODS does not include them.

    >>> [method.name for method in ablation_methods()][:2]
    ['mpet: no process of the nearest alone', 'mpet: the 48 nearest']
    """
    changed = {
        name: partial(predict_mpet, h=changes)
        for name, changes in (CHANGED_HYPERPARAMETERS | CHANGED_FEW_REFERENCES).items()
    }

    def limited(database: Database, query: Query, settings: MpetSettings, *, most: int) -> Answer:
        return predict_mpet(database, query, replace(settings, references=most))

    counted = {name: partial(limited, most=most) for name, most in REFERENCE_LIMITS.items()}
    return [
        replace(MPET, name=f"{MPET.name}: {name}", predict=predict) for name, predict in (changed | counted).items()
    ]
