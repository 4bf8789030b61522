"""From runs to curves, Table 1 of the paper, and from curves back to times, Eq. 3-4. Stored curves are read back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiles.arrays import FloatArray, IntArray
from profiles.measurements import CounterTable, RunTable
from profiles.scaling.names import COUNTER_SYNONYMS, CURVE_NAMES, FEATURE_NAMES, FRACTIONS, RELATIVE_MEASURES
from profiles.scaling.validity import profile_faults, thinned_positions, valid_values

USABLE_STATUSES = ("ok", "multiplexed")
NEEDED_COUNTERS = frozenset(counter for ratio in RELATIVE_MEASURES.values() for counter in ratio)
STORED_CURVES = 1 + len(CURVE_NAMES)  # of CurveTable.values, and of a row
FRACTION_ROWS = slice(2, 2 + len(FRACTIONS))  # of CurveTable.values: after time_s and redundancy
LEAST_REDUNDANCY = 1e-9
LEAST_UTILISATION = 0.01


@dataclass(frozen=True, eq=False)
class CurveTable:
    """The measured curves of one profile over its N thread counts.

    `n` (N,) is ascending. `values` (15, N) has time_s in seconds, then the 14 curves of CURVE_NAMES, which have no
    unit; NaN = invalid at that n. `t1_s` is t(1) in seconds, or t(n_min) * n_min where `t1_is_stand_in`.
    `decomposed`: a profile pass split the thread time; else the profile is time-only. `sequential`: n = 1 alone.
    """

    n: IntArray
    values: FloatArray
    decomposed: bool
    sequential: bool
    t1_s: float
    t1_is_stand_in: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def time_s(self) -> FloatArray:
        """t(n) in seconds, (N,)."""
        return self._row(0)

    @property
    def redundancy(self) -> FloatArray:
        """R(n), (N,)."""
        return self._row(1)

    @property
    def fractions(self) -> FloatArray | None:
        """The six fractions of the thread time (6, N) in the order of FRACTIONS; None for a time-only profile."""
        return self.values[FRACTION_ROWS] if self.decomposed else None

    @property
    def utilisation(self) -> FloatArray:
        """U(n), (N,): POP's parallel efficiency. 1 for a time-only profile."""
        return utilisation(self.fractions, self.redundancy.shape)

    def curve(self, name: str) -> FloatArray:
        """One of the 14 curves of CURVE_NAMES, (N,). KeyError for another name."""
        if name not in CURVE_NAMES:
            raise KeyError(name)
        return self._row(1 + CURVE_NAMES.index(name))

    @property
    def thinned(self) -> CurveTable:
        """The same curves at no more thread counts than a drawing or a model takes."""
        positions = thinned_positions(self.n)
        return (
            self
            if len(positions) == len(self.n)
            else replace(self, n=self.n[positions], values=self.values[:, positions])
        )

    def _row(self, index: int) -> FloatArray:
        row: FloatArray = self.values[index]
        return row


def scaling_curves(runs: RunTable, counters: CounterTable | None = None) -> CurveTable:
    """The curves of one profile from its runs and counter readings (Table 1, Eq. 3-4).

    t(n) is the median of the clean runs at n, of the profile runs where there is no clean run. A fraction is the sum
    of the part over the profile runs at n, over the sum of their n * time_ns:

        U(n) = 1 - (l + w + c + d + s + j)        R(n) = n t(n) U(n) / t(1)

    so that Eq. 3 gives t(n) back exactly and R(1) = U(1). A time-only profile has U = 1 and invalid fractions.

    Example: t(1) = 12 s and t(4) = 4 s, time-only: R(4) = 4 * 4 / 12 = 4/3, a third more work than one thread had.

    Invalid (NaN): the fractions at an n without profile run, and with them R at that n in a decomposed profile; a
    relative measure at an n where a counter is missing or the denominator is 0; whatever overflows.

    Parameters: `runs` of M >= 1 executions in any order (variations of size or clock take no part), `counters` in any
    order (None = none).
    Returns: CurveTable; its `warnings` say what was replaced by something else.
    Errors: ValueError for no run at all, and for a profile pass whose parts or nanoseconds are missing.

    >>> runs = RunTable(n=np.array([1, 4, 4]), repeat=np.array([1, 1, 2]), is_profile_pass=np.zeros(3, bool),
    ...                 time_s=np.array([12.0, 3.9, 4.1]))
    >>> curves = scaling_curves(runs)
    >>> curves.time_s.tolist(), curves.redundancy.round(3).tolist(), curves.decomposed
    ([12.0, 4.0], [1.0, 1.333], False)
    """
    runs = runs.own
    if not len(runs):
        raise ValueError("a profile needs at least one run")
    n, time_s, warnings = _times(runs)
    fractions = _fractions(runs, n)
    if fractions is not None and np.isnan(fractions[0]).any():
        warnings.append(f"no profile run at n = {_listed(n[np.isnan(fractions[0])])}: no parts and no redundancy there")
    starts_late = n[0] > 1
    t1_s = float(time_s[0]) * int(n[0])  # t(1) itself where n[0] is 1
    if starts_late:
        warnings.append(f"no run at n = 1: t({n[0]}) * {n[0]} stands in for t(1)")

    values = np.full((1 + len(CURVE_NAMES), len(n)), np.nan)
    values[0] = time_s
    with np.errstate(over="ignore", invalid="ignore"):
        values[1] = utilisation(fractions, n.shape) * (n * time_s / t1_s)
    if fractions is not None:
        values[FRACTION_ROWS] = fractions
    if counters is not None and len(counters):
        values[FRACTION_ROWS.stop :] = _relative_measures(counters, n)
    values[1:] = valid_values(values[1:])
    return CurveTable(
        n=n,
        values=values,
        decomposed=fractions is not None,
        sequential=len(n) == 1 and not starts_late,
        t1_s=t1_s,
        t1_is_stand_in=bool(starts_late),
        warnings=tuple(warnings),
    )


