"""Curves from runs (Table 1 of the paper), times from curves (Eq. 3-4), and curves from stored profiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.measurements import CounterTable, RunTable
from profiles.scaling.names import COUNTER_SYNONYMS, CURVE_NAMES, FEATURE_NAMES, FRACTIONS, RELATIVE_MEASURES
from profiles.scaling.validity import profile_faults, thinned_positions, valid_values

USABLE_STATUSES = ("ok", "multiplexed")
NEEDED_COUNTERS = frozenset(counter for ratio in RELATIVE_MEASURES.values() for counter in ratio)
STORED_CURVES = 1 + len(CURVE_NAMES)  # rows of CurveTable.values, also in the database
FRACTION_ROWS = slice(2, 2 + len(FRACTIONS))  # in CurveTable.values, after time_s and redundancy
LEAST_REDUNDANCY = 1e-9
LEAST_UTILISATION = 0.01


@dataclass(frozen=True, eq=False)
class CurveTable:
    """The measured curves of one profile over its N thread counts.

    `n` (N,) is ascending. `values` (15, N) has time_s in seconds, then the 14 curves of CURVE_NAMES, which have no
    unit; NaN = invalid at that n. `t1_s` is t(1) in seconds, or t(n_min) * n_min if `t1_is_stand_in`. `decomposed`
    means that a profile pass split the thread time; otherwise the profile is time-only. `sequential` means that n = 1
    is the only thread count.
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
        """Return t(n) in seconds, (N,)."""
        return self._row(0)

    @property
    def redundancy(self) -> FloatArray:
        """Return R(n), (N,)."""
        return self._row(1)

    @property
    def fractions(self) -> FloatArray | None:
        """Return the six fractions of the thread time, (6, N), in the order of FRACTIONS, or None if time-only."""
        return self.values[FRACTION_ROWS] if self.decomposed else None

    @property
    def utilisation(self) -> FloatArray:
        """Return U(n), (N,), POP's parallel efficiency. It is 1 for a time-only profile."""
        return utilisation(self.fractions, self.redundancy.shape)

    def curve(self, name: str) -> FloatArray:
        """Return one of the 14 curves of CURVE_NAMES, (N,). Raise KeyError for another name."""
        if name not in CURVE_NAMES:
            raise KeyError(name)
        return self._row(1 + CURVE_NAMES.index(name))

    @property
    def thinned(self) -> CurveTable:
        """Return the same curves, with at most as many thread counts as charts and models use."""
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
    """Return the curves of one profile from its runs and counter readings (Table 1, Eq. 3-4).

    t(n) is the median of the clean runs at n, or of the profile runs if there is no clean run. A fraction is the sum of
    the part over the profile runs at n, divided by the sum of their n * time_ns:

        U(n) = 1 - (l + w + c + d + s + j)        R(n) = n t(n) U(n) / t(1)

    With these definitions, Eq. 3 reproduces t(n) exactly, and R(1) = U(1). A time-only profile has U = 1 and invalid
    fractions.

    Example: t(1) = 12 s and t(4) = 4 s, time-only, give R(4) = 4 * 4 / 12 = 4/3, a third more work than with one
    thread.

    Invalid (NaN): the fractions at an n without a profile run, and R at that n in a decomposed profile; a relative
    measure at an n where a counter is missing or the denominator is 0; values that overflow.

    Parameters: `runs` of M >= 1 executions in any order (variations of size or clock are ignored); `counters` in any
    order, None = none.
    Returns: CurveTable. Its `warnings` list the values that replace missing ones.
    Errors: ValueError without any run, and for a profile pass without parts or without nanoseconds.

    >>> runs = RunTable(n=np.array([1, 4, 4]), repeat=np.array([1, 1, 2]), is_profile_pass=np.zeros(3, bool),
    ...                 time_s=np.array([12.0, 3.9, 4.1]))
    >>> curves = scaling_curves(runs)
    >>> curves.time_s.tolist(), curves.redundancy.round(3).tolist(), curves.decomposed
    ([12.0, 4.0], [1.0, 1.333], False)
    """
    runs = runs.own
    if not len(runs):
        raise ValueError("a profile needs at least one run")
    chosen = _gives_time(runs)
    n, time_s = _medians(runs.n[chosen], runs.time_s[chosen])
    fractions, warnings = _fractions(runs, n), []
    without_clean = chosen & runs.is_profile_pass
    if without_clean.any():
        n_without = np.unique(runs.n[without_clean])
        warnings.append(f"no clean run at n = {_listed(n_without)}: t(n) is of the profile runs")
    if fractions is not None and np.isnan(fractions[0]).any():
        warnings.append(f"no profile run at n = {_listed(n[np.isnan(fractions[0])])}: no parts and no redundancy there")
    starts_late = n[0] > 1
    t1_s = float(time_s[0]) * int(n[0])  # equals t(1) if n[0] is 1
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


