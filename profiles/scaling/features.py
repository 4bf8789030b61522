"""The feature vector of a profile: 14 curves times six elements, Eq. 8-9."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profiles.arrays import FloatArray, IntArray
from profiles.scaling.curves import evaluate_curves, fit_curves
from profiles.scaling.names import (
    CURVE_NAMES,
    ELEMENTS,
    FEATURE_NAMES,
    FRACTIONS,
    GAUSSIAN_SUM,
    METHOD_VERSION,
    RELATIVE_MEASURES,
    SCALING_PARTS,
)
from profiles.scaling.runs import CurveTable
from profiles.scaling.times import reconstruct
from profiles.scaling.validity import valid_values

__all__ = [
    "CURVE_NAMES",
    "ELEMENTS",
    "FEATURE_NAMES",
    "FRACTIONS",
    "GAUSSIAN_SUM",
    "METHOD_VERSION",
    "RELATIVE_MEASURES",
    "SCALING_PARTS",
    "FeatureFit",
    "FeatureFits",
    "feature_fit",
    "feature_fits",
    "rebuilding_errors",
]


@dataclass(frozen=True, eq=False)
class FeatureFit:
    """The fit of one profile: `values` (84,) in the order of FEATURE_NAMES, `rms` (14,), `fit_error`. NaN = invalid.

    `rms` is each curve's root mean square residual; `fit_error` the mean over the measured n of |t_fit - t| / t.
    """

    values: FloatArray
    rms: FloatArray
    fit_error: float


@dataclass(frozen=True, eq=False)
class FeatureFits:
    """The fits of P profiles: `values` (P, 84), `rms` (P, 14), `fit_error` (P,). NaN = invalid."""

    values: FloatArray
    rms: FloatArray
    fit_error: FloatArray

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, profile: int) -> FeatureFit:
        return FeatureFit(self.values[profile], self.rms[profile], float(self.fit_error[profile]))


def feature_fit(curves: CurveTable, n_nu: float | None, n_ht: float | None) -> FeatureFit:
    """The feature vector of one profile (Eq. 8-9); formulas and what NaN means: see `feature_fits`.

    >>> curves = CurveTable(np.array([1]), np.full((15, 1), np.nan), False, True, 12.0)
    >>> feature_fit(curves, None, None).values.shape, feature_fit(curves, None, None).fit_error
    ((84,), nan)
    """
    return feature_fits([curves], [n_nu], [n_ht])[0]


def feature_fits(
    profiles: Sequence[CurveTable], n_nu: Sequence[float | None], n_ht: Sequence[float | None]
) -> FeatureFits:
    """The feature vectors of P profiles (Eq. 8-9), each the same as when fitted alone.

    Every one of the 14 curves is fitted over the profile's n by `fit_curves`; the six parameters of the first are
    elements 0 to 5, and so on. The fit error of a profile is how far the model is from the times it was fitted to:

        mean over n of |t_fit(n) - t(n)| / t(n),    t_fit from the fitted curves by Eq. 3-4

    Example: a time-only profile with t = 12, 6.5, 4 s at n = 1, 2, 4 has R = 1, 13/12, 4/3. The line through them,
    m = 19/168 and b = 7/8, gives t_fit = 11.857, 6.607, 3.982 s: off by 1.2, 1.6 and 0.4 %, on average 1.1 %.

    Parameters: P `profiles`, and for each the breakpoints of its platform (None or NaN = no such effect).
    Returns: FeatureFits. NaN: elements the measured n do not determine, all of a sequential profile, and a fit error
    where no measured n can be rebuilt. Errors: ValueError where the lengths differ.

    >>> curves = CurveTable(np.array([1, 2, 4]), np.full((15, 3), np.nan), False, False, 12.0)
    >>> curves.values[:2] = [[12, 6.5, 4], [1, 13 / 12, 4 / 3]]
    >>> fits = feature_fits([curves], [None], [8])
    >>> dict(zip(FEATURE_NAMES[:4], fits.values[0].round(4).tolist())), round(fits[0].fit_error, 4)
    ({'redundancy.m': 0.1131, 'redundancy.b': 0.875, 'redundancy.m_nu': nan, 'redundancy.b_nu': nan}, 0.011)
    """
    fits = FeatureFits(
        values=np.full((len(profiles), len(FEATURE_NAMES)), np.nan),
        rms=np.full((len(profiles), len(CURVE_NAMES)), np.nan),
        fit_error=np.full(len(profiles), np.nan),
    )
    alike: dict[tuple[object, ...], list[int]] = {}
    for index, (curves, nu, ht) in enumerate(zip(profiles, n_nu, n_ht, strict=True)):
        alike.setdefault((curves.n.tobytes(), str(nu), str(ht), curves.decomposed), []).append(index)
    for rows in alike.values():
        _fit_alike(fits, [profiles[row] for row in rows], rows, n_nu[rows[0]], n_ht[rows[0]])
    return fits


def _fit_alike(
    fits: FeatureFits, profiles: list[CurveTable], rows: list[int], n_nu: float | None, n_ht: float | None
) -> None:
    """Fit profiles that share n, breakpoints and kind, into their rows."""
    n, decomposed = profiles[0].n, profiles[0].decomposed
    values = np.stack([profile.values for profile in profiles])
    curves = values[:, 1:].reshape(-1, len(n))
    params, rms = fit_curves(n, curves, n_nu, n_ht, np.tile(GAUSSIAN_SUM, len(rows)))
    params = params.reshape(len(rows), len(CURVE_NAMES), len(ELEMENTS))
    fits.values[rows] = params.reshape(len(rows), -1)
    fits.rms[rows] = rms.reshape(len(rows), -1)

    t1_s = np.array([profile.t1_s for profile in profiles])
    fits.fit_error[rows] = rebuilding_errors(
        params, n, values[:, 0], t1_s=t1_s, n_nu=n_nu, n_ht=n_ht, decomposed=decomposed
    )


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
    """How far fitted curves are from the times they were fitted to (Eq. 3-7), the fit error of each of P profiles.

        mean over n of |t_fit(n) - t(n)| / t(n)

    Example: R(n) = 0.1 n + 0.9 and t(1) = 10 s give t(2) = 5.5 s; where 5 s were measured that is 10 % off.

    Parameters: `params` (P, 14, 6), NaN = invalid; `n` (N,) thread counts; `time_s` (P, N) and `t1_s` (P,) in seconds;
    the breakpoints, None or NaN = no such effect. Returns (P,) without unit; NaN where no time can be rebuilt.

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
