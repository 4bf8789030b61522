"""Losses between the ideal and the measured speedup, part by part, and the cost of each part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from profiles.arrays import FloatArray, IntArray
from profiles.scaling.names import FRACTIONS
from profiles.scaling.roofline import NOTHING_KNOWN, MachineFacts
from profiles.scaling.runs import CurveTable

LOSSES = ("redundancy", *FRACTIONS)
WORTH_NAMING_SHARE = 0.02  # share of the thread time


def loss_shares(curves: CurveTable) -> FloatArray:
    """Return the shares of the thread time n t(n) that are not sequential work, (7, N), in the order of LOSSES.

        1 = S(n)/n + r(n) + l(n) + w(n) + c(n) + d(n) + s(n) + j(n),    r(n) = U(n) - S(n)/n = U(n) (1 - 1/R(n))

    The shares add up to the distance from the ideal speedup (Eq. 3-4). r is the excess of computing. It is negative if
    n threads together compute less than one thread did, for example because of caches.
    Example: R = 1.25, w = 0.2 and the others 0 give U = 0.8, S/n = 0.8/1.25 = 0.64 and r = 0.16; 0.64 + 0.16 + 0.2 = 1.

    Parameters: `curves` of a profile, N thread counts. A time-only profile has U = 1, and its fractions count as 0.
    Returns: (7, N) without unit. NaN: invalid at that n.

    >>> from profiles.measurements import RunTable
    >>> from profiles.scaling.runs import scaling_curves
    >>> runs = RunTable(np.array([1, 4]), np.ones(2, int), np.zeros(2, bool), np.array([12.0, 4.0]))
    >>> loss_shares(scaling_curves(runs))[0].tolist()  # S(4) = 3: a quarter of the thread time is lost
    [0.0, 0.25]
    """
    used = curves.utilisation
    excess = used * (1 - computation_scaling(curves))
    fractions = np.zeros((len(FRACTIONS), len(curves.n))) if curves.fractions is None else curves.fractions
    return np.vstack([excess, fractions])


def pop_efficiencies(curves: CurveTable) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return parallel efficiency U(n), computation scaling 1/R(n), and their product, the efficiency S(n)/n (Eq. 3-4).

        S(n)/n = U(n) 1/R(n)

    At n = 1, they are U(1), 1/R(1) = 1/U(1) and 1, because a loss of one thread alone is not a loss of scaling.

    Parameters: `curves` of a profile, N thread counts. A time-only profile has U = 1.
    Returns: the three efficiencies, (N,) each, without unit. NaN: invalid at that n.
    Source: Eq. 3-4, and the metrics of the POP centre of excellence.

    >>> from profiles.measurements import RunTable
    >>> from profiles.scaling.runs import scaling_curves
    >>> runs = RunTable(np.array([1, 4]), np.ones(2, int), np.zeros(2, bool), np.array([12.0, 4.0]))
    >>> [efficiency.tolist() for efficiency in pop_efficiencies(scaling_curves(runs))]
    [[1.0, 1.0], [1.0, 0.75], [1.0, 0.75]]
    """
    parallel, computation = curves.utilisation, computation_scaling(curves)
    return parallel, computation, parallel * computation


def computation_scaling(curves: CurveTable) -> FloatArray:
    """Return 1/R(n), (N,). NaN if R is not above 0, for example because no thread did useful work.

    >>> values = np.full((15, 2), np.nan); values[1] = 0.0, 1.25
    >>> computation_scaling(CurveTable(np.array([1, 4]), values, True, False, 1.0)).tolist()
    [nan, 0.8]
    """
    redundancy = curves.redundancy
    scaling: FloatArray = np.divide(1.0, redundancy, out=np.full(len(redundancy), np.nan), where=redundancy > 0)
    return scaling


def largest_speedup(part: str, n: int, machine: MachineFacts) -> float:
    """Return the upper limit of the speedup at n threads if a part were removed, NaN if it is unknown.

    The limit is n, because n threads are at most n times as fast as one. Beyond n_ht, some threads share a core, and
    this part of the redundancy remains. The limit without redundancy is then the gain of the machine's arithmetic with
    n threads, which is known only if the ceilings were measured.

    >>> largest_speedup("lock_delay", 16, MachineFacts(n_ht=8)), largest_speedup("redundancy", 16, MachineFacts(n_ht=8))
    (16.0, nan)
    """
    if part != "redundancy" or machine.n_ht is None or n <= machine.n_ht:
        return float(n)
    gain = machine.roofline.arithmetic_gain(n) if machine.roofline else None
    return min(gain, float(n)) if gain else np.nan