def _times(runs: RunTable) -> tuple[IntArray, FloatArray, list[str]]:
    """The thread counts, t(n) and warnings."""
    if not runs.is_profile_pass.any():
        return *_medians(runs.n, runs.time_s), []
    clean = ~runs.is_profile_pass
    without_clean = ~np.isin(runs.n, runs.n[clean])
    chosen = clean | without_clean
    warnings = []
    if without_clean.any():
        warnings.append(f"no clean run at n = {_listed(np.unique(runs.n[without_clean]))}: t(n) is of the profile runs")
    return *_medians(runs.n[chosen], runs.time_s[chosen]), warnings


def _medians(keys: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """The distinct keys, ascending, and the median of the values of each."""
    order = np.lexsort((values, keys))
    keys, values = keys[order].astype(np.int64, copy=False), values[order]
    starts = _starts(keys)
    counts = np.diff(np.append(starts, len(keys)))
    with np.errstate(over="ignore"):
        return keys[starts], (values[starts + (counts - 1) // 2] + values[starts + counts // 2]) / 2


def _starts(ascending: IntArray) -> NDArray[np.intp]:
    """Where each group of equal keys begins."""
    return np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))


def _fractions(runs: RunTable, n: IntArray) -> FloatArray | None:
    """The six fractions (6, N) of the profile runs, NaN at an n that has none; None without profile pass."""
    if not runs.is_profile_pass.any():
        return None
    if runs.parts_ns is None or runs.time_ns is None:
        raise ValueError("a profile pass needs its parts and its time in nanoseconds")
    rows = np.flatnonzero(runs.is_profile_pass)
    rows = rows[np.argsort(runs.n[rows], kind="stable")]
    threads, time_ns, parts_ns = runs.n[rows], runs.time_ns[rows], runs.parts_ns[rows, 1:]
    starts = _starts(threads)
    # Many threads for many hours pass 2**63 nanoseconds; Python's integers do not overflow.
    fits = int(threads.max()) * int(time_ns.max()) * len(rows) < 2**63
    dtype = np.int64 if fits else object
    total = np.add.reduceat(threads.astype(dtype) * time_ns.astype(dtype), starts)
    parts = np.add.reduceat(parts_ns.astype(dtype), starts, axis=0)
    fractions = np.full((len(FRACTIONS), len(n)), np.nan)
    fractions[:, np.searchsorted(n, threads[starts])] = (parts / total[:, None]).astype(np.float64).T
    return fractions


def _relative_measures(counters: CounterTable, n: IntArray) -> FloatArray:
    """The seven relative measures (7, N): ratios of the counters' medians at n."""
    medians = _counter_medians(counters, n)
    invalid = np.full(len(n), np.nan)
    rows = []
    for numerator, denominator in RELATIVE_MEASURES.values():
        below = medians.get(denominator, invalid)
        above = medians.get(numerator, invalid)
        with np.errstate(over="ignore", invalid="ignore"):
            rows.append(np.divide(above, below, out=invalid.copy(), where=below != 0))
    return np.array(rows)


def _counter_medians(counters: CounterTable, n: IntArray) -> dict[str, FloatArray]:
    """By counter its median over the repeats at each n (N,), NaN where it has no usable reading."""
    names = [COUNTER_SYNONYMS.get(given, given) for given in counters.counter]
    rows = {name: row for row, name in enumerate(name for name in dict.fromkeys(names) if name in NEEDED_COUNTERS)}
    row = np.array([rows.get(name, -1) for name in names])
    usable = np.array([status in USABLE_STATUSES for status in counters.status])
    column = np.minimum(np.searchsorted(n, counters.n), len(n) - 1)
    chosen = (row >= 0) & usable & np.isfinite(counters.value) & (n[column] == counters.n)
    if not chosen.any():
        return {}
    medians = np.full((len(rows), len(n)), np.nan)
    cells, values = _medians(row[chosen] * len(n) + column[chosen], counters.value[chosen])
    medians.flat[cells] = values
    return dict(zip(rows, medians, strict=True))


def _listed(n: IntArray) -> str:
    return ", ".join(map(str, n.tolist()))


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Times rebuilt from curves: `time_s` and `utilisation` (..., N), NaN = invalid; `clamps` names each clamp."""

    time_s: FloatArray
    utilisation: FloatArray
    clamps: tuple[str, ...]


def utilisation(fractions: FloatArray | None, shape: tuple[int, ...]) -> FloatArray:
    """U(n) = 1 - (l + w + c + d + s + j) of fractions (..., 6, N); ones of `shape` where None (time-only). (Eq. 4)

    >>> utilisation(np.array([[0.0], [0.25], [0.0], [0.125], [0.0], [0.0]]), (1,)).tolist()
    [0.625]
    """
    if fractions is None:
        return np.ones(shape)
    return np.asarray(1.0 - fractions.sum(axis=-2), dtype=np.float64)


def reconstruct(t1_s: ArrayLike, redundancy: FloatArray, fractions: FloatArray | None, n: ArrayLike) -> Reconstruction:
    """The times that curves stand for (Eq. 3-4), kept possible.

        t(n) = t(1) R(n) / (n U(n))        U(n) = 1 - (l + w + c + d + s + j)

    First every fraction is kept in [0, 1], R at or above 1e-9 and U at or above 0.01; `clamps` names each kind that
    happened, once. Example: t(1) = 12 s, R(4) = 1.2, w(4) = 0.25: t(4) = 12 * 1.2 / (4 * 0.75) = 4.8 s.

    Parameters: `t1_s` (...) in seconds; `redundancy` (..., N); `fractions` (..., 6, N) in the order of FRACTIONS, or
    None for time-only curves (U = 1); `n` (N,) thread counts.
    Returns: Reconstruction, (..., N). NaN: any curve that takes part is invalid at that n, or t(1) is.
    Errors: ValueError where the shapes do not broadcast.

    >>> rebuilt = reconstruct(12.0, np.array([1.2]), np.array([[0], [0.25], [0], [0], [0], [-0.1]]), [4])
    >>> rebuilt.time_s.round(9).tolist(), rebuilt.clamps
    ([4.8], ('task_join below 0',))
    """
    clamps = []
    if fractions is not None:
        for row, name in enumerate(FRACTIONS):
            if (fractions[..., row, :] < 0).any():
                clamps.append(f"{name} below 0")
            if (fractions[..., row, :] > 1).any():
                clamps.append(f"{name} above 1")
        fractions = np.clip(fractions, 0.0, 1.0)
    if (redundancy < LEAST_REDUNDANCY).any():
        clamps.append(f"redundancy below {LEAST_REDUNDANCY:g}")
    used = utilisation(fractions, np.shape(redundancy))
    if (used < LEAST_UTILISATION).any():
        clamps.append(f"utilisation below {LEAST_UTILISATION:g}")
    used = np.maximum(used, LEAST_UTILISATION)
    scaled = np.asarray(t1_s, dtype=np.float64)[..., None] * np.maximum(redundancy, LEAST_REDUNDANCY)
    return Reconstruction(time_s=scaled / (np.asarray(n) * used), utilisation=used, clamps=tuple(clamps))


def stored_curves(profile: Any) -> CurveTable | None:
    """The curves of a stored profile, a row with its `curves`, checked again, because rows outlive the code that wrote
    them. None before they were derived, and where they cannot be computed with."""
    stored = getattr(profile, "curves", None)
    if stored is None or not len(stored.n) or len(stored.values) != STORED_CURVES * len(stored.n):
        return None
    n = stored.n.astype(np.int64)
    values = stored.values.reshape(STORED_CURVES, len(n))
    t1_s = np.nan if profile.t1_s is None else profile.t1_s
    nothing = np.full((1, len(FEATURE_NAMES)), np.nan)
    if profile_faults(np.array([t1_s]), nothing, np.array([len(n)]), n, values[0]):
        return None
    return CurveTable(
        n=n,
        values=np.vstack([values[:1], valid_values(values[1:])]),
        decomposed=profile.decomposed,
        sequential=n.tolist() == [1],
        t1_s=t1_s,
        t1_is_stand_in=profile.t1_is_stand_in,
    )
