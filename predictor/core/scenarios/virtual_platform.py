"""A platform that does not exist: a known one with other breakpoints, more threads or another clock (scenario 6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predictor.core.answers import Answer
from predictor.core.database import FloatArray, IntArray
from predictor.core.errors import PredictionError
from predictor.core.scenarios.changes import Topology
from predictor.core.scenarios.outcome import LOW, MEDIUM, Assumed, is_decomposed, refitted
from profiles.scaling.curves import evaluate_curves
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, FRACTIONS, GAUSSIAN_SUM
from profiles.scaling.times import LEAST_REDUNDANCY, reconstruct

SEGMENTS = ("one NUMA node", "further NUMA nodes", "hyperthreads")
PAIRS = (slice(0, 2), slice(2, 4), slice(4, 6))  # the elements of each segment
WIDER_BEYOND = 0.2  # of ln t for each ln n that a segment is longer: by judgement, not by calibration
NUMA, HYPERTHREADS = 1, 2


class UnknownEffect(PredictionError):
    """The changed platform has an effect of which nothing is known for this workload."""


def moved_platform(
    answer: Answer, old: Topology, new: Topology, n: IntArray, *, bound: str | None, borrowed: FloatArray
) -> Assumed:
    """The answer for a platform whose curves bend elsewhere (Eq. 5-7), at thread counts `n` (K,).

        p'(n) = p_model'(n) + [p(m) - p_model(m)]    fractions and measures
        R'(n) = R_model'(n) R(m) / R_model(m)

    p_model is the curve model of the answer with the old breakpoints, p_model' the same elements with the new ones: the
    slopes and steps of a segment begin at its new breakpoint. m is as far behind the old breakpoint of its segment as n
    is behind the new one, at most its old end: so what the model leaves unexplained is carried along, and up to the
    first breakpoint that moved nothing changes. t'(n) from R' and the fractions by Eq. 3-4, over the clock's factor.

    Example: R = 1 to n_ht = 4, then 1 + 0.1 (n - 4): with n_ht = 8, R'(6) = 1 and R'(10) = 1.2.

    Parameters: `answer` at 1..n_max of the old platform; `borrowed` (14, 6) elements for effects that the old platform
    does not have, NaN = nobody has them. Returns the answer at `n`, its interval as wide in ln t as at m, and 0.2
    ln(n/m) wider on each side. Raises UnknownEffect for an effect of which no elements are known.
    """
    elements = _elements(answer, old, new, borrowed)
    source = carried_from(n, old, new)
    at = source - 1
    before = evaluate_curves(elements, source, *_bends(old), GAUSSIAN_SUM)
    after = evaluate_curves(elements, n, *_bends(new), GAUSSIAN_SUM)
    curves = {name: answer.curves[name][at] + (after[row] - before[row]) for row, name in enumerate(CURVE_NAMES)}
    curves["redundancy"] = _scaled(answer.curves["redundancy"][at], before[0], after[0])
    for name in CURVE_NAMES[1:]:
        curves[name] = np.maximum(curves[name], 0.0)
    fractions = np.stack([curves[name] for name in FRACTIONS]) if is_decomposed(answer) else None
    rebuilt = reconstruct(answer.t1_s, curves["redundancy"], fractions, n)
    curves["utilisation"] = rebuilt.utilisation
    moved = _with_interval(answer, replace(answer, n=n, time_s=rebuilt.time_s, curves=curves), source)
    moved, clock = _at_clock(moved, old, new, bound)
    said, lowered = _sentences(old, new, n, source)
    warnings = [*answer.warnings, *(f"forced into the possible range: {clamp}" for clamp in rebuilt.clamps)]
    moved = refitted(replace(moved, warnings=warnings), *_bends(new))
    return Assumed(moved, [*said, *clock.changes], [*lowered, *clock.lowered])


def carried_from(n: IntArray, old: Topology, new: Topology) -> IntArray:
    """The thread counts of the old platform that are as far behind their segment's breakpoint, at most its end (K,).

    >>> old, new = Topology(np.nan, 4.0, 8), Topology(np.nan, 8.0, 32)
    >>> carried_from(np.array([3, 6, 9, 12, 32]), old, new).tolist()
    [3, 4, 5, 8, 8]
    """
    starts = np.array(old.starts)
    order = np.argsort(starts, kind="stable")
    ends = np.empty(3)
    ends[order] = [*np.minimum(starts[order][1:], old.n_max), old.n_max]
    segment = _segment(n, new)
    has = starts[segment] < old.n_max
    first = np.where(has, starts[segment], old.n_max)
    moved = np.minimum(first + n - np.array(new.starts)[segment], np.where(has, ends[segment], old.n_max))
    return np.asarray(moved, dtype=np.int64)


def _segment(n: IntArray, topology: Topology) -> IntArray:
    """Which segment each thread count lies in: that of the last breakpoint before it."""
    starts = np.array(topology.starts)
    begun = np.where(n[:, None] > starts, starts, -1.0)
    return np.asarray(begun.argmax(axis=1))


def _bends(topology: Topology) -> tuple[float, float]:
    return topology.n_nu, topology.n_ht


def _elements(answer: Answer, old: Topology, new: Topology, borrowed: FloatArray) -> FloatArray:
    """The (14, 6) of the answer, and those borrowed for a segment that the old platform lacks."""
    elements = answer.features.reshape(len(CURVE_NAMES), len(ELEMENTS)).copy()
    if np.isnan(elements[0, PAIRS[0]]).all():
        raise UnknownEffect("breakpoints cannot be moved: no scaling of the workload is known on this platform")
    for segment in (NUMA, HYPERTHREADS):
        pair = PAIRS[segment]
        if new.starts[segment] >= new.n_max or old.starts[segment] < old.n_max:
            continue
        if np.isnan(borrowed[0, pair]).all():
            raise UnknownEffect(
                f"nothing is known of how the workload behaves with {SEGMENTS[segment]}: "
                "no thread count beyond that was measured on this platform or a reference"
            )
        elements[:, pair] = borrowed[:, pair]
    return elements


def _scaled(values: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
    """R carried along in proportion; the model's own value where a proportion makes no sense."""
    sound = (before > LEAST_REDUNDANCY) & (after > LEAST_REDUNDANCY)
    return np.where(sound, values * (after / np.where(sound, before, 1.0)), after)


