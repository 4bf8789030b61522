"""Feature vectors of profiles: 14 curves with six elements each (Eq. 8-9), fitted by the curve model (Eq. 5-7).

The curve model is a straight line (or Gaussian sum) with one bend for NUMA and one for SMT threads. `derive_profiles`
computes all derived data of many profiles from their runs, without a database.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.jobs.executors import Executor, batches_of
from profiles.measurements import CounterTable, RunTable
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, FEATURE_NAMES, GAUSSIAN_SUM, SCALING_PARTS
from profiles.scaling.quality import RepeatSummary, repeat_summary
from profiles.scaling.runs import CurveTable, reconstruct, scaling_curves
from profiles.scaling.validity import valid_values

Indices = NDArray[np.intp]
DERIVED_PER_BATCH = 100  # profiles per batch, which takes tens of milliseconds


def fit_curves(
    n: IntArray, values: FloatArray, n_nu: float | None, n_ht: float | None, gaussian_sum: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Fit C curves over the same thread counts by least squares in closed form (Eq. 5-7).

        p(n) = m g(n) + b + [n > n_nu] (m_nu g(n - n_nu) + b_nu) + [n > n_ht] (m_ht g(n - n_ht) + b_ht)

    with g(n) = n, or n (n + 1) / 2 where `gaussian_sum`. The breakpoints divide the thread counts into segments, and
    each segment has a pair of parameters: m and b below the first breakpoint, then m_nu and b_nu, m_ht and b_ht. Both
    are valid if the segment was measured at two or more n. With one n, only its b is valid; with none, neither is. A
    curve that is NaN at some n is fitted to its other n by the same rules.

    Example: 5 + 2 n up to n_ht = 4, and 10 more at n = 6 alone, give m = 2, b = 5 and b_ht = 10; m_ht is invalid.

    Curves with the same valid n and the same g share one design matrix, which is factorised once (QR, columns scaled).
    The parameters of a curve do not depend on the other curves of the call, to the last bit.

    Parameters: `n` (N,) distinct thread counts; `values` (C, N), NaN = not measured; `n_nu` and `n_ht` thread counts,
    None or NaN = no such effect (if they are equal, there is no NUMA pair); `gaussian_sum` (C,).
    Returns: parameters (C, 6) in the order of ELEMENTS, and root mean square residuals (C,) over the valid n, in the
    unit of the values. NaN = invalid, which includes results beyond `validity.LARGEST_VALUE`. A sequential profile,
    n = [1], has no scaling, so that all results are NaN.
    Errors: ValueError if the shapes disagree.

    >>> n = np.array([1, 2, 3, 4, 6])
    >>> parameters, rms = fit_curves(n, 5.0 + 2 * n[None] + 10 * (n > 4), None, 4, np.array([False]))
    >>> parameters.round(9).tolist(), rms.round(9).tolist()
    ([[2.0, 5.0, nan, nan, nan, 10.0]], [0.0])
    """
    n, values, gaussian_sum = np.asarray(n), np.asarray(values, dtype=np.float64), np.asarray(gaussian_sum)
    if values.shape != (*gaussian_sum.shape, len(n)):
        raise ValueError(f"{values.shape} values for {gaussian_sum.shape} curves over {len(n)} thread counts")
    parameters = np.full((len(values), len(ELEMENTS)), np.nan)
    rms = np.full(len(values), np.nan)
    if n.tolist() == [1]:
        return parameters, rms
    values = valid_values(values)
    valid = ~np.isnan(values)
    designs = {g: _design_matrix(n, n_nu, n_ht, g) for g in {bool(g) for g in gaussian_sum}}
    for curves, measured, g in _groups_of_alike_curves(valid, gaussian_sum):
        elements = _valid_elements(n[measured], n_nu, n_ht)
        design = designs[g][np.ix_(measured, elements)]
        y = values[np.ix_(curves, measured)]
        fitted = _stable_products(y, _least_squares(design))
        parameters[np.ix_(curves, elements)] = fitted
        rms[curves] = np.sqrt(((y - _stable_products(fitted, design)) ** 2).mean(axis=1))
    return valid_values(parameters), valid_values(rms)


