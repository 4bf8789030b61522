"""The paper's method in its final setup (Section 4.1): candidates by distance, weighted transfer of raw elements."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from predictor.core.answers import Answer, Candidate, Method, Query
from predictor.core.database import Database
from predictor.core.distance import tuple_distance
from predictor.core.errors import SettingsError, TooFewCandidates
from predictor.core.mpet2020.candidates import (
    BeyondLimits,
    DistanceKind,
    Neighbourhood,
    SelectedCandidates,
    find_neighbourhood,
    select_by_tuple,
    select_by_workload,
)
from predictor.core.mpet2020.interpolate import Interpolation, ValueOrigin, candidate_weights, interpolate
from predictor.core.normalise import Normalisation
from predictor.core.reconstruct import impossible_elements, predicted_curves, predicted_thread_counts
from profiles.arrays import FloatArray
from profiles.scaling.features import FEATURE_NAMES


@dataclass(frozen=True)
class Mpet2020Settings:
    """The choices of the paper, its values as defaults.

    `t1_*` choose candidates for t(1), `scaling_*` for the feature vector. The weight r(w) has w = 1 - the same
    workload distance (mean or individual) that ranks, and exponent `_k`. `mix_runtimes` compares across runtimes.
    """

    t1_workloads: int = 5
    t1_platforms: int = 5
    t1_workload_distance: DistanceKind = "mean"
    t1_platform_distance: DistanceKind = "individual"
    t1_k: int = 0
    scaling_workloads: int = 10
    scaling_platforms: int = 3
    scaling_workload_distance: DistanceKind = "individual"
    scaling_platform_distance: DistanceKind = "individual"
    scaling_k: int = 3
    scaling_beyond_limits: BeyondLimits = "pass_over"
    mix_runtimes: bool = False
    normalisation: Normalisation = "robust"

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name.endswith(("_workloads", "_platforms")) and value < 1:
                raise SettingsError(f.name, f"{value} is under 1")
            if f.name.endswith("_k") and not 0 <= value <= 3:
                raise SettingsError(f.name, f"{value} is not in 0..3 (Eq. 22)")


def predict_mpet2020(database: Database, query: Query, settings: Mpet2020Settings) -> Answer:
    """Predict t(1) and the feature vector of A on T from their candidates, and rebuild the curve (Eq. 10-23).

    Raises a PredictionError where no candidate can be ranked.
    """
    near = find_neighbourhood(database, query, settings.mix_runtimes, settings.normalisation)
    t1 = select_by_workload(
        near,
        settings.t1_workloads,
        settings.t1_platforms,
        settings.t1_workload_distance,
        settings.t1_platform_distance,
    )
    if not len(t1):
        raise TooFewCandidates(0, 1, _why_none(database, near))
    scaling = select_by_tuple(
        near,
        settings.scaling_workloads,
        settings.scaling_platforms,
        settings.scaling_workload_distance,
        settings.scaling_platform_distance,
        beyond=settings.scaling_beyond_limits,
    )
    return answer_from_candidates(database, query, settings, near, t1=t1, scaling=scaling)


def answer_from_candidates(
    database: Database,
    query: Query,
    settings: Mpet2020Settings,
    near: Neighbourhood,
    *,
    t1: SelectedCandidates,
    scaling: SelectedCandidates,
) -> Answer:
    """The answer that the candidates chosen for t(1) and for the vector give."""
    n = predicted_thread_counts(database, query.target, query.n)
    weights_t1 = candidate_weights(t1.workload_distance, settings.t1_k)
    weights_scaling = candidate_weights(scaling.workload_distance, settings.scaling_k)
    first = interpolate(*_values(database.t1_s[:, None], near, t1), weights_t1)
    vector = _vector(database, query.target, near, scaling, weights_scaling)
    t1_s = float(first.values[0])
    curves = predicted_curves(
        database, query.target, t1_s, vector.values, n, decomposed=database.groups[near.groups[0]].decomposed
    )
    return Answer(
        t1_s=t1_s,
        n=n,
        time_s=curves.time_s,
        features=vector.values,
        curves=curves.curves,
        candidates_t1=_candidates(database, near, t1, weights_t1),
        candidates_scaling=_candidates(database, near, scaling, weights_scaling),
        warnings=[*_warnings(database, query, near, first, vector), *curves.warnings],
        confidence=_confidence(near, scaling, vector),
    )


def _values(
    column: FloatArray, near: Neighbourhood, chosen: SelectedCandidates
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """v_P,A, v_P,B and v_T,B of the chosen candidates, (C, E) each."""
    return (
        column[near.rows_pa[chosen.platforms]],
        column[near.rows_pb[chosen.platforms, chosen.workloads]],
        column[near.rows_tb[chosen.workloads]],
    )


def _vector(
    database: Database, target: int, near: Neighbourhood, chosen: SelectedCandidates, weights: FloatArray
) -> Interpolation:
    """The 84 elements; none where A was measured at n = 1 alone, and never one that the target cannot have."""
    v_pa, v_pb, v_tb = _values(database.features, near, chosen)
    vector = interpolate(v_pa, v_pb, v_tb, weights)
    invalid = impossible_elements(float(database.n_nu[target]), float(database.n_ht[target]))
    if np.isnan(v_pa).all():
        invalid = np.ones_like(invalid)
    return Interpolation(
        np.where(invalid, np.nan, vector.values),
        np.where(invalid, ValueOrigin.INVALID, vector.origins).astype(np.int8),
    )


def _candidates(
    database: Database, near: Neighbourhood, chosen: SelectedCandidates, weights: FloatArray
) -> list[Candidate]:
    d_t = tuple_distance(chosen.platform_distance, chosen.workload_distance)
    columns = zip(
        near.platforms[chosen.platforms].tolist(),
        near.workloads[chosen.workloads].tolist(),
        chosen.platform_distance.tolist(),
        chosen.workload_distance.tolist(),
        d_t.tolist(),
        weights.tolist(),
        strict=True,
    )
    return [Candidate(database.platforms[p], database.workloads[b], *numbers) for p, b, *numbers in columns]


def _warnings(
    database: Database, query: Query, near: Neighbourhood, first: Interpolation, vector: Interpolation
) -> list[str]:
    found = []
    target = database.platforms[query.target]
    architecture = database.platform_table["architecture"]
    isa = architecture[query.target]
    if isa and all(architecture[p] != isa for p in near.platforms):
        found.append(f"no reference platform has the instruction set of {target} ({isa}): expect errors of 30 to 70 %")
    runtimes = sorted({database.groups[g].runtime or "unknown" for g in near.groups})
    if len(runtimes) > 1:
        found.append(f"profiles of different runtimes are compared: {', '.join(runtimes)}")
    if first.origins[0] == ValueOrigin.CARRIED_OVER:
        found.append("t(1) is the first reference's, unchanged: no candidate has all the times that a ratio needs")
    if not (vector.origins != ValueOrigin.INVALID).any():
        found.append("no scaling: the workload was measured at n = 1 alone, or no candidate could be ranked for it")
    for origin, what in (
        (ValueOrigin.CARRIED_OVER, "carried over from the first reference"),
        (ValueOrigin.TARGET_MEAN, "the mean of the benchmarks on the target"),
    ):
        elements = _listed(vector, origin)
        if elements:
            found.append(f"{what}, not interpolated: {elements}")
    return found


def _listed(vector: Interpolation, origin: ValueOrigin) -> str:
    return ", ".join(FEATURE_NAMES[i] for i in np.flatnonzero(vector.origins == origin))


def _confidence(near: Neighbourhood, scaling: SelectedCandidates, vector: Interpolation) -> dict[str, object]:
    """What a reader can judge the answer by; mpet2020 gives no interval."""
    nearest = tuple_distance(scaling.platform_distance, scaling.workload_distance)
    return {
        "references": len(near.platforms),
        "benchmarks": len(near.workloads),
        "nearest_distance": float(nearest[0]) if len(nearest) else None,
        "elements_interpolated": int((vector.origins == ValueOrigin.INTERPOLATED).sum()),
        "elements_replaced": int((vector.origins > ValueOrigin.INTERPOLATED).sum()),
    }


def _why_none(database: Database, near: Neighbourhood) -> str:
    pairs = int((near.rows_pb >= 0).sum())
    if pairs:
        return f"{pairs} pairs of reference and benchmark share no valid feature with the workload or the target"
    references = ", ".join(database.platforms[p] for p in near.platforms[:3])
    more = ", ..." if len(near.platforms) > 3 else ""
    return f"the reference platforms ({references}{more}) share no workload with the target"


MPET2020 = Method(
    name="mpet2020",
    version="1",
    settings=Mpet2020Settings,
    predict=predict_mpet2020,
    summary="The paper's final setup: nearest profiles by feature distance, weighted transfer of the raw elements.",
)
