"""The paper's method in its final setup (Section 4.1): candidates by distance, weighted transfer of raw elements."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from predictor.core.answers import Answer, AnswerConfidence, Candidate, Method, Query, predicted_thread_counts
from predictor.core.database import Database
from predictor.core.distance import tuple_distance
from predictor.core.errors import NothingComparable, NothingShared, SettingsError, TooFewCandidates
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
from predictor.core.mpet2020.weights import CandidateWeight, ElementWeight, candidate_certainty
from predictor.core.normalise import Normalisation
from predictor.core.reconstruct import impossible_elements, predicted_curves
from predictor.core.references import MixRuntimes, architecture_warnings, runtimes_of_rows
from profiles.arrays import FloatArray, IntArray
from profiles.scaling.names import FEATURE_NAMES

LARGEST_PENALTY_EXPONENT = 3  # k of Eq. 22: the paper tries 0 to 3
NAMED_REFERENCES = 3  # reference platforms that a refusal names


@dataclass(frozen=True)
class Mpet2020Settings:
    """The settings of the paper's method, with the paper's values as defaults.

    `t1_*` are for the candidates of t(1), `scaling_*` for those of the feature vector. The weight r(w) has w = 1 - the
    workload distance (mean or individual) by which candidates are ranked, and the exponent `_k`. `mix_runtimes`
    compares the features of different runtimes: always, never, or (auto) if one runtime leaves no candidate.
    `candidate_weight` and `element_weight` are the paper's future work: lower weights for candidates with a large fit
    error or with distances over few elements, and different weights of the elements in a distance.
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
    mix_runtimes: MixRuntimes = "auto"
    normalisation: Normalisation = "robust"
    candidate_weight: CandidateWeight = "distance"
    element_weight: ElementWeight = "equal"

    def __post_init__(self) -> None:
        for setting in fields(self):
            name, value = setting.name, getattr(self, setting.name)
            if name.endswith(("_workloads", "_platforms")) and value < 1:
                raise SettingsError(name, f"{value} is below 1")
            if name.endswith("_k") and not 0 <= value <= LARGEST_PENALTY_EXPONENT:
                raise SettingsError(name, f"{value} is not in 0..{LARGEST_PENALTY_EXPONENT} (Eq. 22)")


@dataclass(frozen=True)
class Mpet2020Confidence(AnswerConfidence):
    """The data from which the confidence of an answer of `mpet2020` is judged; it has no interval.

    `references` and `benchmarks` are the numbers available; `nearest_distance` is the least D_t of the candidates for
    the vector, None without any; `elements_interpolated` follow Eq. 23, `elements_replaced` are carried over or
    means.
    """

    references: int
    benchmarks: int
    nearest_distance: float | None
    elements_interpolated: int
    elements_replaced: int


def predict_mpet2020(database: Database, query: Query, settings: Mpet2020Settings) -> Answer:
    """Predict t(1) and the feature vector of A on T from their candidates, and reconstruct the curve (Eq. 10-23).

    Example: one candidate (P,B). A takes 6 s on P, B 3 s on P and 5 s on T, so t(1) = 5 s * 6/3 = 10 s; in the same way
    R's slope is 0.4 * 0.2/0.1 = 0.8 (Eq. 21).

    Raises a PredictionError if no candidate can be ranked.

    >>> from predictor.core.database import Group
    >>> features = np.full((3, 84), np.nan)
    >>> features[:, 0] = [0.2, 0.1, 0.4]
    >>> database = Database.build(
    ...     platforms=("P", "T"), workloads=("A", "B"), platform_index=[0, 0, 1], workload_index=[0, 1, 1],
    ...     groups=[Group(False, "", "measured")], group=[0, 0, 0], features=features, t1_s=[6.0, 3.0, 5.0],
    ...     n_nu=[np.nan, np.nan], n_ht=[np.nan, np.nan], n_max=[4, 4])
    >>> answer = predict_mpet2020(database, Query(workload=0, target=1), Mpet2020Settings())
    >>> answer.t1_s, answer.features[0].round(9)
    (10.0, np.float64(0.8))
    """
    near, t1 = find_t1_candidates(database, query, settings)
    scaling = select_by_tuple(
        near,
        settings.scaling_workloads,
        settings.scaling_platforms,
        settings.scaling_workload_distance,
        settings.scaling_platform_distance,
        beyond=settings.scaling_beyond_limits,
    )
    return answer_from_candidates(database, query, settings, near, t1=t1, scaling=scaling)


def find_t1_candidates(
    database: Database, query: Query, settings: Mpet2020Settings
) -> tuple[Neighbourhood, SelectedCandidates]:
    """Return the neighbourhood of A and T, and at least one candidate for t(1). Raise a PredictionError if there is
    none."""
    near = find_neighbourhood(database, query, settings.mix_runtimes, settings.normalisation, settings.element_weight)
    t1 = select_by_workload(
        near, settings.t1_workloads, settings.t1_platforms, settings.t1_workload_distance, settings.t1_platform_distance
    )
    if not len(t1):
        raise _no_candidate(database, near)
    return near, t1


def check_mpet2020(database: Database, query: Query, settings: Mpet2020Settings) -> None:
    """Raise the PredictionError with which `predict_mpet2020` refuses."""
    find_t1_candidates(database, query, settings)
    predicted_thread_counts(database, query.target, query.n)


