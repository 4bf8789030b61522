"""Weights that the paper leaves to its future work (Section 4.4): of candidates, and of elements in a distance."""

from __future__ import annotations

from typing import Literal

import numpy as np

from predictor.core.database import Database
from predictor.core.distance import dimensions
from profiles.arrays import FloatArray, IntArray
from profiles.scaling.features import rebuilding_errors
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, SCALING_PARTS

CandidateWeight = Literal["distance", "fit_error", "dimensions", "fit_error_and_dimensions"]
ElementWeight = Literal["equal", "scaling_parts", "repeatable"]

HALVING_FIT_ERROR = 0.1  # relative fit error of t(n) at which a candidate counts half
LEAST_ELEMENT_WEIGHT = 0.05  # above 0, so that distances are defined if few elements are valid


def candidate_certainty(database: Database, rows: IntArray, kind: CandidateWeight) -> FloatArray:
    """Return the factors in 0..1 for the weight r(w) of each candidate (Eq. 22).

        fit error: 1 / (1 + (e / 0.1)^2),    e^2 = mean over (P,A), (P,B), (T,B) of the squared fit error
        dimensions: sqrt(dim_a dim_p) / its maximum over the candidates

    dim_a, dim_p: the numbers of elements that the distances D_a(P,A,B) and D_p(B,P,T) compare.

    Parameters: `rows` (C, 3) of (P,A), (P,B), (T,B). Returns (C,). An unknown fit error counts as 0.1.
    """
    certainty = np.ones(len(rows))
    if kind in ("fit_error", "fit_error_and_dimensions"):
        errors = np.nan_to_num(fit_errors_of_rows(database, rows), nan=HALVING_FIT_ERROR, posinf=1 / HALVING_FIT_ERROR)
        certainty /= 1.0 + (errors**2).mean(axis=1) / HALVING_FIT_ERROR**2
    if kind in ("dimensions", "fit_error_and_dimensions") and len(rows):
        of_a, of_b, of_target = (database.features[rows[:, place]] for place in range(3))
        shared = np.sqrt(dimensions(of_a, of_b) * dimensions(of_b, of_target))
        certainty *= shared / max(shared.max(), 1.0)
    return certainty


def fit_errors_of_rows(database: Database, rows: IntArray) -> FloatArray:
    """Return the fit errors of profiles (any shape), reconstructed from their stored features; NaN if no time can be
    reconstructed."""
    chosen, places = np.unique(rows, return_inverse=True)
    errors = np.empty(len(chosen))
    for place, row in enumerate(chosen.tolist()):
        n, time_s = database.curve(row)
        platform = database.platform_index[row]
        errors[place] = rebuilding_errors(
            database.features[row].reshape(1, len(CURVE_NAMES), len(ELEMENTS)),
            n.astype(np.int64),
            time_s[None],
            t1_s=database.t1_s[row : row + 1],
            n_nu=float(database.n_nu[platform]),
            n_ht=float(database.n_ht[platform]),
            decomposed=database.groups[database.group[row]].decomposed,
        )[0]
    return errors[places].reshape(rows.shape)


def element_weights(values: FloatArray, columns: IntArray, kind: ElementWeight) -> FloatArray:
    """Return the weight of each element in a distance (E,), 1 if all count equally.

    `scaling_parts`: 1 for R and the six fractions, from which t(n) is reconstructed, and 0.05 for the relative
    measures. `repeatable`: the share of an element's variance that is explained by the workload, at least 0.05:

        w = 1 - s^2 within workloads / s^2 of all

    An element with different values on every platform gives little information about a workload.

    Parameters: `values` (P, B, E), normalised, of workloads on the references, NaN = invalid; `columns` (E,), the
    indices of these elements. If workloads were measured on one platform only, all count equally.

    Example: the first element depends on the workload only, the second one is noise.

    >>> values = np.array([[[0.0, 0.3], [1.0, 0.3]], [[0.0, 0.6], [1.0, 0.6]]])
    >>> element_weights(values, np.arange(2), "repeatable").tolist()
    [1.0, 0.05]
    """
    if kind == "equal":
        return np.ones(len(columns))
    if kind == "scaling_parts":
        return np.where(columns < len(SCALING_PARTS) * len(ELEMENTS), 1.0, LEAST_ELEMENT_WEIGHT)
    valid = ~np.isnan(values)
    known = np.where(valid, values, 0.0)
    of_workload = valid.sum(axis=0)
    means = known.sum(axis=0) / np.maximum(of_workload, 1)
    count, workloads = of_workload.sum(axis=0), (of_workload > 0).sum(axis=0)
    mean = known.sum(axis=(0, 1)) / np.maximum(count, 1)
    within = np.where(valid, (known - means) ** 2, 0.0).sum(axis=(0, 1)) / np.maximum(count - workloads, 1)
    total = np.where(valid, (known - mean) ** 2, 0.0).sum(axis=(0, 1)) / np.maximum(count - 1, 1)
    share = 1.0 - np.divide(within, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(np.maximum(share, LEAST_ELEMENT_WEIGHT))
