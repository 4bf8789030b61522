"""The curve model: a straight line (or Gaussian sum) with a bend for NUMA and one for SMT threads, Eq. 5-7."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.validity import valid_values

Indices = NDArray[np.intp]
PARAMETERS_PER_CURVE = 6  # m, b, m_nu, b_nu, m_ht, b_ht


def fit_curves(
    n: IntArray, values: FloatArray, n_nu: float | None, n_ht: float | None, gaussian_sum: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Least squares of C curves over the same thread counts (Eq. 5-7), in closed form.

        p(n) = m g(n) + b + [n > n_nu] (m_nu g(n - n_nu) + b_nu) + [n > n_ht] (m_ht g(n - n_ht) + b_ht)

    with g(n) = n, or n (n + 1) / 2 where `gaussian_sum`. The breakpoints cut the thread counts into segments; the
    pair of a segment (m and b below the first breakpoint, then m_nu and b_nu, m_ht and b_ht) is valid as far as its
    own segment was measured: at two n or more both, at one n b alone, at none neither. A curve that is NaN at some n
    is fitted on its other n, by the same rules.

    Example: 5 + 2 n up to n_ht = 4, and 10 more at n = 6 alone: m = 2, b = 5, b_ht = 10; m_ht is invalid.

    Curves that share their valid n and g share one design matrix; it is factorised once (QR, columns scaled). A
    curve's parameters do not depend on which others are fitted with it, to the last bit.

    Parameters: `n` (N,) distinct thread counts; `values` (C, N), NaN = not measured; `n_nu`, `n_ht` thread counts,
    None or NaN = no such effect (equal ones: no NUMA pair); `gaussian_sum` (C,).
    Returns: parameters (C, 6) in the order of ELEMENTS and root mean square residuals (C,) over the valid n, in the
    unit of the values. NaN = invalid, and so is whatever is beyond `validity.LARGEST_VALUE`. n = [1], a sequential
    profile, has no scaling: all NaN.
    Errors: ValueError where the shapes disagree.

    >>> n = np.array([1, 2, 3, 4, 6])
    >>> parameters, rms = fit_curves(n, 5.0 + 2 * n[None] + 10 * (n > 4), None, 4, np.array([False]))
    >>> parameters.round(9).tolist(), rms.round(9).tolist()
    ([[2.0, 5.0, nan, nan, nan, 10.0]], [0.0])
    """
    n, values, gaussian_sum = np.asarray(n), np.asarray(values, dtype=np.float64), np.asarray(gaussian_sum)
    if values.shape != (*gaussian_sum.shape, len(n)):
        raise ValueError(f"{values.shape} values for {gaussian_sum.shape} curves over {len(n)} thread counts")
    parameters = np.full((len(values), PARAMETERS_PER_CURVE), np.nan)
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
    """The curve model p(n) of Eq. 5-7 at any thread counts (formula: see `fit_curves`).

    An invalid parameter counts as 0 beside valid ones. The value is NaN where no valid parameter takes part: at all
    n for an invalid curve, and up to the first breakpoint for one that was measured only beyond it.

    Parameters: `params` (..., 6) in the order of ELEMENTS, NaN = invalid; `n` (N,) thread counts; `n_nu`, `n_ht`
    thread counts of all curves or, as (...), of each, None or NaN = no such effect (equal ones: no NUMA pair);
    `gaussian_sum` (...).
    Returns: (..., N) in the unit of the curve. Errors: ValueError where the shapes disagree.

    >>> evaluate_curves(np.array([2, 5, np.nan, np.nan, np.nan, 10]), [1, 4, 6], None, 4, False).tolist()
    [7.0, 13.0, 27.0]
    """
    params, n, gaussian_sum = np.asarray(params, dtype=np.float64), np.asarray(n), np.asarray(gaussian_sum, dtype=bool)
    if params.shape != (*gaussian_sum.shape, PARAMETERS_PER_CURVE):
        raise ValueError(f"{params.shape} parameters for {gaussian_sum.shape} curves")
    params = valid_values(np.moveaxis(params, -1, 0))
    valid = ~np.isnan(params)
    params[~valid] = 0.0
    values = np.zeros((len(n), *gaussian_sum.shape))  # n first: there are far more curves, and numpy's loops are long
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
    """n_nu and n_ht as arrays, infinite where there is no such effect."""
    given = (np.asarray(math.nan if start is None else start, dtype=np.float64) for start in (n_nu, n_ht))
    nu, ht = (np.where(np.isnan(start), math.inf, start) for start in given)
    return np.where(nu == ht, math.inf, nu), ht


def _design_matrix(n: IntArray, n_nu: float | None, n_ht: float | None, gaussian_sum: bool) -> FloatArray:
    """The factors of the six parameters (N, 6)."""
    columns = []
    for start in (0.0, *_breakpoints(n_nu, n_ht)):
        beyond = np.maximum(n - start, 0.0)
        columns += [beyond * (beyond + 1) / 2 if gaussian_sum else beyond, np.where(beyond > 0, 1.0, 0.0)]
    return np.stack(columns, axis=-1)


def _valid_elements(n: IntArray, n_nu: float | None, n_ht: float | None) -> Indices:
    """Which of the six parameters the thread counts n determine."""
    starts = (0.0, *(float(start) for start in _breakpoints(n_nu, n_ht)))
    order = np.argsort(starts, kind="stable")
    ends = dict(zip(order.tolist(), [*np.array(starts)[order][1:].tolist(), math.inf], strict=True))
    elements: list[int] = []
    for segment, start in enumerate(starts):
        measured = int(np.count_nonzero((n > start) & (n <= ends[segment])))
        elements += [2 * segment] * (measured > 1) + [2 * segment + 1] * (measured > 0)
    return np.array(elements, dtype=np.intp)


def _groups_of_alike_curves(valid: BoolArray, gaussian_sum: BoolArray) -> Iterator[tuple[Indices, Indices, bool]]:
    """Groups of curves with the same valid n and the same g: their rows, which n, which g. Invalid curves left out."""
    patterns: dict[tuple[bytes, bool], list[int]] = {}
    for row in np.flatnonzero(valid.any(axis=1)).tolist():
        patterns.setdefault((valid[row].tobytes(), bool(gaussian_sum[row])), []).append(row)
    for (_, g), rows in patterns.items():
        yield np.array(rows), np.flatnonzero(valid[rows[0]]), g


def _least_squares(design: FloatArray) -> FloatArray:
    """The matrix (K, N) that takes measured values to least-squares parameters."""
    scale = np.linalg.norm(design, axis=0)
    q, r = np.linalg.qr(design / scale)
    matrix: FloatArray = np.linalg.solve(r, q.T) / scale[:, None]
    return matrix


def _stable_products(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """rows @ matrix.T, summed so that a row's result does not depend on how many rows there are (BLAS does)."""
    products: FloatArray = np.multiply(rows[:, None, :], matrix[None], order="C").sum(axis=-1)
    return products