def answer_from_candidates(
    database: Database,
    query: Query,
    settings: Mpet2020Settings,
    near: Neighbourhood,
    *,
    t1: SelectedCandidates,
    scaling: SelectedCandidates,
) -> Answer:
    """Return the answer from the candidates for t(1) and for the vector."""
    n = predicted_thread_counts(database, query.target, query.n)
    weights_t1 = _weights(database, near, t1, settings.t1_k, settings.candidate_weight)
    weights_scaling = _weights(database, near, scaling, settings.scaling_k, settings.candidate_weight)
    v_pa, v_pb, v_tb = database.t1_s[_rows(near, t1), None]
    first = interpolate(v_pa, v_pb, v_tb, weights_t1)
    vector = _feature_vector(database, query.target, near, scaling, weights_scaling)
    t1_s = float(first.values[0])
    curves = predicted_curves(
        database, query.target, t1_s, vector.values, n, decomposed=database.groups[near.groups[0]].decomposed
    )
    candidates_scaling = _candidates(database, near, scaling, weights_scaling)
    confidence = Mpet2020Confidence(
        references=len(near.platforms),
        benchmarks=len(near.workloads),
        nearest_distance=candidates_scaling[0].distance_tuple if candidates_scaling else None,
        elements_interpolated=int((vector.origins == ValueOrigin.INTERPOLATED).sum()),
        elements_replaced=int((vector.origins > ValueOrigin.INTERPOLATED).sum()),
    )
    return Answer(
        t1_s=t1_s,
        n=n,
        time_s=curves.time_s,
        features=vector.values,
        curves=curves.curves,
        candidates_t1=_candidates(database, near, t1, weights_t1),
        candidates_scaling=candidates_scaling,
        warnings=[*_warnings(database, query, near, first, vector), *curves.warnings],
        confidence=confidence,
    )


def _weights(
    database: Database, near: Neighbourhood, chosen: SelectedCandidates, k: int, kind: CandidateWeight
) -> FloatArray:
    """Return r(w) of each candidate, times its certainty if requested."""
    weights = candidate_weights(chosen.workload_distance, k)
    return weights if kind == "distance" else weights * candidate_certainty(database, _rows(near, chosen).T, kind)


def _rows(near: Neighbourhood, chosen: SelectedCandidates) -> IntArray:
    """Return the rows of (P,A), (P,B) and (T,B) of each candidate, (3, C)."""
    of_a, of_b = near.rows_pa[chosen.platforms], near.rows_pb[chosen.platforms, chosen.workloads]
    return np.stack([of_a, of_b, near.rows_tb[chosen.workloads]])


def _feature_vector(
    database: Database, target: int, near: Neighbourhood, chosen: SelectedCandidates, weights: FloatArray
) -> Interpolation:
    """Return the 84 elements. All are invalid if A was measured at n = 1 only, and so are those that the target cannot
    have."""
    v_pa, v_pb, v_tb = database.features[_rows(near, chosen)]
    vector = interpolate(v_pa, v_pb, v_tb, weights)
    invalid = impossible_elements(float(database.n_nu[target]), float(database.n_ht[target]))
    if np.isnan(v_pa).all():
        invalid = np.ones_like(invalid)
    return Interpolation(
        np.where(invalid, np.nan, vector.values), np.where(invalid, ValueOrigin.INVALID, vector.origins).astype(np.int8)
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
    warnings = architecture_warnings(database, query.target, near.platforms) + _mixture_warnings(database, near)
    if first.origins[0] == ValueOrigin.CARRIED_OVER:
        warnings.append("t(1) is that of the first reference: no candidate has all times that a ratio needs")
    if not (vector.origins != ValueOrigin.INVALID).any():
        warnings.append("no scaling: the workload was measured at n = 1 only, or no candidate could be ranked for it")
    for origin, treatment in (
        (ValueOrigin.CARRIED_OVER, "copied from the first reference"),
        (ValueOrigin.TARGET_MEAN, "the mean of the benchmarks on the target"),
    ):
        elements = ", ".join(FEATURE_NAMES[i] for i in np.flatnonzero(vector.origins == origin))
        if elements:
            warnings.append(f"{treatment}, not interpolated: {elements}")
    return warnings


def _mixture_warnings(database: Database, near: Neighbourhood) -> list[str]:
    """Return warnings about comparisons of runtimes and decompositions that the paper excludes."""
    rows = np.concatenate([near.rows_pa, near.rows_pb.ravel(), near.rows_tb])
    runtimes = runtimes_of_rows(database, rows)
    warnings = []
    if len(runtimes) > 1:
        warnings.append(f"profiles of different runtimes are compared: {', '.join(runtimes)}")
    if len({database.groups[group].decomposed for group in np.unique(database.group[rows[rows >= 0]])}) > 1:
        warnings.append("decomposed profiles are compared with time-only ones")
    return warnings


def _no_candidate(database: Database, near: Neighbourhood) -> TooFewCandidates:
    """Return the refusal if no (P,B) can be ranked."""
    pairs = int((near.rows_pb >= 0).sum())
    if pairs:
        return NothingComparable(
            f"{pairs} pairs of reference and benchmark share no valid feature with the workload or the target"
        )
    references = ", ".join(database.platforms[p] for p in near.platforms[:NAMED_REFERENCES])
    more = ", ..." if len(near.platforms) > NAMED_REFERENCES else ""
    return NothingShared(f"the reference machines ({references}{more}) share no workload with the target")


MPET2020 = Method(
    name="mpet2020",
    version="3",
    settings=Mpet2020Settings,
    predict=predict_mpet2020,
    summary="The paper's final setup: nearest profiles by feature distance, weighted transfer of the raw elements.",
    check=check_mpet2020,
)
