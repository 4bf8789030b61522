"""Tables and figures of the paper's Section 4.1, for any database.

Each table is a list of rows of plain values, so that CSV, JSON and charts show the same numbers. Errors are in percent,
as defined in `evaluate`. The prediction of a pair does not use any measurement of the pair.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from predictor.core.database import Database
from predictor.core.evaluate import EvaluationProgress, Outcome, Protocol, chosen_rows, evaluate
from predictor.core.mpet2020.method import MPET2020
from profiles.arrays import BoolArray
from profiles.jobs.executors import Executor
from research.paper.ablation import ablation_rows, variants
from research.paper.candidates import (
    FEW_CANDIDATES,
    MANY_CANDIDATES,
    errors_by_distance,
    method_with_candidates,
    sorted_errors,
)
from research.paper.influence import part_influence_rows
from research.paper.statistics import PART_NAMES, PaperRow, table_5_statistics

PaperResults = dict[str, list[PaperRow]]
Stage = Callable[[str], EvaluationProgress | None]

PAPER_DEVICE_CLASSES = ("server", "desktop", "embedded")


def _no_progress(name: str) -> None:
    return None


def paper_results(
    database: Database,
    *,
    sample: int | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    stage: Stage = _no_progress,
) -> PaperResults:
    """Return the rows of each table, for the pairs that `sample` and `seed` select.

    `stage(name)` is called at the start of each long part and returns the progress callback of the part. Raise
    ValueError if there is nothing to predict.
    """
    protocol = Protocol(sample=sample, seed=seed)
    changed = variants()
    methods = [
        MPET2020,
        method_with_candidates(FEW_CANDIDATES),
        method_with_candidates(MANY_CANDIDATES),
        *(variant.method for variant in changed),
    ]
    outcomes = evaluate(
        database,
        methods,
        protocol,
        settings={variant.method.name: variant.settings for variant in changed},
        executor=executor,
        progress=stage("candidates and ablation"),
    ).outcomes
    table5 = table5_rows("all", outcomes[MPET2020.name])
    for device_class in PAPER_DEVICE_CLASSES:
        inside = _evaluate_inside_class(database, device_class, protocol, executor, stage)
        table5 += table5_rows(device_class, inside)
    return {
        "table5": table5,
        "figure10": [
            row
            for count in (FEW_CANDIDATES, MANY_CANDIDATES)
            for row in sorted_errors(count, outcomes[f"{count} candidates"])
        ],
        "figure11": errors_by_distance(database, protocol, executor=executor, progress=stage("distances")),
        "influence": part_influence_rows(database, chosen_rows(database, protocol)),
        "ablation": ablation_rows(changed, outcomes),
    }


def table5_rows(platforms: str, outcomes: list[Outcome]) -> list[PaperRow]:
    """Return the three rows of Table 5 for one selection of platforms."""
    return [
        {"platforms": platforms, "part": name, **table_5_statistics(outcomes, part)}
        for part, name in PART_NAMES.items()
    ]


def _evaluate_inside_class(
    database: Database, device_class: str, protocol: Protocol, executor: Executor | None, stage: Stage
) -> list[Outcome]:
    """Return the outcomes of mpet2020 within the platforms of one class, or none if there is nothing to predict."""
    classes = database.platform_table["device_class"]
    inside = restrict_to_platforms(database, np.array([name == device_class for name in classes], dtype=bool))
    if not len(chosen_rows(inside, protocol)):
        return []
    evaluation = evaluate(inside, [MPET2020], protocol, executor=executor, progress=stage(device_class))
    return evaluation.outcomes[MPET2020.name]


def restrict_to_platforms(database: Database, platforms: BoolArray) -> Database:
    """Return the database without the profiles of other platforms and without hidden profiles; `platforms` is (P,)."""
    return database.part(np.flatnonzero(platforms[database.platform_index] & ~database.hidden))