def evaluate_curves(
    params: FloatArray, n: ArrayLike, n_nu: ArrayLike | None, n_ht: ArrayLike | None, gaussian_sum: ArrayLike
) -> FloatArray:
    """Return the curve model p(n) of Eq. 5-7 at any thread counts (formula: see `fit_curves`).

    An invalid parameter counts as 0 if others are valid. The value is NaN where no valid parameter contributes: at all
    n for an invalid curve, and up to the first breakpoint for a curve that was measured only beyond it.

    Parameters: `params` (..., 6) in the order of ELEMENTS, NaN = invalid; `n` (N,) thread counts; `n_nu` and `n_ht`
    thread counts for all curves or, as (...), for each, None or NaN = no such effect (if they are equal, there is no
    NUMA pair); `gaussian_sum` (...).
    Returns: (..., N) in the unit of the curve.
    Errors: ValueError if the shapes disagree.

    >>> evaluate_curves(np.array([2, 5, np.nan, np.nan, np.nan, 10]), [1, 4, 6], None, 4, False).tolist()
    [7.0, 13.0, 27.0]
    """
    params, n, gaussian_sum = np.asarray(params, dtype=np.float64), np.asarray(n), np.asarray(gaussian_sum, dtype=bool)
    if params.shape != (*gaussian_sum.shape, len(ELEMENTS)):
        raise ValueError(f"{params.shape} parameters for {gaussian_sum.shape} curves")
    params = valid_values(np.moveaxis(params, -1, 0))
    valid = ~np.isnan(params)
    params[~valid] = 0.0
    # n is the first axis, because there are far more curves than n and numpy is faster with long inner loops.
    values = np.zeros((len(n), *gaussian_sum.shape))
    takes_part = np.zeros(values.shape, dtype=bool)
    n = n.reshape(-1, *[1] * gaussian_sum.ndim)
    for segment, start in enumerate((0.0, *_breakpoints(n_nu, n_ht))):
        beyond = np.maximum(n - start, 0.0)
        m, b = 2 * segment, 2 * segment + 1
        values += params[m] * np.where(gaussian_sum, beyond * (beyond + 1) / 2, beyond)
        values += params[b] * (beyond > 0)
        takes_part |= (valid[m] | valid[b]) & (beyond > 0)
    values[~takes_part] = np.nan
    return np.moveaxis(values, 0, -1)


