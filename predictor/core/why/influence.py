"""Influence of references, workloads and elements on an answer: shares of weight, and the change without each of
them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from predictor.core.answers import Answer, Method, Query, is_decomposed
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.reconstruct import predicted_curves
from profiles.arrays import FloatArray
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, FEATURE_NAMES, SCALING_PARTS
from profiles.scaling.runs import CurveTable

NAMED_CANDIDATES = 3  # number of candidates per kind that are named: those with the largest weights
NAMED_ELEMENTS = 3
LEAST_CHANGE = 1e-3
REMOVABLE = ("m", "m_nu")
ROUNDING_ERROR = 1e-9


@dataclass(frozen=True)
class Influence:
    """The influence of a reference, a workload or an element on an answer.

    `share` is the share of the candidates' weight, None for elements; `change` is the relative change of t(n) without
    it, averaged over n. It is None if there is no answer without it, or if it was not computed.
    """

    kind: str  # reference | workload | element
    name: str
    share: float | None
    change: float | None


def candidate_shares(answer: Answer, kind: str) -> dict[str, float]:
    """Return the share of each platform (kind "reference") or workload in the weights of the candidates, the largest
    first.

        share(x) = mean over t(1) and the vector of  sum |r| of the candidates with x / sum |r|

    Weights may be negative (`mpet`), and negative weights count by their absolute values.

    >>> from predictor.core.answers import Candidate
    >>> given = [Candidate("p", "a", 0, 0, 0, 3.0), Candidate("q", "a", 0, 0, 0, -1.0)]
    >>> nothing = np.zeros(0)
    >>> candidate_shares(Answer(1.0, nothing, nothing, nothing, {}, given, given), "reference")
    {'p': 0.75, 'q': 0.25}
    """
    lists = [candidates for candidates in (answer.candidates_t1, answer.candidates_scaling) if candidates]
    total: dict[str, float] = {}
    for candidates in lists:
        weights = [abs(candidate.weight) for candidate in candidates]
        whole = sum(weights) or 1.0
        for candidate, weight in zip(candidates, weights, strict=True):
            name = candidate.platform if kind == "reference" else candidate.workload
            total[name] = total.get(name, 0.0) + weight / whole / len(lists)
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def influences_on_answer(
    database: Database, query: Query, method: Method[Any], settings: Any, answer: Answer, *, leave_out: bool = True
) -> list[Influence]:
    """Return the influences on an answer: those of the references and workloads with the largest weights, and of the
    elements.

    The first of each kind is left out and the query repeated: a reference P by hiding (P,A), a workload B by hiding
    (T,B), which takes two predictions. `query` contains the group and the n of the answer, so that nothing else
    changes. Without `leave_out`, only the shares are computed, because a baseline may need seconds.
    """

    def change(kind: str, name: str) -> float | None:
        if kind == "reference":
            view = database.without(database.platforms.index(name), query.workload)
        else:
            view = database.without(query.target, database.workloads.index(name))
        try:
            return mean_change(answer.time_s, method.predict(view, at_same_n, settings).time_s)
        except PredictionError:
            return None

    at_same_n = replace(query, n=tuple(answer.n.tolist()))
    influences = [
        Influence(kind, name, share, change(kind, name) if leave_out and not rank else None)
        for kind in ("reference", "workload")
        for rank, (name, share) in enumerate(list(candidate_shares(answer, kind).items())[:NAMED_CANDIDATES])
    ]
    return influences + element_influences(database, query.target, answer)


def mean_change(before: FloatArray, after: FloatArray) -> float | None:
    """Return the geometric mean of after / before minus 1; None if no n has both.

    >>> round(mean_change(np.array([1.0, 4.0]), np.array([2.0, 8.0])), 9)
    1.0
    """
    ratio = np.log(after / before)
    ratio = ratio[np.isfinite(ratio)]
    return float(np.expm1(ratio.mean())) if len(ratio) else None


def element_influences(database: Database, target: int, answer: Answer) -> list[Influence]:
    """Return the elements of the feature vector with a removable effect, and the change of the time at the largest n
    without it.

    Two elements of each of the seven scaling parts are effects that a change of the program could remove:

        m      the part grows with n:               it stays as it is at n = 1
        m_nu   it rises or grows beyond n_nu:       it continues as before (m_nu and b_nu are 0)

    An offset b cannot be removed, because it is the work itself or balances the slope. Effects that begin at n_ht
    cannot either, because SMT threads share a core. Beyond n_ht the growth of the redundancy is excluded, because it is
    unknown how much of it is caused by SMT. Effects that make the time shorter are excluded, and those without which n
    threads would be more than n times as fast as one.

    Returns at most NAMED_ELEMENTS, the largest |change| first, those of LEAST_CHANGE or more.
    Source: Arndt et al. 2020, Eq. 3-7.

    Example: R(n) = 0.1 n + 0.9, so R(4) = 1.3. Without growth R(4) = R(1) = 1, and the time is 23 % shorter.

    >>> one_platform = Database.build(
    ...     platforms=["p"], workloads=[], platform_index=[], workload_index=[], groups=(), group=[],
    ...     features=np.ones((0, 84)), t1_s=[], n_nu=[np.nan], n_ht=[np.nan], n_max=[4])
    >>> features = np.full(84, np.nan); features[:2] = 0.1, 0.9
    >>> curves = dict.fromkeys(CURVE_NAMES, np.full(1, np.nan))
    >>> answer = Answer(8.0, np.array([4]), np.array([2.6]), features, curves, [], [])
    >>> [(influence.name, round(influence.change, 2)) for influence in element_influences(one_platform, 0, answer)]
    [('redundancy.m', -0.23)]
    """
    n = np.array([answer.n.max()])

    def time_of(features: FloatArray) -> float:
        rebuilt = predicted_curves(database, target, answer.t1_s, features, n, decomposed=is_decomposed(answer))
        return float(rebuilt.time_s[0])

    whole, least = time_of(answer.features), answer.t1_s / n[0]
    if not np.isfinite(whole) or n[0] == 1:
        return []
    influences = []
    for element in removable_elements(answer.features, beyond_cores=bool(n[0] > database.n_ht[target])):
        time_s = time_of(without_element(answer.features, element))
        if time_s >= least * (1 - ROUNDING_ERROR) and time_s / whole - 1 <= -LEAST_CHANGE:
            influences.append(Influence("element", FEATURE_NAMES[element], None, time_s / whole - 1))
    influences.sort(key=lambda influence: influence.change or 0.0)
    return influences[:NAMED_ELEMENTS]


def removable_elements(features: FloatArray, *, beyond_cores: bool) -> list[int]:
    """Return the positions of the valid slopes m and m_nu of the scaling parts, without m of the redundancy if there
    are more threads than cores."""
    slopes = [ELEMENTS.index(name) for name in REMOVABLE]
    rows = [part * len(ELEMENTS) + slope for part in range(len(SCALING_PARTS)) for slope in slopes]
    growth_of_redundancy = FEATURE_NAMES.index("redundancy.m")
    return [
        row
        for row in rows
        if np.nan_to_num(features[row : row + 2]).any() and not (beyond_cores and row == growth_of_redundancy)
    ]


def without_element(features: FloatArray, element: int) -> FloatArray:
    """Return the features without the effect of a slope: without m the part stays as it is at n = 1; b_nu is removed
    with m_nu.

    >>> without_element(np.array([0.5, 1.0, 0.25, 2.0, 0.0, 0.0]), 0).tolist()
    [0.0, 1.5, 0.25, 2.0, 0.0, 0.0]
    >>> without_element(np.array([0.5, 1.0, 0.25, 2.0, 0.0, 0.0]), 2).tolist()
    [0.5, 1.0, 0.0, 0.0, 0.0, 0.0]
    """
    changed = features.copy()
    is_base = element % len(ELEMENTS) == 0
    changed[element + 1] = features[element : element + 2].sum() if is_base else 0.0
    changed[element] = 0.0
    return changed


def predicted_scaling(answer: Answer) -> CurveTable | None:
    """Return the curves of the answer, for an analysis of what limits scaling; None if no scaling is predicted.

    A method that predicts times only has R(n) = n t(n) / t(1), like a time-only profile.

    >>> curves = dict.fromkeys(CURVE_NAMES, np.full(2, np.nan))
    >>> answer = Answer(8.0, np.array([1, 4]), np.array([8.0, 2.5]), np.empty(0), curves, [], [])
    >>> predicted_scaling(answer).curve("redundancy").tolist()
    [1.0, 1.25]
    """
    is_predicted = np.isfinite(answer.time_s)
    if is_predicted.sum() < 2 or not np.isfinite(answer.t1_s):
        return None
    values = np.stack([answer.time_s, *(answer.curves[name] for name in CURVE_NAMES)])[:, is_predicted]
    n = answer.n[is_predicted].astype(np.int64)
    decomposed = is_decomposed(answer)
    if not decomposed:
        values[1] = n * values[0] / answer.t1_s
    return CurveTable(n, values, decomposed, False, answer.t1_s)
