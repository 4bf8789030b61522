"""What is lost between the ideal speedup and the measured one, part by part, and what one of them costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from profiles.arrays import FloatArray, IntArray
from profiles.scaling.names import FRACTIONS
from profiles.scaling.roofline import NOTHING_KNOWN, MachineFacts
from profiles.scaling.runs import CurveTable

LOSSES = ("redundancy", *FRACTIONS)
WORTH_NAMING_SHARE = 0.02  # of the thread time


def loss_shares(curves: CurveTable) -> FloatArray:
    """Shares of the thread time n t(n) that are no part of the sequential work, (7, N), in the order of LOSSES.

        1 = S(n)/n + r(n) + l(n) + w(n) + c(n) + d(n) + s(n) + j(n),    r(n) = U(n) - S(n)/n = U(n) (1 - 1/R(n))

    so that what is lost is the distance to the ideal speedup, part by part (Eq. 3-4). r is the excess of computing:
    negative where n threads together compute less than one did (caches). Example: R = 1.25, w = 0.2, others 0: U is
    0.8, S/n = 0.8/1.25 = 0.64, r = 0.16; 0.64 + 0.16 + 0.2 = 1.

    Parameters: `curves` of a profile, N thread counts; a time-only profile has U = 1 and its fractions count as 0.
    Returns (7, N) without unit. NaN: invalid at that n.

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
    """Parallel efficiency U(n), computation scaling 1/R(n), and their product, the efficiency S(n)/n (Eq. 3-4).

        S(n)/n = U(n) 1/R(n)

    Both begin at U(1) and 1/R(1) = 1/U(1): what one thread alone loses is no loss of scaling, and S(1) = 1.

    Parameters: `curves` of a profile, N thread counts; a time-only profile has U = 1.
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
    """1/R(n), (N,); NaN where R is not above 0, as where no thread did any useful work.

    >>> values = np.full((15, 2), np.nan); values[1] = 0.0, 1.25
    >>> computation_scaling(CurveTable(np.array([1, 4]), values, True, False, 1.0)).tolist()
    [nan, 0.8]
    """
    redundancy = curves.redundancy
    scaling: FloatArray = np.divide(1.0, redundancy, out=np.full(len(redundancy), np.nan), where=redundancy > 0)
    return scaling


@dataclass(frozen=True)
class SpeedupBound:
    """What would be without one part at n threads, the others unchanged: an upper bound of what can be won."""

    part: str
    n: int
    share: float
    time_s: float
    speedup: float


def largest_speedup(part: str, n: int, machine: MachineFacts) -> float:
    """The speedup at n threads that nothing can exceed if a part were removed; NaN where nobody can say.

    n, for n threads are at best n times as fast as one. Beyond n_ht some threads share a core: that part of the
    redundancy stays, so that its absence gives at best what the arithmetic of the machine gains by n threads, as far
    as its ceilings were measured.

    >>> largest_speedup("lock_delay", 16, MachineFacts(n_ht=8)), largest_speedup("redundancy", 16, MachineFacts(n_ht=8))
    (16.0, nan)
    """
    if part != "redundancy" or machine.n_ht is None or n <= machine.n_ht:
        return float(n)
    gain = machine.roofline.arithmetic_gain(n) if machine.roofline else None
    return min(gain, float(n)) if gain else np.nan


def bound_without(curves: CurveTable, part: str, n: int, machine: MachineFacts = NOTHING_KNOWN) -> SpeedupBound:
    """t(n) and S(n) if the thread time of one part were 0 and that of the others as it is.

        S'(n) = min(S(n) / (1 - x), `largest_speedup`),    t'(n) = t(1) / S'(n),    x the part's share of n t(n)

    Where S is that large already (caches), no part can be said to cost anything: NaN. Example: S = 8 and a work
    imbalance of 20 %: at best S' = 8 / 0.8 = 10.

    Parameters: `part` of LOSSES, `n` one of the measured thread counts, `machine`, what is known of it. Returns:
    SpeedupBound, time in seconds; NaN also where the share is invalid at that n. Errors: ValueError for another part
    or n. Source: Eq. 3-4.

    >>> from profiles.measurements import RunTable
    >>> from profiles.scaling.runs import scaling_curves
    >>> runs = RunTable(np.array([1, 4]), np.ones(2, int), np.zeros(2, bool), np.array([12.0, 4.0]))
    >>> bound = bound_without(scaling_curves(runs), "redundancy", 4)
    >>> bound.share, bound.time_s, bound.speedup
    (0.25, 3.0, 4.0)
    """
    column = curves.n.tolist().index(n)
    share = float(loss_shares(curves)[LOSSES.index(part), column])
    t1_s, now_s = float(curves.t1_s), float(curves.time_s[column])
    largest = largest_speedup(part, n, machine)
    if not (0 < t1_s < now_s * largest and np.isfinite(share)):
        return SpeedupBound(part, n, share, np.nan, np.nan)
    time_s = max(now_s * (1 - share), t1_s / largest)
    return SpeedupBound(part, n, share, time_s, t1_s / time_s)


def limiting_ranges(n: IntArray, shares: FloatArray) -> list[tuple[str, int, int]]:
    """(part, first n, last n): where which part loses most; thread counts where nothing worth naming is lost are gaps.

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
    """A part that costs something at the largest n: its share of the thread time, and the speedup with and without it,
    the latter None where no bound can be told.

    It leads from `first_n` to `last_n` (None: nowhere).
    """

    part: str
    n: Annotated[int, "The largest n."]
    share: Annotated[float, "Of the thread time."]
    speedup: float
    speedup_without: Annotated[float | None, "Upper bound, all else unchanged, n at most; null: none can be told."]
    first_n: Annotated[int | None, "It leads from here; null: nowhere."]
    last_n: int | None


def bottlenecks(curves: CurveTable, machine: MachineFacts = NOTHING_KNOWN) -> list[Bottleneck]:
    """The parts that lose at least 2 % of the thread time at the largest n, the costliest first.

    A time-only profile has the redundancy alone, which then stands for everything; a sequential one has nothing.

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
    order = np.argsort(-np.nan_to_num(shares[:, -1]), kind="stable")
    costly = [LOSSES[row] for row in order if shares[row, -1] >= WORTH_NAMING_SHARE]
    bounds = [bound_without(curves, part, n, machine) for part in costly]
    speedup = float(curves.t1_s / curves.time_s[-1])
    return [
        Bottleneck(
            *(bound.part, n, bound.share, speedup, bound.speedup if np.isfinite(bound.speedup) else None),
            *led.get(bound.part, (None, None)),
        )
        for bound in bounds
    ]


def has_scaling(curves: CurveTable) -> bool:
    """Whether there is a speedup to speak of: more than one thread count, and a time at the largest of them."""
    return len(curves.n) > 1 and bool(np.isfinite(curves.t1_s)) and bool(np.isfinite(curves.time_s[-1]))
