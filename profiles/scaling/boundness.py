"""Which resource limits a profile or a prediction at n threads, and on what evidence; or that it cannot be told.

What was chosen on which simulated machines, and how often it is right on the others, stands in docs/limits.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profiles.arrays import FloatArray
from profiles.scaling.losses import has_scaling, loss_shares
from profiles.scaling.roofline import CACHE_LINE_BYTES, NOTHING_KNOWN, MachineFacts, Roof, Roofline, RooflinePoint
from profiles.scaling.runs import CurveTable
from profiles.scaling.wording import spell_threads, whole_percent

COMMUNICATION_PARTS = ("lock_delay", "task_creation", "task_distribution", "task_switching", "task_join")
WAITING_SHARE = 0.3  # of the thread time: from here on waiting for one another limits
PREDICTED_MARGIN = 0.1  # to either side of WAITING_SHARE: so near, a predicted share does not tell
CONTENDED_SHARE = 0.05  # of the thread time in locks and tasks: their cache lines may slow down the useful work, too
NEAR_ROOF_SHARE = 0.7  # of the memory's bandwidth
HIT_WEIGHT = 0.1  # a hit in the last-level cache takes about a tenth of what memory takes
LEAST_SPELLED = 0.01
FEW_MISSES, MANY_MISSES = 3.0, 8.0  # in 1000 instructions: computation-bound below, memory-bound above
DISTINCT_GAINS = 0.75  # bandwidth gains less than so much of what arithmetic gains: the two are distinguishable
FOLLOWING_DEVIATION = 0.15  # a speedup so near that of the bandwidth, or below, follows it
UNEXPLAINED_REDUNDANCY = 1.2  # times what computing alone may have


@dataclass(frozen=True)
class Boundness:
    """`kind`: memory, communication, computation or imbalance; None: unknown. `by`: the evidence, one of
    counters, roofline and scaling."""

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
    """What limits the profile at n threads, its largest where none is named; None for a sequential profile.

    Waiting for one another (communication, imbalance) limits where it takes WAITING_SHARE of the thread time. Otherwise
    it is what most of the useful work is: computing, or waiting for data from the last-level cache and memory (memory).
    Counters distinguish these two, or where the machine's ceilings were measured the traffic; curves alone tell where
    memory certainly limits. Where nothing tells, `kind` is None.

    Parameters: `curves`, measured or `predicted`; `machine`, what is known of it; `point`, where counters place the
    profile among the machine's ceilings, at one n. Errors: ValueError for an n that is not among the curves'.

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
    """Computing or memory, by the best evidence there is."""
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
    """The shares of the thread time at one n that go into locks and tasks, and into imbalance (2,); 0 where invalid.

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
    """The share of the thread time at one n that is computing which one thread alone would not need (Eq. 3-4).

        r(n) = U(n) (1 - 1/R(n)),    0 where it is invalid

    >>> values = np.full((15, 1), np.nan)
    >>> values[:2, 0] = 4.0, 1.25  # t, R; nobody split the time: U = 1
    >>> round(excess_share(CurveTable(np.array([4]), values, decomposed=False, sequential=False, t1_s=12.8), 0), 6)
    0.2
    """
    return float(np.nan_to_num(loss_shares(curves)[0, column]))


def misses_per_kilo_instruction(curves: CurveTable) -> FloatArray:
    """Loads in 1000 instructions that the first caches miss, weighted by what they wait for, (N,).

        1000 (m + 0.1 (a - m)),    m = (L1-LD/INSTR) / (L1-LD/LLC-LDM),    a = LLC-LD/INSTR

    m are the misses of the last-level cache (MPKI), a - m its hits. Where m was not counted, or was 0, a alone
    bounds it, and only as far as it decides: fewer accesses than FEW_MISSES cannot miss more often.
    Example: 20 loads reach the last-level cache in 1000 instructions and 10 of them memory: 10 + 0.1 * 10 = 11.
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
    missed = np.minimum(missed, reached)  # what misses the last-level cache has reached it, whatever a prediction says
    missed = np.where(np.isnan(missed) & (1000 * reached < FEW_MISSES), reached, missed)
    weighted: FloatArray = 1000 * (missed + HIT_WEIGHT * np.maximum(reached - missed, 0.0))
    return weighted


def traffic_share(point: RooflinePoint, roof: Roof) -> float:
    """The bytes that its misses move in a second, of the memory's bandwidth.

    >>> traffic_share(RooflinePoint("a", 8, 1e9, 1e9, 4.0), Roof(8, 100e9, 20e9))
    0.8
    """
    return CACHE_LINE_BYTES * point.misses / point.time_s / roof.bytes_per_s


def bound_by_traffic(point: RooflinePoint, roof: Roof) -> Boundness:
    """
    >>> bound_by_traffic(RooflinePoint("a", 8, 1e9, 1e9, 4.0), Roof(8, 100e9, 20e9)).sentence
    'At 8 threads it moves 16 GB/s, 80 % of what the memory gives (20 GB/s): memory-bound, by the roofline.'
    """
    share = traffic_share(point, roof)
    sentence = (
        f"At {spell_threads(point.n)} it moves {share * roof.bytes_per_s / 1e9:.3g} GB/s, {whole_percent(share)} of "
        f"what the memory gives ({roof.bytes_per_s / 1e9:.3g} GB/s): memory-bound, by the roofline."
    )
    return Boundness("memory", "roofline", sentence)


