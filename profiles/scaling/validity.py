"""Validity of stored numbers: the limits of values that can be computed with, and checks of rows.

A row may contain any value, from a delivery or from an older version. Values beyond the limits are invalid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from profiles.arrays import BoolArray, FloatArray, IntArray

LARGEST_VALUE = 1e30  # squares of a curve or an element, and products with any thread count, remain finite
SHORTEST_TIME_S, LONGEST_TIME_S = 1e-18, 1e18
LARGEST_N = 2**20
MOST_CURVE_POINTS = 512  # per curve in charts and models
SLUG = re.compile(r"[-a-zA-Z0-9_]{1,200}")


def valid_values(values: FloatArray) -> FloatArray:
    """Return the values, with NaN in place of infinite ones and those beyond LARGEST_VALUE: overflow is invalid.

    >>> valid_values(np.array([2.0, np.inf, -1e31, np.nan])).tolist()
    [2.0, nan, nan, nan]
    """
    return np.where(np.abs(values) <= LARGEST_VALUE, values, np.nan)


def valid_times(time_s: FloatArray) -> BoolArray:
    """Return which times in seconds are valid: positive, and without overflow in the ratio of any two. NaN is invalid.

    >>> valid_times(np.array([1e-9, 0.0, np.inf, 5e-324, np.nan])).tolist()
    [True, False, False, False, False]
    """
    return np.asarray((time_s >= SHORTEST_TIME_S) & (time_s <= LONGEST_TIME_S))


def valid_scale(values: FloatArray) -> BoolArray:
    """Return which sizes, clocks and other positive quantities are valid. NaN is invalid.

    >>> valid_scale(np.array([5e-324, 3.5, 1.7e308])).tolist()
    [False, True, False]
    """
    return np.asarray((values >= 1 / LARGEST_VALUE) & (values <= LARGEST_VALUE))


def valid_counts(n: FloatArray | IntArray) -> BoolArray:
    """Return which values are valid thread counts. NaN is invalid.

    >>> valid_counts(np.array([1, 0, 2**31 - 1])).tolist()
    [True, False, False]
    """
    return np.asarray((n >= 1) & (n <= LARGEST_N))


def thinned_positions(n: IntArray, most: int = MOST_CURVE_POINTS) -> IntArray:
    """Return the positions of at most `most` of the ascending thread counts.

    If there are more, the first half of the positions are the smallest thread counts. The others are evenly spaced in
    ln n and include the last. This bounds the cost of charts and models for any number of measured thread counts.

    >>> thinned_positions(np.array([1, 2, 4])).tolist(), thinned_positions(np.arange(1, 101), 8).tolist()
    ([0, 1, 2], [0, 1, 2, 3, 8, 20, 44, 99])
    """
    if len(n) <= most:
        return np.arange(len(n))
    half = most // 2
    wanted = np.geomspace(n[half - 1], n[-1], most - half + 1)[1:]
    spread = np.minimum(np.searchsorted(n, wanted), len(n) - 1)
    return np.unique(np.concatenate([np.arange(half), spread]))


def first_faults(checks: dict[str, BoolArray]) -> dict[int, str]:
    """Return for each faulty row the first rule that it breaks. `checks` maps each reason to a mask of rows, (N,).

    >>> first_faults({"one": np.array([False, True]), "two": np.array([False, True])})
    {1: 'one'}
    """
    faults: dict[int, str] = {}
    for reason, broken in reversed(checks.items()):
        faults |= dict.fromkeys(np.flatnonzero(broken).tolist(), reason)
    return faults


def slug_faults(slugs: Sequence[str]) -> dict[int, str]:
    """Return for each faulty row why its slug cannot be part of an address.

    >>> slug_faults(["a-b", "a/b"])
    {1: "the slug 'a/b' cannot stand in an address"}
    """
    return {
        row: f"the slug {slug!r} cannot stand in an address"
        for row, slug in enumerate(slugs)
        if not SLUG.fullmatch(slug)
    }


def platform_faults(n_nu: FloatArray, n_ht: FloatArray, n_max: FloatArray) -> dict[int, str]:
    """Return for each faulty row of the platforms (P,) why no curve can be computed on it.

    NaN in `n_nu` or `n_ht` means that there is no such effect.

    >>> none = np.full(2, np.nan)
    >>> platform_faults(none, none, np.array([8, 2.0**31]))
    {1: 'n_max of the machine is not from 1 to 1048576'}
    """
    return first_faults(
        {
            f"{name} of the machine is not from 1 to {LARGEST_N}": ~valid
            for name, valid in (
                ("n_max", valid_counts(n_max)),
                ("n_nu", valid_counts(n_nu) | np.isnan(n_nu)),
                ("n_ht", valid_counts(n_ht) | np.isnan(n_ht)),
            )
        }
    )


def profile_faults(
    t1_s: FloatArray, features: FloatArray, lengths: IntArray, curve_n: IntArray, curve_time_s: FloatArray
) -> dict[int, str]:
    """Return for each faulty row of the profiles (N,) why nothing can be predicted from it.

    Parameters: `t1_s` (N,), NaN = unknown; `features` (N, 84), NaN = invalid; `lengths` (N,) of at least 1, the number
    of elements in `curve_n` and `curve_time_s` that belong to each profile, in the order of the profiles.

    >>> features, lengths = np.full((2, 84), np.nan), np.array([2, 1])
    >>> profile_faults(np.ones(2), features, lengths, np.array([1, 2, 1]), np.array([1.0, np.inf, 1.0]))
    {0: 'a time of its curve is not from 1e-18 to 1e+18 s'}
    """
    starts = np.cumsum(lengths) - lengths
    falls = np.append(False, curve_n[1:] <= curve_n[:-1])
    falls[starts] = False
    return first_faults(
        {
            f"t(1) is not from {SHORTEST_TIME_S:g} to {LONGEST_TIME_S:g} s": ~(valid_times(t1_s) | np.isnan(t1_s)),
            f"an element of its features is not within {LARGEST_VALUE:g}": _rows_beyond(features),
            f"a thread count of its curve is not from 1 to {LARGEST_N}": _any_of_each(~valid_counts(curve_n), starts),
            "the thread counts of its curve do not rise": _any_of_each(falls, starts),
            f"a time of its curve is not from {SHORTEST_TIME_S:g} to {LONGEST_TIME_S:g} s": _any_of_each(
                ~valid_times(curve_time_s), starts
            ),
        }
    )


def _rows_beyond(values: FloatArray) -> BoolArray:
    """Return which rows have a number beyond LARGEST_VALUE, which NaN is not."""
    extremes = np.fmax.reduce(values, axis=1), np.fmin.reduce(values, axis=1)
    return np.asarray((extremes[0] > LARGEST_VALUE) | (extremes[1] < -LARGEST_VALUE))


def _any_of_each(broken: BoolArray, starts: IntArray) -> BoolArray:
    """Return for each slice that begins at one of `starts` whether any of its elements is broken."""
    if not broken.any():
        return np.zeros(len(starts), dtype=np.bool_)
    return np.asarray(np.logical_or.reduceat(broken, starts))