def speedup_without(curves: CurveTable, part: str, n: int, machine: MachineFacts = NOTHING_KNOWN) -> float:
    """Return the upper bound of S(n) if the thread time of one part were 0 and that of the others unchanged.

        S'(n) = min(S(n) / (1 - x), `largest_speedup`),    x the part's share of n t(n)

    If S is at or above `largest_speedup` already, for example because of caches, the cost of a part cannot be
    determined, and the bound is NaN.
    Example: S = 8 and a work imbalance of 20 % give at best S' = 8 / 0.8 = 10.

    Parameters: `part` of LOSSES; `n`, one of the measured thread counts; `machine`, the known facts about the machine.
    NaN also if the share is invalid at that n.
    Errors: ValueError for another part or n.
    Source: Eq. 3-4.

    >>> from profiles.measurements import RunTable
    >>> from profiles.scaling.runs import scaling_curves
    >>> runs = RunTable(np.array([1, 4]), np.ones(2, int), np.zeros(2, bool), np.array([12.0, 4.0]))
    >>> speedup_without(scaling_curves(runs), "redundancy", 4)  # S(4) = 3, a quarter of the thread time is lost
    4.0
    """
    column = curves.n.tolist().index(n)
    share = float(loss_shares(curves)[LOSSES.index(part), column])
    t1_s, now_s = float(curves.t1_s), float(curves.time_s[column])
    largest = largest_speedup(part, n, machine)
    if not (0 < t1_s < now_s * largest and np.isfinite(share)):
        return np.nan
    return t1_s / max(now_s * (1 - share), t1_s / largest)


def limiting_ranges(n: IntArray, shares: FloatArray) -> list[tuple[str, int, int]]:
    """Return (part, first n, last n) for each range of n in which the same part loses most.

    Thread counts at which no loss is worth naming are in no range.

    >>> limiting_ranges(np.array([1, 2, 4]), np.array([[0, 0.1, 0.1], [0, 0, 0.3]] + 5 * [[0, 0, 0]]))
    [('redundancy', 2, 2), ('lock_delay', 4, 4)]
    """
    ranges: list[tuple[str, int, int]] = []
    previous = ""
    for column, count in enumerate(n.tolist()):
        lost = np.nan_to_num(shares[:, column], nan=-1.0)
        part = LOSSES[int(lost.argmax())] if lost.max() >= WORTH_NAMING_SHARE else ""
        if part and part == previous:
            ranges[-1] = (part, ranges[-1][1], count)
        elif part:
            ranges.append((part, count, count))
        previous = part
    return ranges


@dataclass(frozen=True)
class Bottleneck:
    """A part with a loss at the largest n: its share of the thread time, and the speedup with and without it.

    `speedup_without` is None if there is no bound. The part is the largest loss from `first_n` to `last_n` (None:
    nowhere).
    """

    part: str
    n: Annotated[int, "Largest n."]
    share: Annotated[float, "Share of the thread time."]
    speedup: float
    speedup_without: Annotated[
        float | None,
        "Upper bound of the speedup without this loss, all else unchanged, at most n; null if there is no bound.",
    ]
    first_n: Annotated[int | None, "First n at which this is the largest loss; null if it never is."]
    last_n: int | None


def bottlenecks(curves: CurveTable, machine: MachineFacts = NOTHING_KNOWN) -> list[Bottleneck]:
    """Return the parts that lose at least 2 % of the thread time at the largest n, largest loss first.

    A time-only profile has only the redundancy, which then stands for all losses. A sequential profile has no
    bottlenecks.

    >>> from profiles.measurements import RunTable
    >>> from profiles.scaling.runs import scaling_curves
    >>> runs = RunTable(np.array([1, 4]), np.ones(2, int), np.zeros(2, bool), np.array([12.0, 4.0]))
    >>> worst = bottlenecks(scaling_curves(runs))[0]
    >>> worst.part, worst.share, worst.speedup, worst.speedup_without
    ('redundancy', 0.25, 3.0, 4.0)
    """
    if not has_scaling(curves):
        return []
    shares, n = loss_shares(curves), int(curves.n[-1])
    led = {part: (first, last) for part, first, last in reversed(limiting_ranges(curves.n, shares))}
    speedup = float(curves.t1_s / curves.time_s[-1])
    found = []
    for row in np.argsort(-np.nan_to_num(shares[:, -1]), kind="stable"):
        part, share = LOSSES[row], float(shares[row, -1])
        if share >= WORTH_NAMING_SHARE:
            bound = speedup_without(curves, part, n, machine)
            without = bound if np.isfinite(bound) else None
            found.append(Bottleneck(part, n, share, speedup, without, *led.get(part, (None, None))))
    return found


def has_scaling(curves: CurveTable) -> bool:
    """Return whether the profile has a speedup: more than one thread count, t(1), and a time at the largest n."""
    return len(curves.n) > 1 and bool(np.isfinite(curves.t1_s)) and bool(np.isfinite(curves.time_s[-1]))
