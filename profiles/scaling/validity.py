"""What stored numbers can be computed with: invalid beyond, whatever a delivery or an older version left in a row."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from profiles.arrays import BoolArray, FloatArray, IntArray

LARGEST_VALUE = 1e30  # of a curve or an element: squares, and products with any thread count, stay finite
SHORTEST_TIME_S, LONGEST_TIME_S = 1e-18, 1e18
LARGEST_N = 2**20  # thread counts
MOST_CURVE_POINTS = 512  # of a curve, drawn or learned from
SLUG = re.compile(r"[-a-zA-Z0-9_]{1,200}")


def valid_values(values: FloatArray) -> FloatArray:
    """The values, NaN for those that are infinite or past LARGEST_VALUE: overflow is invalid, never a number.

    >>> valid_values(np.array([2.0, np.inf, -1e31, np.nan])).tolist()
    [2.0, nan, nan, nan]
    """
    return np.where(np.abs(values) <= LARGEST_VALUE, values, np.nan)


def valid_times(time_s: FloatArray) -> BoolArray:
    """Which times in seconds can be computed with: positive, and no ratio of two overflows; NaN cannot.

    >>> valid_times(np.array([1e-9, 0.0, np.inf, 5e-324, np.nan])).tolist()
    [True, False, False, False, False]
    """
    return np.asarray((time_s >= SHORTEST_TIME_S) & (time_s <= LONGEST_TIME_S))


def valid_scale(values: FloatArray) -> BoolArray:
    """Which sizes, clocks and other positive quantities can be computed with; NaN cannot.

    >>> valid_scale(np.array([5e-324, 3.5, 1.7e308])).tolist()
    [False, True, False]
    """
    return np.asarray((values >= 1 / LARGEST_VALUE) & (values <= LARGEST_VALUE))


def valid_counts(n: FloatArray | IntArray) -> BoolArray:
    """Which are thread counts that can be computed with; NaN is none.

    >>> valid_counts(np.array([1, 0, 2**31 - 1])).tolist()
    [True, False, False]
    """
    return np.asarray((n >= 1) & (n <= LARGEST_N))


def thinned_positions(n: IntArray, most: int = MOST_CURVE_POINTS) -> IntArray:
    """The positions of at most so many of ascending thread counts: all of them, or the first half and then evenly in
    ln n, the last one too. What draws or learns from a curve is bounded by this, not by how often somebody measured.

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
    """By row the first rule that it breaks. `checks`: by reason, the rows (N,) that break it; without any, no entry.

    >>> first_faults({"one": np.array([False, True]), "two": np.array([False, True])})
    {1: 'one'}
    """
    faults: dict[int, str] = {}
    for reason, broken in reversed(checks.items()):
        faults |= dict.fromkeys(np.flatnonzero(broken).tolist(), reason)
    return faults


def slug_faults(slugs: Sequence[str]) -> dict[int, str]:
    """By row why a name cannot stand in an address.

    >>> slug_faults(["a-b", "a/b"])
    {1: "the slug 'a/b' cannot stand in an address"}
    """
    return {
        row: f"the slug {slug!r} cannot stand in an address"
        for row, slug in enumerate(slugs)
        if not SLUG.fullmatch(slug)
    }


def platform_faults(n_nu: FloatArray, n_ht: FloatArray, n_max: FloatArray) -> dict[int, str]:
    """By row of the platforms (P,) why no curve can be computed on it; `n_nu` and `n_ht` NaN = no such effect.

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
    """By row of the profiles (N,) why nothing can be predicted from it.

    Parameters: `t1_s` (N,), NaN = cannot be had; `features` (N, 84), NaN = invalid; `lengths` (N,) of at least 1: how
    many elements of `curve_n` and `curve_time_s` are each profile's, one after the other.

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
    """Which rows have a number past LARGEST_VALUE; NaN is none."""
    extremes = np.fmax.reduce(values, axis=1), np.fmin.reduce(values, axis=1)
    return np.asarray((extremes[0] > LARGEST_VALUE) | (extremes[1] < -LARGEST_VALUE))


def _any_of_each(broken: BoolArray, starts: IntArray) -> BoolArray:
    """For each stretch that begins at one of `starts` whether any of its elements is broken."""
    if not broken.any():
        return np.zeros(len(starts), dtype=np.bool_)
    return np.asarray(np.logical_or.reduceat(broken, starts))
