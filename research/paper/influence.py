"""Influence of the seven scaling parts on the loss: the paper names R (about 50 %), w (35 %) and d (5 %)."""

from __future__ import annotations

import numpy as np

from predictor.core.database import Database
from profiles.arrays import FloatArray, IntArray
from profiles.scaling.features import evaluate_curves
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, FRACTIONS, GAUSSIAN_SUM, SCALING_PARTS
from research.paper.statistics import PaperRow


def part_influence_rows(database: Database, rows: IntArray) -> list[PaperRow]:
    """Return the mean share of each part in the loss of n threads over one, and how often the part is the largest.

    There is one row for each of SCALING_PARTS. `share` and `largest` (the share of the profiles) are in percent, or
    None if no row is decomposed and parallel. See `part_loss_shares`.
    """
    decomposed = np.array([group.decomposed for group in database.groups], dtype=bool)
    shares = [_shares_of(database, row) for row in rows[decomposed[database.group[rows]]].tolist()]
    defined = np.array([share for share in shares if not np.isnan(share).any()]).reshape(-1, len(SCALING_PARTS))
    mean: list[float | None] = [None] * len(SCALING_PARTS)
    largest: list[float | None] = [None] * len(SCALING_PARTS)
    if len(defined):
        mean = (100 * defined.mean(axis=0)).tolist()
        largest = (100 * np.bincount(defined.argmax(axis=1), minlength=len(SCALING_PARTS)) / len(defined)).tolist()
    return [
        {"parameter": part, "share": share, "largest": most, "count": len(defined)}
        for part, share, most in zip(SCALING_PARTS, mean, largest, strict=True)
    ]


def part_loss_shares(redundancy: float, fractions: FloatArray) -> FloatArray:
    """Return the shares of the seven parts in the loss at one n (from Eq. 3-4).

        n t(n) - t(1) = (R - 1) t(1) + sum over f of f n t(n),    n t(n) = t(1) R / U

    The share of a part is the absolute value of its term divided by the sum of the absolute values. So R < 1, where
    threads save work together, also counts by its size.

    Example: R = 1.5, w = 0.25, so U = 0.75 and n t(n) = 2 t(1). R costs 0.5 t(1), and w costs 0.25 * 2 t(1), half each.

    Parameters: `redundancy` R(n); `fractions` (6,) in the order of FRACTIONS. Returns (7,), summing to 1, or NaN if an
    argument is invalid, U is not positive, or there is no loss.

    >>> part_loss_shares(1.5, np.array([0, 0.25, 0, 0, 0, 0])).tolist()
    [0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    """
    utilisation = 1.0 - fractions.sum()
    invalid = np.full(1 + len(FRACTIONS), np.nan)
    if not utilisation > 0:
        return invalid
    terms = np.abs(np.append(redundancy - 1.0, fractions * redundancy / utilisation))
    total = terms.sum()
    return terms / total if total > 0 else invalid


def _shares_of(database: Database, row: int) -> FloatArray:
    """Return the shares at the largest measured n, from the fitted curves with fractions clipped at 0."""
    n, _ = database.curve(row)
    platform = database.platform_index[row]
    params = database.features[row].reshape(len(CURVE_NAMES), len(ELEMENTS))[: len(SCALING_PARTS)]
    breakpoints = float(database.n_nu[platform]), float(database.n_ht[platform])
    values = evaluate_curves(params, n[-1:], *breakpoints, GAUSSIAN_SUM[: len(SCALING_PARTS)])[:, 0]
    if n[-1] == 1:
        return np.full(len(SCALING_PARTS), np.nan)
    return part_loss_shares(float(values[0]), np.maximum(values[1:], 0.0))