def _breakpoints(n_nu: ArrayLike | None, n_ht: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Return n_nu and n_ht as arrays, infinite where there is no such effect."""
    given = (np.asarray(math.nan if start is None else start, dtype=np.float64) for start in (n_nu, n_ht))
    nu, ht = (np.where(np.isnan(start), math.inf, start) for start in given)
    return np.where(nu == ht, math.inf, nu), ht


def _design_matrix(n: IntArray, n_nu: float | None, n_ht: float | None, gaussian_sum: bool) -> FloatArray:
    """Return the factors of the six parameters, (N, 6)."""
    columns = []
    for start in (0.0, *_breakpoints(n_nu, n_ht)):
        beyond = np.maximum(n - start, 0.0)
        columns += [beyond * (beyond + 1) / 2 if gaussian_sum else beyond, np.where(beyond > 0, 1.0, 0.0)]
    return np.stack(columns, axis=-1)


def _valid_elements(n: IntArray, n_nu: float | None, n_ht: float | None) -> Indices:
    """Return the indices of the parameters that the thread counts n determine."""
    starts = (0.0, *(float(start) for start in _breakpoints(n_nu, n_ht)))
    order = np.argsort(starts, kind="stable")
    ends = dict(zip(order.tolist(), [*np.array(starts)[order][1:].tolist(), math.inf], strict=True))
    elements: list[int] = []
    for segment, start in enumerate(starts):
        measured = int(np.count_nonzero((n > start) & (n <= ends[segment])))
        if measured > 1:
            elements.append(2 * segment)
        if measured:
            elements.append(2 * segment + 1)
    return np.array(elements, dtype=np.intp)


def _groups_of_alike_curves(valid: BoolArray, gaussian_sum: BoolArray) -> Iterator[tuple[Indices, Indices, bool]]:
    """Yield the rows, the valid n and g of each group of curves with the same valid n and the same g. Curves without a
    valid n are in no group."""
    patterns: dict[tuple[bytes, bool], list[int]] = {}
    for row in np.flatnonzero(valid.any(axis=1)).tolist():
        patterns.setdefault((valid[row].tobytes(), bool(gaussian_sum[row])), []).append(row)
    for (_, g), rows in patterns.items():
        yield np.array(rows), np.flatnonzero(valid[rows[0]]), g


def _least_squares(design: FloatArray) -> FloatArray:
    """Return the matrix (K, N) that maps measured values to least squares parameters."""
    scale = np.linalg.norm(design, axis=0)
    q, r = np.linalg.qr(design / scale)
    matrix: FloatArray = np.linalg.solve(r, q.T) / scale[:, None]
    return matrix


def _stable_products(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return rows @ matrix.T, summed so that a row's result does not depend on the number of rows, unlike in BLAS."""
    products: FloatArray = np.multiply(rows[:, None, :], matrix[None], order="C").sum(axis=-1)
    return products


@dataclass(frozen=True, eq=False)
class FeatureFit:
    """The fits of P profiles, or of one (without the axis P). NaN = invalid.

    `values` (P, 84) is in the order of FEATURE_NAMES, `rms` (P, 14) is the root mean square residual of each curve, and
    `fit_error` (P,) is the mean over the measured n of |t_fit - t| / t.
    """

    values: FloatArray
    rms: FloatArray
    fit_error: FloatArray


def feature_fit(curves: CurveTable, n_nu: float | None, n_ht: float | None) -> FeatureFit:
    """Return the feature vector of one profile (Eq. 8-9). `feature_fits` has the formulas and the meaning of NaN.

    >>> curves = CurveTable(np.array([1]), np.full((15, 1), np.nan), False, True, 12.0)
    >>> feature_fit(curves, None, None).values.shape
    (84,)
    """
    fits = feature_fits([curves], [n_nu], [n_ht])
    return FeatureFit(fits.values[0], fits.rms[0], fits.fit_error[0])


def feature_fits(
    profiles: Sequence[CurveTable], n_nu: Sequence[float | None], n_ht: Sequence[float | None]
) -> FeatureFit:
    """Return the feature vectors of P profiles (Eq. 8-9), each the same as if it were fitted alone.

    `fit_curves` fits each of the 14 curves over the profile's n. The six parameters of the first curve are elements 0
    to 5, those of the second curve 6 to 11, and so on. The fit error of a profile is the distance of the model from the
    times to which it was fitted:

        mean over n of |t_fit(n) - t(n)| / t(n),    t_fit from the fitted curves by Eq. 3-4

    Example: A time-only profile with t = 12, 6.5, 4 s at n = 1, 2, 4 has R = 1, 13/12, 4/3. The line through them,
    m = 19/168 and b = 7/8, gives t_fit = 11.857, 6.607, 3.982 s. The errors are 1.2, 1.6 and 0.4 %, on average 1.1 %.

    Parameters: P `profiles`, and for each the breakpoints of its platform (None or NaN = no such effect).
    Returns: FeatureFit with the axis P. NaN: elements that the measured n do not determine, all elements of a
    sequential profile, and a fit error if no time can be computed from the curves.
    Errors: ValueError if the lengths differ.

    >>> curves = CurveTable(np.array([1, 2, 4]), np.full((15, 3), np.nan), False, False, 12.0)
    >>> curves.values[:2] = [[12, 6.5, 4], [1, 13 / 12, 4 / 3]]
    >>> fits = feature_fits([curves], [None], [8])
    >>> dict(zip(FEATURE_NAMES[:4], fits.values[0].round(4).tolist())), fits.fit_error.round(4).tolist()
    ({'redundancy.m': 0.1131, 'redundancy.b': 0.875, 'redundancy.m_nu': nan, 'redundancy.b_nu': nan}, [0.011])
    """
    fits = FeatureFit(
        values=np.full((len(profiles), len(FEATURE_NAMES)), np.nan),
        rms=np.full((len(profiles), len(CURVE_NAMES)), np.nan),
        fit_error=np.full(len(profiles), np.nan),
    )
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, (curves, nu, ht) in enumerate(zip(profiles, n_nu, n_ht, strict=True)):
        groups.setdefault((curves.n.tobytes(), str(nu), str(ht), curves.decomposed), []).append(index)
    for rows in groups.values():  # profiles with the same n, breakpoints and kind
        alike = [profiles[row] for row in rows]
        n, nu, ht = alike[0].n, n_nu[rows[0]], n_ht[rows[0]]
        values = np.stack([curves.values for curves in alike])
        params, rms = fit_curves(n, values[:, 1:].reshape(-1, len(n)), nu, ht, np.tile(GAUSSIAN_SUM, len(rows)))
        params = params.reshape(len(rows), len(CURVE_NAMES), len(ELEMENTS))
        fits.values[rows] = params.reshape(len(rows), -1)
        fits.rms[rows] = rms.reshape(len(rows), -1)
        t1_s = np.array([curves.t1_s for curves in alike])
        fits.fit_error[rows] = rebuilding_errors(
            params, n, values[:, 0], t1_s=t1_s, n_nu=nu, n_ht=ht, decomposed=alike[0].decomposed
        )
    return fits


def rebuilding_errors(
    params: FloatArray,
    n: IntArray,
    time_s: FloatArray,
    *,
    t1_s: FloatArray,
    n_nu: float | None,
    n_ht: float | None,
    decomposed: bool,
) -> FloatArray:
    """Return the fit error of each of P profiles, the distance of fitted curves from the measured times (Eq. 3-7).

        mean over n of |t_fit(n) - t(n)| / t(n)

    Example: R(n) = 0.1 n + 0.9 and t(1) = 10 s give t(2) = 5.5 s. If 5 s were measured, the error there is 10 %.

    Parameters: `params` (P, 14, 6), NaN = invalid; `n` (N,) thread counts; `time_s` (P, N) and `t1_s` (P,) in seconds;
    the breakpoints, None or NaN = no such effect.
    Returns: (P,) without unit. NaN if no time can be computed from the curves.

    >>> params = np.full((1, 14, 6), np.nan)
    >>> params[0, 0, :2] = 0.1, 0.9
    >>> rebuilding_errors(params, np.array([1, 2]), np.array([[10.0, 5.0]]), t1_s=np.array([10.0]), n_nu=None,
    ...     n_ht=None, decomposed=False).round(9)
    array([0.05])
    """
    parts = slice(0, len(SCALING_PARTS) if decomposed else 1)
    gaussian_sum = np.broadcast_to(GAUSSIAN_SUM[parts], params[:, parts].shape[:-1])
    fitted = evaluate_curves(params[:, parts], n, n_nu, n_ht, gaussian_sum)
    with np.errstate(over="ignore", invalid="ignore"):
        rebuilt_s = reconstruct(t1_s, fitted[:, 0], fitted[:, 1:] if decomposed else None, n).time_s
        errors = valid_values(np.abs(rebuilt_s - time_s) / time_s)
    rebuilt = ~np.isnan(errors)
    count = rebuilt.sum(axis=1)
    total = np.where(rebuilt, errors, 0.0).sum(axis=1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def stored_features(profile: Any) -> tuple[FloatArray, FloatArray]:
    """Return the 84 elements and the 14 residuals of a stored profile, a row with its `feature_vector`.

    All are invalid if the profile has not been fitted yet, or if the row is broken.
    """
    stored = getattr(profile, "feature_vector", None)
    if stored is None or len(stored.values) != len(FEATURE_NAMES) or len(stored.rms) != len(CURVE_NAMES):
        return np.full(len(FEATURE_NAMES), np.nan), np.full(len(CURVE_NAMES), np.nan)
    return valid_values(stored.values), valid_values(stored.rms)


@dataclass(frozen=True, eq=False)
class MeasuredRuns:
    """The runs of a profile, its counter readings, and the breakpoints of its platform (None = no such effect)."""

    runs: RunTable
    counters: CounterTable | None
    n_nu: float | None
    n_ht: float | None


@dataclass(frozen=True, eq=False)
class DerivedProfiles:
    """The curves of P profiles, the summaries of their repeats, and the fits of the curves."""

    curves: Sequence[CurveTable]
    repeats: Sequence[RepeatSummary]
    fits: FeatureFit


def derive_profiles(measured: Sequence[MeasuredRuns], executor: Executor | None = None) -> DerivedProfiles:
    """Return the curves of each profile (`scaling_curves`), the summary of its repeats and its feature vector.

    Each result is the same as if the profile were derived alone, with any `executor` (default: this process).

    >>> table = RunTable(n=np.array([1, 2]), repeat=np.ones(2, int), is_profile_pass=np.zeros(2, bool),
    ...                  time_s=np.array([4.0, 2.0]))
    >>> derived = derive_profiles([MeasuredRuns(table, None, None, None)])
    >>> derived.curves[0].t1_s, derived.repeats[0].run_count, derived.fits.values.shape
    (4.0, 2, (1, 84))
    """
    if executor is None or not measured:
        return _derive_batch(None, measured)
    parts = list(executor.map(_derive_batch, None, batches_of(measured, executor, DERIVED_PER_BATCH)))
    return DerivedProfiles(
        [curve for part in parts for curve in part.curves],
        [summary for part in parts for summary in part.repeats],
        FeatureFit(
            values=np.concatenate([part.fits.values for part in parts]),
            rms=np.concatenate([part.fits.rms for part in parts]),
            fit_error=np.concatenate([part.fits.fit_error for part in parts]),
        ),
    )


def _derive_batch(nothing: None, batch: Sequence[MeasuredRuns]) -> DerivedProfiles:
    curves = [scaling_curves(measured.runs, measured.counters) for measured in batch]
    fits = feature_fits(curves, [measured.n_nu for measured in batch], [measured.n_ht for measured in batch])
    return DerivedProfiles(curves, [repeat_summary(measured.runs) for measured in batch], fits)
