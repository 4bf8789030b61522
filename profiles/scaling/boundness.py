"""The resource that limits a profile or a prediction at n threads, with the evidence for it.

docs/limits.md defines the limits. docs/accuracy/limits.md describes on which simulated machines the thresholds were
chosen, and how often the result is right on others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profiles.arrays import FloatArray
from profiles.scaling.losses import WORTH_NAMING_SHARE, has_scaling, loss_shares
from profiles.scaling.roofline import CACHE_LINE_BYTES, NOTHING_KNOWN, MachineFacts, Roof, Roofline, RooflinePoint
from profiles.scaling.runs import CurveTable
from profiles.scaling.wording import counted, whole_percent

COMMUNICATION_PARTS = ("lock_delay", "task_creation", "task_distribution", "task_switching", "task_join")
WAITING_SHARE = 0.3  # share of the thread time from which on waiting is the limit
PREDICTED_MARGIN = 0.1  # a predicted share that is nearer to WAITING_SHARE is inconclusive
# Locks and tasks with this share of the thread time may slow down the useful work, too, through their cache lines.
CONTENDED_SHARE = 0.05
NEAR_ROOF_SHARE = 0.7  # share of the memory's bandwidth
HIT_WEIGHT = 0.1  # a hit in the last-level cache takes about a tenth of the time of a memory access
LEAST_SPELLED = 0.01
FEW_MISSES, MANY_MISSES = 3.0, 8.0  # per 1000 instructions; computation-bound below, memory-bound above
DISTINCT_GAINS = 0.75  # largest ratio of the gains of bandwidth and arithmetic at which they are distinguishable
FOLLOWING_DEVIATION = 0.15  # a speedup follows the bandwidth if it exceeds the bandwidth's gain by at most this share
UNEXPLAINED_REDUNDANCY = 1.2  # multiple of the redundancy that computing alone may have


@dataclass(frozen=True)
class Boundness:
    """The limiting resource of a profile or a prediction, and the evidence for it.

    `kind` is memory, communication, computation or imbalance, None if it is unknown. `by` is the evidence: counters,
    roofline or scaling.
    """

    kind: str | None
    by: str
    sentence: str


def boundness(
    curves: CurveTable,
    machine: MachineFacts = NOTHING_KNOWN,
    point: RooflinePoint | None = None,
    *,
    n: int | None = None,
    predicted: bool = False,
) -> Boundness | None:
    """Return what limits the profile at n threads, by default at its largest n, or None for a sequential profile.

    Waiting (communication or imbalance) is the limit if it takes WAITING_SHARE of the thread time. Otherwise the limit
    is what most of the useful work consists of: computing, or waiting for data from the last-level cache and memory
    (memory). Counters distinguish these two, and so does the memory traffic on a machine with measured ceilings. Curves
    alone only show some cases in which memory is certainly the limit. Without conclusive evidence, `kind` is None.

    Parameters: `curves`, measured or `predicted`; `machine`, the known facts about the machine; `point`, the position
    of the profile in the machine's roofline, from counters at one n.
    Errors: ValueError for an n that is not among the curves'.

    >>> from profiles.measurements import RunTable
    >>> from profiles.scaling.runs import scaling_curves
    >>> runs = RunTable(np.array([1, 4]), np.ones(2, int), np.zeros(2, bool), np.array([12.0, 6.0]))
    >>> boundness(scaling_curves(runs)).sentence[:41]
    '50 % of thread time at 4 threads is lost.'
    """
    if not has_scaling(curves):
        return None
    column = len(curves.n) - 1 if n is None else curves.n.tolist().index(n)
    waiting = waiting_shares(curves, column).max()
    if predicted and abs(waiting - WAITING_SHARE) < PREDICTED_MARGIN:
        return unexplained_waiting(curves, column)
    if waiting >= WAITING_SHARE:
        return bound_by_waiting(curves, column, machine.roofline)
    if not curves.decomposed and excess_share(curves, column) >= WAITING_SHARE:
        return unexplained_loss(curves, column)
    return bound_by_resource(curves, column, machine, point)


def bound_by_resource(curves: CurveTable, column: int, machine: MachineFacts, point: RooflinePoint | None) -> Boundness:
    """Return computing or memory as the limit, by the best evidence available."""
    n = int(curves.n[column])
    roof = machine.roofline.roof_at(n) if machine.roofline else None
    if point is not None and point.n == n and roof is not None and traffic_share(point, roof) >= NEAR_ROOF_SHARE:
        return bound_by_traffic(point, roof)
    misses = float(misses_per_kilo_instruction(curves)[column])
    if np.isfinite(misses):
        return bound_by_misses(curves, column, misses)
    if not curves.decomposed:
        return unexplained_loss(curves, column)
    return bound_by_bandwidth(curves, column, machine) or bound_by_redundancy(curves, column, machine)


def waiting_shares(curves: CurveTable, column: int) -> FloatArray:
    """Return the shares of the thread time at one n in locks and tasks, and in imbalance, (2,), with 0 if invalid.

        l(n) + c(n) + d(n) + s(n) + j(n)    and    w(n)    (Eq. 4)

    >>> values = np.full((15, 1), np.nan)
    >>> values[:8, 0] = 2.0, 1.0, 0.25, 0.125, 0.0625, 0.0, 0.0, 0.0  # t, R, l, w, c, d, s, j
    >>> waiting_shares(CurveTable(np.array([4]), values, decomposed=True, sequential=False, t1_s=5.0), 0).tolist()
    [0.3125, 0.125]
    """
    if curves.fractions is None:
        return np.zeros(2)
    communication = sum(np.nan_to_num(curves.curve(part)[column]) for part in COMMUNICATION_PARTS)
    return np.array([communication, np.nan_to_num(curves.curve("work_imbalance")[column])])


def excess_share(curves: CurveTable, column: int) -> float:
    """Return the share of the thread time at one n that is computing beyond the work of one thread alone (Eq. 3-4).

        r(n) = U(n) (1 - 1/R(n)),    0 where it is invalid

    >>> values = np.full((15, 1), np.nan)
    >>> values[:2, 0] = 4.0, 1.25  # t, R; without a time breakdown U = 1
    >>> round(excess_share(CurveTable(np.array([4]), values, decomposed=False, sequential=False, t1_s=12.8), 0), 6)
    0.2
    """
    return float(np.nan_to_num(loss_shares(curves)[0, column]))


def misses_per_kilo_instruction(curves: CurveTable) -> FloatArray:
    """Return the loads per 1000 instructions that miss the first-level caches, weighted by their duration, (N,).

        1000 (m + 0.1 (a - m)),    m = (L1-LD/INSTR) / (L1-LD/LLC-LDM),    a = LLC-LD/INSTR

    m is the number of misses of the last-level cache per instruction (MPKI/1000), and a - m is the number of its hits.
    If m was not counted, or was 0, a is used as its upper bound, but only below FEW_MISSES, where the bound is
    conclusive.
    Example: Of 20 loads per 1000 instructions that reach the last-level cache, 10 reach memory: 10 + 0.1 * 10 = 11.
    NaN: a counter is missing.

    >>> values = np.full((15, 1), np.nan)
    >>> values[[11, 13, 14], 0] = 0.3, 0.02, 30.0  # L1-LD/INSTR, LLC-LD/INSTR, L1-LD/LLC-LDM
    >>> curves = CurveTable(np.array([4]), values, decomposed=True, sequential=False, t1_s=5.0)
    >>> misses_per_kilo_instruction(curves).round(9).tolist()
    [11.0]
    """
    loads, reached = curves.curve("L1-LD/INSTR"), curves.curve("LLC-LD/INSTR")
    loads_per_miss = curves.curve("L1-LD/LLC-LDM")
    missed = np.divide(loads, loads_per_miss, out=np.full(len(loads), np.nan), where=loads_per_miss > 0)
    # Predicted curves may have more misses of the last-level cache than accesses to it.
    missed = np.minimum(missed, reached)
    missed = np.where(np.isnan(missed) & (1000 * reached < FEW_MISSES), reached, missed)
    weighted: FloatArray = 1000 * (missed + HIT_WEIGHT * np.maximum(reached - missed, 0.0))
    return weighted


def traffic_share(point: RooflinePoint, roof: Roof) -> float:
    """Return the memory traffic of the misses as a share of the memory's bandwidth.

    >>> traffic_share(RooflinePoint("a", 8, 1e9, 1e9, 4.0), Roof(8, 100e9, 20e9))
    0.8
    """
    return CACHE_LINE_BYTES * point.misses / point.time_s / roof.bytes_per_s


def bound_by_traffic(point: RooflinePoint, roof: Roof) -> Boundness:
    """Return memory as the limit, because the traffic is near the bandwidth.

    >>> bound_by_traffic(RooflinePoint("a", 8, 1e9, 1e9, 4.0), Roof(8, 100e9, 20e9)).sentence
    'At 8 threads it moves 16 GB/s, 80 % of the memory bandwidth (20 GB/s): memory-bound, by the roofline.'
    """
    share = traffic_share(point, roof)
    sentence = (
        f"At {counted(point.n, 'thread')} it moves {share * roof.bytes_per_s / 1e9:.3g} GB/s, {whole_percent(share)} "
        f"of the memory bandwidth ({roof.bytes_per_s / 1e9:.3g} GB/s): memory-bound, by the roofline."
    )
    return Boundness("memory", "roofline", sentence)


def bound_by_misses(curves: CurveTable, column: int, misses: float) -> Boundness:
    """Return computing or memory as the limit by the number of misses, or an unknown limit between the thresholds."""
    spelled = f"{misses:.3g}" if misses >= LEAST_SPELLED else f"fewer than {LEAST_SPELLED:g}"
    sentence = (
        f"At {counted(int(curves.n[column]), 'thread')} {spelled} of 1000 instructions miss the last-level "
        f"cache (a hit there counts as {HIT_WEIGHT:g} of a miss)"
    )
    if misses >= MANY_MISSES:
        return Boundness("memory", "counters", f"{sentence}: memory-bound, by its counters.")
    if misses > FEW_MISSES:
        sentence = f"{sentence}: between computation-bound and memory-bound, undecided from {FEW_MISSES:g} to "
        return Boundness(None, "counters", f"{sentence}{MANY_MISSES:g}.")
    return Boundness("computation", "counters", f"{sentence}: computation-bound, by its counters.")


def bound_by_waiting(curves: CurveTable, column: int, roofline: Roofline | None) -> Boundness:
    """Return communication or imbalance as the limit, whichever takes more of the thread time."""
    communication, imbalance = waiting_shares(curves, column).tolist()
    where = f"At {counted(int(curves.n[column]), 'thread')}"
    if imbalance > communication:
        sentence = f"{where} {whole_percent(imbalance)} of thread time is work imbalance: "
        return Boundness("imbalance", "scaling", f"{sentence}limited by the distribution of work, not by the hardware.")
    n = int(curves.n[column])
    sentence = f"{where} {whole_percent(communication)} of thread time is spent in locks and task management: "
    transfers = [(threads, seconds) for threads, seconds in (roofline.lock if roofline else ()) if threads <= n]
    latency = ""
    if transfers:
        latency = f"; the lock-transfer latency is {transfers[-1][1] * 1e9:.3g} ns among {transfers[-1][0]} threads"
    by = "roofline" if transfers else "scaling"
    return Boundness("communication", by, f"{sentence}communication-bound{latency}.")


def bound_by_bandwidth(curves: CurveTable, column: int, machine: MachineFacts) -> Boundness | None:
    """Return memory as the limit if the useful work gains no more with n threads than the bandwidth does.

    If it gains more, the limit is unknown, because it may be computing or the latency of memory. Return None without
    measured ceilings, if bandwidth and arithmetic have similar gains, or if locks and tasks disturb the comparison.
    """
    if machine.roofline is None:
        return None
    first, last = machine.roofline.roof_at(1), machine.roofline.roof_at(int(curves.n[column]))
    if first is None or last is None or last.n != curves.n[column] or last.n == 1:
        return None
    bandwidth, peak = last.bytes_per_s / first.bytes_per_s, last.flop_per_s / first.flop_per_s
    if bandwidth > DISTINCT_GAINS * peak or waiting_shares(curves, column)[0] >= CONTENDED_SHARE:
        return None
    gain = last.n * float(curves.redundancy[0] / curves.redundancy[column])
    growth = f"From 1 to {last.n} threads the bandwidth grows {bandwidth:.3g} times and the arithmetic {peak:.3g} times"
    if gain <= bandwidth * (1 + FOLLOWING_DEVIATION):
        sentence = f"{growth}; its useful work {gain:.3g} times: memory-bound, by the scaling of the roofline."
        return Boundness("memory", "roofline", sentence)
    sentence = f"{growth}; its useful work {gain:.3g} times: memory bandwidth does not limit it. Without counters, "
    return Boundness(None, "roofline", f"{sentence}computation and memory latency cannot be distinguished.")


def bound_by_redundancy(curves: CurveTable, column: int, machine: MachineFacts) -> Boundness:
    """Return memory as the limit if the redundancy is higher than computing explains, otherwise an unknown limit."""
    n, where = int(curves.n[column]), counted(int(curves.n[column]), "thread")
    grown = float(curves.redundancy[column] / curves.redundancy[0])
    explained = machine.redundancy_of_computing(n)
    cannot_tell = "Without counters, computation-bound and memory-bound cannot be distinguished."
    if explained is None or n == 1 or not np.isfinite(grown):
        return Boundness(
            None, "scaling", f"At {where} its redundancy is {grown:.3g} times that of one thread. {cannot_tell}"
        )
    causes = "the falling clock" + (" and SMT threads" if machine.n_ht and n > machine.n_ht else "")
    growth = f"At {where} its redundancy is {grown:.3g} times that of one thread; {causes} may explain {explained:.3g}"
    contended = waiting_shares(curves, column)[0] >= CONTENDED_SHARE
    if grown >= UNEXPLAINED_REDUNDANCY * explained and not contended:
        return Boundness("memory", "scaling", f"{growth}: memory-bound, by its scaling alone.")
    return Boundness(None, "scaling", f"{growth}. {cannot_tell}")


def unexplained_waiting(curves: CurveTable, column: int) -> Boundness:
    """Return an unknown limit, because the predicted share of waiting is too near the threshold."""
    share = whole_percent(waiting_shares(curves, column).max())
    where = f"At {counted(int(curves.n[column]), 'thread')}"
    sentence = (
        f"{where} {share} of predicted thread time is waiting: too close to "
        f"{whole_percent(WAITING_SHARE)} to decide whether waiting or the hardware limits it."
    )
    return Boundness(None, "scaling", sentence)


def unexplained_loss(curves: CurveTable, column: int) -> Boundness:
    """Return an unknown limit, because the profile is time-only."""
    share, where = max(excess_share(curves, column), 0.0), counted(int(curves.n[column]), "thread")
    lost = f"{whole_percent(share)} of thread time at {where} is lost"
    if share < WORTH_NAMING_SHARE:
        return Boundness(None, "scaling", f"{lost}: nothing limits it there.")
    lost += "."
    return Boundness(
        None,
        "scaling",
        f"{lost} Wall times alone do not show whether computation, memory, communication or imbalance limits it.",
    )