def _with_interval(answer: Answer, moved: Answer, source: IntArray) -> Answer:
    if answer.low_s is None or answer.high_s is None:
        return moved
    at = source - 1
    wider = np.exp(WIDER_BEYOND * np.abs(np.log(moved.n / source)))
    ratio = moved.time_s / answer.time_s[at]
    return replace(moved, low_s=answer.low_s[at] * ratio / wider, high_s=answer.high_s[at] * ratio * wider)


def _at_clock(answer: Answer, old: Topology, new: Topology, bound: str | None) -> tuple[Answer, Assumed]:
    """Times at another clock: in proportion where it computes, unchanged where it waits for memory.

    Where the bound is unknown, half way between (in ln t), and the interval reaches both.
    """
    faster = new.base_mhz / old.base_mhz if new.base_mhz != old.base_mhz else 1.0
    if np.isnan(faster) or faster == 1.0:
        return answer, Assumed(answer)
    share = {"computation": 1.0, "memory": 0.0}.get(bound or "", 0.5)
    factor = faster**-share
    wider = max(faster, 1 / faster) ** (0.5 if share == 0.5 else 0.0)
    scaled = replace(
        answer,
        t1_s=answer.t1_s * factor,
        time_s=answer.time_s * factor,
        low_s=None if answer.low_s is None else answer.low_s * factor / wider,
        high_s=None if answer.high_s is None else answer.high_s * factor * wider,
    )
    why = {
        1.0: "computation-bound: its time changes in proportion",
        0.0: "memory-bound: its time stays, as memory does",
        0.5: "of unknown bound: taken half way between changing in proportion and not at all, both in the interval",
    }[share]
    said = f"clock {old.base_mhz:g} -> {new.base_mhz:g} MHz; the workload is {why}"
    return scaled, Assumed(scaled, [said], [(MEDIUM, "the effect of the clock is taken from the workload's bound")])


def _sentences(old: Topology, new: Topology, n: IntArray, source: IntArray) -> tuple[list[str], list[tuple[int, str]]]:
    said, lowered = [], []
    for name, what in (("n_nu", "further NUMA nodes"), ("n_ht", "hyperthreads")):
        before, after = getattr(old, name), getattr(new, name)
        if before == after or (np.isnan(before) and np.isnan(after)):
            continue
        if np.isnan(after):
            said.append(f"{name} {before:g} -> none: no effect of {what}; the curve before goes on")
        elif after >= new.n_max:
            said.append(f"{name} -> {after:g}: no thread count lies beyond it")
        elif np.isnan(before) or before >= old.n_max:
            said.append(f"{name} -> {after:g}: the effect of {what} is the mean of that on the references")
            lowered.append((LOW, f"the platform has no {what}: their effect is that of other platforms"))
        else:
            said.append(f"{name} {before:g} -> {after:g}: the effect of {what} begins there, with the same slopes")
    if new.n_max != old.n_max:
        said.append(f"n_max {old.n_max} -> {new.n_max}")
    if said:
        lowered.append((MEDIUM, "a platform that nobody has: known by its topology alone"))
    longer = n[n > source]
    if len(longer) and n.max() > old.n_max:
        lowered.append((LOW, f"over n = {int(longer.min()) - 1} a slope is continued beyond where it was measured"))
    return said, lowered
