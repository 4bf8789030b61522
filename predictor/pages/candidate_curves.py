"""Measured curves of the candidates with the largest weights of an answer, for a figure like the paper's Figure 14."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mpet_site.web.background import NotReadyYet, note_outdated
from predictor.core.arrays import slug_index
from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.database import Database
from predictor.figures.candidates import CandidateCurves
from predictor.snapshot.cache import read_database

CANDIDATES_SHOWN = 2


def weightiest_candidates(candidates: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the two candidates with the largest |weight| that share neither platform nor workload.

    >>> rows = [("p", "a", 0.5), ("p", "b", 0.4), ("q", "a", -0.3), ("q", "b", 0.1)]
    >>> rows = [dict(zip(("platform", "workload", "weight"), row)) for row in rows]
    >>> [(row["platform"], row["workload"]) for row in weightiest_candidates(rows)]
    [('p', 'a'), ('q', 'b')]
    """
    chosen: list[Mapping[str, Any]] = []
    for candidate in sorted(candidates, key=lambda candidate: -abs(candidate["weight"] or 0)):
        if len(chosen) < CANDIDATES_SHOWN and not any(
            candidate["platform"] == other["platform"] or candidate["workload"] == other["workload"] for other in chosen
        ):
            chosen.append(candidate)
    return chosen


def candidate_curves(answer: Mapping[str, Any], user: Any) -> list[CandidateCurves]:
    """Return the current curves of the candidates with the largest weights.

    Candidates that lost one of their three curves are omitted. Return an empty list while the database is being read,
    because a stored answer does not need the curves.
    """
    origins = (*MEASURED, *SIMULATED) if answer.get("include_simulated") else MEASURED
    if answer.get("simulated") and not answer.get("include_simulated"):
        origins = SIMULATED
    try:
        database = read_database(user, origins=origins)
    except NotReadyYet:
        note_outdated()
        return []
    candidates = answer["candidates"]["scaling"] or answer["candidates"]["t1"]
    curves = [curves_of_candidate(database, answer, candidate) for candidate in weightiest_candidates(candidates)]
    return [three_curves for three_curves in curves if three_curves]


def curves_of_candidate(
    database: Database, answer: Mapping[str, Any], candidate: Mapping[str, Any]
) -> CandidateCurves | None:
    """Return the three curves of a candidate from one group, because profiles are comparable only within a group."""
    target, reference = (slug_index(database.platforms, slug) for slug in (answer["target"], candidate["platform"]))
    workload, benchmark = (slug_index(database.workloads, slug) for slug in (answer["workload"], candidate["workload"]))
    if target is None or reference is None or workload is None or benchmark is None:
        return None
    for group in range(len(database.groups)):
        rows = database.lookup([reference, target, reference], [benchmark, benchmark, workload], group)
        if (rows >= 0).all():
            curves = [database.curve(int(row)) for row in rows]
            return CandidateCurves(
                candidate["platform"],
                candidate["workload"],
                candidate["weight"],
                *((n.astype(np.int64), time_s) for n, time_s in curves),
            )
    return None
