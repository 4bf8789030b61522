"""The measured curves behind the weightiest candidates of an answer, for a figure like the paper's Figure 14."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from predictor.core.arrays import slug_index
from predictor.core.database import Database
from predictor.figures.candidates import CandidateCurves
from predictor.snapshot.building import MEASURED, SIMULATED
from predictor.snapshot.cache import snapshot

SHOWN = 2


def weightiest(candidates: Sequence[Mapping[str, Any]], at_most: int = SHOWN) -> list[Mapping[str, Any]]:
    """Those with the largest |weight|, no platform and no workload twice.

    >>> rows = [("p", "a", 0.5), ("p", "b", 0.4), ("q", "a", -0.3), ("q", "b", 0.1)]
    >>> rows = [dict(zip(("platform", "workload", "weight"), row)) for row in rows]
    >>> [(one["platform"], one["workload"]) for one in weightiest(rows)]
    [('p', 'a'), ('q', 'b')]
    """
    chosen: list[Mapping[str, Any]] = []
    for one in sorted(candidates, key=lambda one: -abs(one["weight"] or 0)):
        if len(chosen) < at_most and not any(
            one["platform"] == other["platform"] or one["workload"] == other["workload"] for other in chosen
        ):
            chosen.append(one)
    return chosen


def candidate_curves(answer: Mapping[str, Any], user: Any) -> list[CandidateCurves]:
    """As the database has them now; a candidate whose three curves are not all there any more is left out."""
    origins = (*MEASURED, *SIMULATED) if answer.get("include_simulated") else MEASURED
    if answer.get("simulated") and not answer.get("include_simulated"):
        origins = SIMULATED
    database = snapshot(user, origins=origins)
    candidates = answer["candidates"]["scaling"] or answer["candidates"]["t1"]
    found = [curves_behind(database, answer, one) for one in weightiest(candidates)]
    return [one for one in found if one]


def curves_behind(
    database: Database, answer: Mapping[str, Any], candidate: Mapping[str, Any]
) -> CandidateCurves | None:
    """All three of one group: profiles are comparable only inside it."""
    target, reference = (slug_index(database.platforms, slug) for slug in (answer["target"], candidate["platform"]))
    own, benchmark = (slug_index(database.workloads, slug) for slug in (answer["workload"], candidate["workload"]))
    if target is None or reference is None or own is None or benchmark is None:
        return None
    for group in range(len(database.groups)):
        rows = database.lookup([reference, target, reference], [benchmark, benchmark, own], group)
        if (rows >= 0).all():
            curves = [database.curve(int(row)) for row in rows]
            return CandidateCurves(
                candidate["platform"],
                candidate["workload"],
                candidate["weight"],
                *((n.astype(np.int64), time_s) for n, time_s in curves),
            )
    return None
