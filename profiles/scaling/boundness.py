"""Which resource of the hardware limits a profile or a prediction: from its curves, and where they are there from the
machine's ceilings and the counters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profiles.scaling.losses import has_scaling, loss_shares
from profiles.scaling.roofline import CACHE_LINE_BYTES, Roof, Roofline, RooflinePoint
from profiles.scaling.runs import CurveTable

COMMUNICATION_PARTS = ("lock_delay", "task_creation", "task_distribution", "task_switching", "task_join")
LIMITING_SHARE = 0.1  # of the thread time: less limits nothing
NEAR_ROOF_SHARE = 0.5  # of the memory's bandwidth
DISTINCT_GAINS = 0.75  # bandwidth gains less than so much of what arithmetic gains: the two can be told apart
FOLLOWING_DEVIATION = 0.15  # a speedup so near that of the bandwidth follows it


@dataclass(frozen=True)
class Boundness:
    """`kind`: memory, communication, computation or imbalance; None: cannot be told. `by`: roofline or scaling."""

    kind: str | None
    by: str
    sentence: str


def boundness(
    curves: CurveTable, point: RooflinePoint | None = None, roofline: Roofline | None = None
) -> Boundness | None:
    """Which resource limits the profile at its largest n; None for a sequential profile.

    By the roofline where counters place the profile (`point`) below the machine's ceilings: from half the memory's
    bandwidth on it is memory-bound. Otherwise by how it scales, and the sentence says so.

    >>> from profiles.measurements import RunTable
    >>> from profiles.scaling.runs import scaling_curves
    >>> runs = RunTable(np.array([1, 4]), np.ones(2, int), np.zeros(2, bool), np.array([12.0, 4.0]))
    >>> roofs = (Roof(1, 10e9, 10e9), Roof(4, 40e9, 30e9))  # bandwidth grows 3 times, as the speedup does
    >>> boundness(scaling_curves(runs), roofline=Roofline(roofs, (), ())).kind
    'memory'
    """
    if not has_scaling(curves):
        return None
    lost = communication_share(curves)
    roof = roof_at(roofline, int(curves.n[-1]))
    if point is not None and roof is not None and lost <= LIMITING_SHARE:
        return boundness_by_roofline(point, roof)
    if lost > LIMITING_SHARE and lost >= excess_share(curves):
        return boundness_by_communication(curves, lost, roofline)
    if roofline is not None and roofline.roofs and (verdict := boundness_by_bandwidth(curves, roofline)) is not None:
        return verdict
    return boundness_by_pattern(curves)


def roof_at(roofline: Roofline | None, n: int) -> Roof | None:
    """The roof of the most threads up to n, or None where there is none."""
    below = [roof for roof in (roofline.roofs if roofline else ()) if roof.n <= n]
    return below[-1] if below else None


def communication_share(curves: CurveTable) -> float:
    """The share of the thread time at the largest n that goes into locks and tasks (Eq. 4); 0 where nobody split it.

        l(n) + c(n) + d(n) + s(n) + j(n),    an invalid fraction counting as 0

    >>> values = np.full((15, 1), np.nan)
    >>> values[:8, 0] = 2.0, 1.0, 0.25, 0.125, 0.0625, 0.0, 0.0, 0.0  # t, R, l, w, c, d, s, j
    >>> communication_share(CurveTable(np.array([4]), values, decomposed=True, sequential=False, t1_s=5.0))
    0.3125
    """
    if curves.fractions is None:
        return 0.0
    return float(sum(np.nan_to_num(curves.curve(part)[-1]) for part in COMMUNICATION_PARTS))


def excess_share(curves: CurveTable) -> float:
    """The share of the thread time at the largest n that is computing which one thread alone would not need (Eq. 3-4).

        r(n) = U(n) (1 - 1/R(n)),    0 where it is invalid

    >>> values = np.full((15, 1), np.nan)
    >>> values[:2, 0] = 4.0, 1.25  # t, R; nobody split the time: U = 1
    >>> round(excess_share(CurveTable(np.array([4]), values, decomposed=False, sequential=False, t1_s=12.8)), 6)
    0.2
    """
    return float(np.nan_to_num(loss_shares(curves)[0, -1]))


def boundness_by_roofline(point: RooflinePoint, roof: Roof) -> Boundness:
    """Memory-bound from half the memory's bandwidth on, computation-bound below.

    >>> boundness_by_roofline(RooflinePoint("a", 8, 1e9, 1e9, 4.0), Roof(8, 100e9, 20e9)).sentence
    'At 8 threads it moves 16 GB/s, 80% of what the memory gives (20 GB/s): memory-bound, by the roofline.'
    """
    rate = CACHE_LINE_BYTES * point.misses / point.time_s
    share = rate / roof.bytes_per_s
    moved = f"At {point.n} threads it moves {rate / 1e9:.3g} GB/s, {share:.0%} of what the memory gives"
    moved += f" ({roof.bytes_per_s / 1e9:.3g} GB/s)"
    if share >= NEAR_ROOF_SHARE:
        return Boundness("memory", "roofline", f"{moved}: memory-bound, by the roofline.")
    return Boundness("computation", "roofline", f"{moved}: computation-bound, by the roofline.")


def boundness_by_communication(curves: CurveTable, lost: float, roofline: Roofline | None) -> Boundness:
    n = int(curves.n[-1])
    sentence = (
        f"At {n} threads {lost:.0%} of the thread time go into locks and the handling of tasks: communication-bound"
    )
    transfers = [(threads, seconds) for threads, seconds in (roofline.lock if roofline else ()) if threads <= n]
    if transfers:
        sentence += f"; the lock-transfer latency is {transfers[-1][1] * 1e9:.3g} ns among {transfers[-1][0]} threads"
    return Boundness("communication", "roofline" if transfers else "scaling", f"{sentence}.")


def boundness_by_bandwidth(curves: CurveTable, roofline: Roofline) -> Boundness | None:
    """Where the machine's bandwidth gains much less by threads than its arithmetic does: which of them the speedup
    follows. None where they cannot be told apart, or it follows neither."""
    first, last = roof_at(roofline, 1), roof_at(roofline, int(curves.n[-1]))
    if first is None or last is None or last.n == 1 or last.n not in curves.n:
        return None
    bandwidth, peak = last.bytes_per_s / first.bytes_per_s, last.flop_per_s / first.flop_per_s
    speedup = float(curves.t1_s / curves.time_s[curves.n.tolist().index(last.n)])
    if bandwidth > DISTINCT_GAINS * peak:
        return None
    growth = f"From 1 to {last.n} threads the bandwidth grows {bandwidth:.3g} times and the arithmetic {peak:.3g} times"
    for kind, gain in (("memory", bandwidth), ("computation", peak)):
        if abs(speedup / gain - 1) <= FOLLOWING_DEVIATION:
            sentence = f"{growth}; the speedup is {speedup:.3g}: {kind}-bound, by the scaling of the roofline."
            return Boundness(kind, "roofline", sentence)
    return None


def boundness_by_pattern(curves: CurveTable) -> Boundness:
    """From the curves alone: which of computing in excess and imbalance costs most."""
    n, excess = int(curves.n[-1]), excess_share(curves)
    efficiency = float(curves.t1_s / curves.time_s[-1] / n)
    if not curves.decomposed:
        if excess < LIMITING_SHARE:
            return Boundness(
                "computation",
                "scaling",
                f"It scales with {efficiency:.0%} efficiency up to {n} threads: "
                "computation-bound, by its scaling alone.",
            )
        return Boundness(
            None,
            "scaling",
            f"{excess:.0%} of the thread time at {n} threads are lost. Whether to memory, "
            "communication or imbalance cannot be told: only wall times were measured.",
        )
    imbalance = float(np.nan_to_num(curves.curve("work_imbalance")[-1]))
    if max(excess, imbalance) < LIMITING_SHARE:
        sentence = f"No loss takes more than {max(excess, imbalance, 0):.0%} of the thread time at {n} threads: "
        return Boundness("computation", "scaling", f"{sentence}computation-bound, by its scaling alone.")
    if imbalance > excess:
        sentence = (
            f"{imbalance:.0%} of the thread time at {n} threads is work imbalance: limited by how the work is split"
        )
        return Boundness("imbalance", "scaling", f"{sentence}, not by the hardware.")
    sentence = f"Redundancy (work inflation) takes {excess:.0%} of the thread time at {n} threads: the threads share"
    return Boundness("memory", "scaling", f"{sentence} caches and memory. Memory-bound, by its scaling alone.")