def timed_runs(runs: RunTable) -> RunTable:
    """Return the runs from which t(n) is computed, ascending in n, then time.

    >>> runs = RunTable(np.array([2, 1, 1]), np.array([1, 1, 2]), np.array([True, False, True]), np.array([5.0, 8, 9]))
    >>> timed_runs(runs).time_s.tolist()
    [8.0, 5.0]
    """
    own_runs = runs.own
    rows = np.flatnonzero(_gives_time(own_runs))
    return own_runs.take(rows[np.lexsort((own_runs.time_s[rows], own_runs.n[rows]))])


def _gives_time(runs: RunTable) -> BoolArray:
    """Return which runs give t(n): the clean runs, and the profile runs at an n without clean runs."""
    clean = ~runs.is_profile_pass
    return clean if clean.all() else np.asarray(clean | ~np.isin(runs.n, runs.n[clean]))


def _medians(keys: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the distinct keys, ascending, and the median of the values of each."""
    order = np.lexsort((values, keys))
    keys, values = keys[order].astype(np.int64, copy=False), values[order]
    starts = _starts(keys)
    counts = np.diff(np.append(starts, len(keys)))
    with np.errstate(over="ignore"):
        return keys[starts], (values[starts + (counts - 1) // 2] + values[starts + counts // 2]) / 2


def _starts(ascending: IntArray) -> NDArray[np.intp]:
    """Return the index at which each group of equal keys begins."""
    return np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))


def _fractions(runs: RunTable, n: IntArray) -> FloatArray | None:
    """Return the six fractions (6, N) of the profile runs, NaN at an n without any; None without a profile pass."""
    if not runs.is_profile_pass.any():
        return None
    if runs.parts_ns is None or runs.time_ns is None:
        raise ValueError("a profile pass needs its parts and its time in nanoseconds")
    rows = np.flatnonzero(runs.is_profile_pass)
    rows = rows[np.argsort(runs.n[rows], kind="stable")]
    threads, time_ns, parts_ns = runs.n[rows], runs.time_ns[rows], runs.parts_ns[rows, 1:]
    starts = _starts(threads)
    # Many threads for many hours exceed 2**63 nanoseconds. Use Python's integers then, which do not overflow.
    fits = int(threads.max()) * int(time_ns.max()) * len(rows) < 2**63
    dtype = np.int64 if fits else object
    total = np.add.reduceat(threads.astype(dtype) * time_ns.astype(dtype), starts)
    parts = np.add.reduceat(parts_ns.astype(dtype), starts, axis=0)
    fractions = np.full((len(FRACTIONS), len(n)), np.nan)
    fractions[:, np.searchsorted(n, threads[starts])] = (parts / total[:, None]).astype(np.float64).T
    return fractions


def _relative_measures(counters: CounterTable, n: IntArray) -> FloatArray:
    """Return the seven relative measures (7, N), which are ratios of the counters' medians at n."""
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
    """Return the median of each counter over the repeats at each n, (N,), NaN without a usable reading."""
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
    """Times computed from curves: `time_s` and `utilisation` (..., N), NaN = invalid; `clamps` names each clamp."""

    time_s: FloatArray
    utilisation: FloatArray
    clamps: tuple[str, ...]


def utilisation(fractions: FloatArray | None, shape: tuple[int, ...]) -> FloatArray:
    """Return U(n) = 1 - (l + w + c + d + s + j) of fractions (..., 6, N) (Eq. 4).

    Without fractions (time-only), return ones of `shape`.

    >>> utilisation(np.array([[0.0], [0.25], [0.0], [0.125], [0.0], [0.0]]), (1,)).tolist()
    [0.625]
    """
    if fractions is None:
        return np.ones(shape)
    return np.asarray(1.0 - fractions.sum(axis=-2), dtype=np.float64)


def reconstruct(t1_s: ArrayLike, redundancy: FloatArray, fractions: FloatArray | None, n: ArrayLike) -> Reconstruction:
    """Return the times from curves (Eq. 3-4), after the curves are clamped to possible values.

        t(n) = t(1) R(n) / (n U(n))        U(n) = 1 - (l + w + c + d + s + j)

    Every fraction is clamped to [0, 1], R to at least 1e-9 and U to at least 0.01. `clamps` names each kind of clamp
    that was needed, once. Example: t(1) = 12 s, R(4) = 1.2 and w(4) = 0.25 give t(4) = 12 * 1.2 / (4 * 0.75) = 4.8 s.

    Parameters: `t1_s` (...) in seconds; `redundancy` (..., N); `fractions` (..., 6, N) in the order of FRACTIONS, or
    None for time-only curves (U = 1); `n` (N,) thread counts.
    Returns: Reconstruction, (..., N). NaN: t(1) or a curve that is needed is invalid at that n.
    Errors: ValueError if the shapes do not broadcast.

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
    """Return the curves of a stored profile, a row with its `curves`.

    Return None if they have not been derived yet, or if they are not valid. They are checked again, because rows
    outlive the code that wrote them.
    """
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