def bound_by_misses(curves: CurveTable, column: int, misses: float) -> Boundness:
    """Computing or memory, by how often the instructions wait for data."""
    spelled = f"{misses:.3g}" if misses >= LEAST_SPELLED else f"fewer than {LEAST_SPELLED:g}"
    counted = (
        f"At {spell_threads(int(curves.n[column]))} {spelled} of 1000 instructions miss the last-level "
        f"cache (a hit there counts as {HIT_WEIGHT:g} of a miss)"
    )
    if misses >= MANY_MISSES:
        return Boundness("memory", "counters", f"{counted}: memory-bound, by its counters.")
    if misses > FEW_MISSES:
        sentence = f"{counted}: whether computing or memory limits it cannot be told between {FEW_MISSES:g} and "
        return Boundness(None, "counters", f"{sentence}{MANY_MISSES:g}.")
    return Boundness("computation", "counters", f"{counted}: computation-bound, by its counters.")


def bound_by_waiting(curves: CurveTable, column: int, roofline: Roofline | None) -> Boundness:
    """Communication or imbalance, whichever takes more."""
    communication, imbalance = waiting_shares(curves, column).tolist()
    where = f"At {spell_threads(int(curves.n[column]))}"
    if imbalance > communication:
        sentence = f"{where} {whole_percent(imbalance)} of thread time is work imbalance: "
        return Boundness("imbalance", "scaling", f"{sentence}limited by how the work is split, not by the hardware.")
    n = int(curves.n[column])
    sentence = f"{where} {whole_percent(communication)} of thread time is spent in locks and the handling of tasks: "
    transfers = [(threads, seconds) for threads, seconds in (roofline.lock if roofline else ()) if threads <= n]
    latency = ""
    if transfers:
        latency = f"; the lock-transfer latency is {transfers[-1][1] * 1e9:.3g} ns among {transfers[-1][0]} threads"
    by = "roofline" if transfers else "scaling"
    return Boundness("communication", by, f"{sentence}communication-bound{latency}.")


def bound_by_bandwidth(curves: CurveTable, column: int, machine: MachineFacts) -> Boundness | None:
    """Where the machine's bandwidth gains much less by threads than its arithmetic does: whether the useful work gains
    no more than the bandwidth. None where the two are indistinguishable, or locks disturb."""
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
        sentence = f"{growth}; its useful work gains {gain:.3g}: memory-bound, by the scaling of the roofline."
        return Boundness("memory", "roofline", sentence)
    sentence = f"{growth}; its useful work gains {gain:.3g}: the bandwidth of the memory does not limit it. Whether "
    return Boundness(
        None, "roofline", f"{sentence}computing or the latency of memory does cannot be told without counters."
    )


def bound_by_redundancy(curves: CurveTable, column: int, machine: MachineFacts) -> Boundness:
    """Memory, where the threads do more than computing explains; else it cannot be told."""
    n, where = int(curves.n[column]), spell_threads(int(curves.n[column]))
    grown = float(curves.redundancy[column] / curves.redundancy[0])
    explained = machine.redundancy_of_computing(n)
    cannot_tell = "Whether computing or memory limits it cannot be told without counters."
    if explained is None or n == 1 or not np.isfinite(grown):
        return Boundness(None, "scaling", f"At {where} its redundancy is {grown:.3g} times that of one. {cannot_tell}")
    causes = "the falling clock" + (" and SMT threads" if machine.n_ht and n > machine.n_ht else "")
    growth = f"At {where} its redundancy is {grown:.3g} times that of one; {causes} may explain {explained:.3g}"
    contended = waiting_shares(curves, column)[0] >= CONTENDED_SHARE
    if grown >= UNEXPLAINED_REDUNDANCY * explained and not contended:
        return Boundness("memory", "scaling", f"{growth}: memory-bound, by its scaling alone.")
    return Boundness(None, "scaling", f"{growth}. {cannot_tell}")


def unexplained_waiting(curves: CurveTable, column: int) -> Boundness:
    """Where a predicted share of waiting is too near the limit to be told from it."""
    share = whole_percent(waiting_shares(curves, column).max())
    where = f"At {spell_threads(int(curves.n[column]))}"
    sentence = (
        f"{where} {share} of thread time is predicted to be lost in waiting: too near "
        f"{whole_percent(WAITING_SHARE)} to tell whether that or the hardware limits it."
    )
    return Boundness(None, "scaling", sentence)


def unexplained_loss(curves: CurveTable, column: int) -> Boundness:
    """Where nobody split the thread time."""
    share = whole_percent(max(excess_share(curves, column), 0.0))
    lost = f"{share} of thread time at {spell_threads(int(curves.n[column]))} is lost."
    return Boundness(
        None,
        "scaling",
        f"{lost} Whether computing, memory, communication or imbalance limits it cannot be told: only wall times were "
        "measured.",
    )
