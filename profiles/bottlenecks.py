"""What limits a profile or a prediction: which part, at which n, what would be won without it, and by what the hardware
limits it. From curves, and from the machine's ceilings and the counters where they are there. No Django."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profiles.measurements import FloatArray, IntArray
from profiles.roofline import LINE_BYTES, Placed, Roof, Roofline
from profiles.scaling.names import FRACTIONS
from profiles.scaling.runs import ScalingCurves

LOSSES = ("redundancy", *FRACTIONS)
COMMUNICATION = ("lock_delay", "task_creation", "task_distribution", "task_switching", "task_join")
WORTH_NAMING = 0.02  # of the thread time
LIMITING = 0.1  # of the thread time: less limits nothing
NEAR_ROOF = 0.5  # of the memory's bandwidth
FAR_APART = 0.75  # bandwidth gains less than so much of what arithmetic gains: the two can be told apart
FOLLOWS = 0.15  # a speedup so near that of the bandwidth follows it


def loss_shares(curves: ScalingCurves) -> FloatArray:
    """Shares of the thread time n t(n) that are no part of the sequential work, (7, N), in the order of LOSSES.

        1 = S(n)/n + r(n) + l(n) + w(n) + c(n) + d(n) + s(n) + j(n),    r(n) = U(n) - S(n)/n = U(n) (1 - 1/R(n))

    so that what is lost is the distance to the ideal speedup, part by part (Eq. 3-4). r is the excess of computing:
    negative where n threads together compute less than one did (caches). Example: R = 1.25, w = 0.2, others 0: U is
    0.8, S/n = 0.8/1.25 = 0.64, r = 0.16; 0.64 + 0.16 + 0.2 = 1.

    Parameters: `curves` of a profile, N thread counts; a time-only profile has U = 1 and its fractions count as 0.
    Returns (7, N) without unit. NaN: invalid at that n.
    """
    used = curves.utilisation
    excess = used * (1 - 1 / curves.redundancy)
    fractions = np.zeros((len(FRACTIONS), len(curves.n))) if curves.fractions is None else curves.fractions
    return np.vstack([excess, fractions])


@dataclass(frozen=True)
class Pop:
    """The efficiencies of the POP project, (N,) each, without unit: global = parallel x computation scaling."""

    parallel: FloatArray
    computation: FloatArray

    @property
    def whole(self) -> FloatArray:
        return self.parallel * self.computation


def pop_efficiencies(curves: ScalingCurves) -> Pop:
    """Parallel efficiency U(n), computation scaling 1/R(n), and their product, the efficiency S(n)/n (Eq. 3).

    Both begin at U(1) and 1/R(1) = 1/U(1): what one thread alone loses is no loss of scaling, and S(1) = 1.
    """
    return Pop(curves.utilisation, 1 / curves.redundancy)


@dataclass(frozen=True)
class Bound:
    """What would be without one part at n threads, the others unchanged: an upper bound of what can be won."""

    part: str
    n: int
    share: float
    time_s: float
    speedup: float


def bound_without(curves: ScalingCurves, part: str, n: int) -> Bound:
    """t(n) and S(n) if the thread time of one part were 0 and that of the others as it is.

        t'(n) = t(n) (1 - x),    S'(n) = S(n) / (1 - x),    x the part's share of n t(n)

    Example: S = 8 and a work imbalance of 20 %: at best S' = 8 / 0.8 = 10.
    """
    at = curves.n.tolist().index(n)
    share = float(loss_shares(curves)[LOSSES.index(part), at])
    time_s = float(curves.time_s[at]) * (1 - share)
    return Bound(part, n, share, time_s, float(curves.t1_s) / time_s)


def limiting_ranges(n: IntArray, shares: FloatArray) -> list[tuple[str, int, int]]:
    """(part, first n, last n): where which part loses most; thread counts where nothing worth naming is lost are gaps.

    >>> limiting_ranges(np.array([1, 2, 4]), np.array([[0, 0.1, 0.1], [0, 0, 0.3]] + 5 * [[0, 0, 0]]))
    [('redundancy', 2, 2), ('lock_delay', 4, 4)]
    """
    ranges: list[tuple[str, int, int]] = []
    previous = ""
    for at, count in enumerate(n.tolist()):
        column = np.nan_to_num(shares[:, at], nan=-1.0)
        part = LOSSES[int(column.argmax())] if column.max() >= WORTH_NAMING else ""
        if part and part == previous:
            ranges[-1] = (part, ranges[-1][1], count)
        elif part:
            ranges.append((part, count, count))
        previous = part
    return ranges


@dataclass(frozen=True)
class Bottleneck:
    """A part that costs something at the largest n: its share of the thread time, and the speedup with and without it.

    It leads from `first_n` to `last_n` (None: nowhere).
    """

    part: str
    n: int
    share: float
    speedup: float
    speedup_without: float
    first_n: int | None
    last_n: int | None


def bottlenecks(curves: ScalingCurves) -> list[Bottleneck]:
    """The parts that lose at least 2 % of the thread time at the largest n, the costliest first; of a time-only profile
    the redundancy, which then stands for everything."""
    if not scales(curves):
        return []
    shares, n = loss_shares(curves), int(curves.n[-1])
    led = {part: (first, last) for part, first, last in reversed(limiting_ranges(curves.n, shares))}
    order = np.argsort(-np.nan_to_num(shares[:, -1]), kind="stable")
    found = [bound_without(curves, LOSSES[at], n) for at in order if shares[at, -1] >= WORTH_NAMING]
    speedup = float(curves.t1_s / curves.time_s[-1])
    return [Bottleneck(one.part, n, one.share, speedup, one.speedup, *led.get(one.part, (None, None))) for one in found]


def scales(curves: ScalingCurves) -> bool:
    return len(curves.n) > 1 and bool(np.isfinite(curves.t1_s)) and bool(np.isfinite(curves.time_s[-1]))


@dataclass(frozen=True)
class Boundness:
    """`kind`: memory, communication, computation or imbalance; None: cannot be told. `by`: roofline or scaling."""

    kind: str | None
    by: str
    sentence: str


def boundness(
    curves: ScalingCurves, placed: Placed | None = None, roofline: Roofline | None = None
) -> Boundness | None:
    """Which resource limits the largest n; None for a sequential profile.

    By the roofline where counters place the profile (`placed`) below the machine's ceilings: from half the memory's
    bandwidth on it is memory-bound. Otherwise by how it scales, and the sentence says so.
    """
    if not scales(curves):
        return None
    lost = communication_share(curves)
    roof = roof_at(roofline, int(curves.n[-1]))
    if placed is not None and roof is not None and lost <= LIMITING:
        return by_roofline(placed, roof)
    if lost > LIMITING and lost >= excess_share(curves):
        return by_communication(curves, lost, roofline)
    if roofline is not None and roofline.roofs and (found := by_bandwidth(curves, roofline)) is not None:
        return found
    return by_pattern(curves)


def roof_at(roofline: Roofline | None, n: int) -> Roof | None:
    """The roof of the most threads up to n."""
    below = [roof for roof in (roofline.roofs if roofline else ()) if roof.n <= n]
    return below[-1] if below else None


def communication_share(curves: ScalingCurves) -> float:
    """Of the thread time at the largest n: waiting for locks, and the handling of tasks; 0 where nobody split it."""
    if curves.fractions is None:
        return 0.0
    return float(sum(np.nan_to_num(curves.curve(part)[-1]) for part in COMMUNICATION))


def excess_share(curves: ScalingCurves) -> float:
    """Of the thread time at the largest n: computing that one thread alone would not need."""
    return float(np.nan_to_num(loss_shares(curves)[0, -1]))


def by_roofline(placed: Placed, roof: Roof) -> Boundness:
    """
    >>> by_roofline(Placed("a", 8, 1e9, 1e9, 4.0), Roof(8, 100e9, 20e9)).sentence
    'At 8 threads it moves 16 GB/s, 80% of what the memory gives (20 GB/s): memory-bound, by the roofline.'
    """
    rate = LINE_BYTES * placed.misses / placed.time_s
    share = rate / roof.bytes_per_s
    moved = f"At {placed.n} threads it moves {rate / 1e9:.3g} GB/s, {share:.0%} of what the memory gives"
    moved += f" ({roof.bytes_per_s / 1e9:.3g} GB/s)"
    if share >= NEAR_ROOF:
        return Boundness("memory", "roofline", f"{moved}: memory-bound, by the roofline.")
    return Boundness("computation", "roofline", f"{moved}: computation-bound, by the roofline.")


def by_communication(curves: ScalingCurves, lost: float, roofline: Roofline | None) -> Boundness:
    n = int(curves.n[-1])
    sentence = (
        f"At {n} threads {lost:.0%} of the thread time go into locks and the handling of tasks: communication-bound"
    )
    handed = [(at, seconds) for at, seconds in (roofline.lock if roofline else ()) if at <= n]
    if handed:
        sentence += f"; handing a lock over takes {handed[-1][1] * 1e9:.3g} ns among {handed[-1][0]} threads there"
    return Boundness("communication", "roofline" if handed else "scaling", f"{sentence}.")


def by_bandwidth(curves: ScalingCurves, roofline: Roofline) -> Boundness | None:
    """Where the machine's bandwidth gains much less by threads than its arithmetic does: which of them the speedup
    follows. None where they cannot be told apart, or it follows neither."""
    first, last = roof_at(roofline, 1), roof_at(roofline, int(curves.n[-1]))
    if first is None or last is None or last.n == 1 or last.n not in curves.n:
        return None
    bandwidth, peak = last.bytes_per_s / first.bytes_per_s, last.flop_per_s / first.flop_per_s
    speedup = float(curves.t1_s / curves.time_s[curves.n.tolist().index(last.n)])
    if bandwidth > FAR_APART * peak:
        return None
    known = f"With {last.n} threads the machine's bandwidth gains {bandwidth:.3g} and its arithmetic {peak:.3g}"
    for kind, gain in (("memory", bandwidth), ("computation", peak)):
        if abs(speedup / gain - 1) <= FOLLOWS:
            sentence = f"{known}; this gains {speedup:.3g}: {kind}-bound, by the scaling of the roofline's ceilings."
            return Boundness(kind, "roofline", sentence)
    return None


def by_pattern(curves: ScalingCurves) -> Boundness:
    """From the curves alone: which of computing in excess and imbalance costs most."""
    n, excess = int(curves.n[-1]), excess_share(curves)
    efficiency = float(curves.t1_s / curves.time_s[-1] / n)
    if not curves.decomposed:
        if excess < LIMITING:
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
    if max(excess, imbalance) < LIMITING:
        sentence = f"No loss takes more than {max(excess, imbalance, 0):.0%} of the thread time at {n} threads: "
        return Boundness("computation", "scaling", f"{sentence}computation-bound, by its scaling alone.")
    if imbalance > excess:
        sentence = (
            f"{imbalance:.0%} of the thread time at {n} threads is work imbalance: limited by how the work is split"
        )
        return Boundness("imbalance", "scaling", f"{sentence}, not by the hardware.")
    sentence = (
        f"Computing itself takes {excess:.0%} of the thread time at {n} threads more than with one: the threads share"
    )
    return Boundness("memory", "scaling", f"{sentence} caches and memory. Memory-bound, by its scaling alone.")


def sentences(
    curves: ScalingCurves,
    n_nu: int | None = None,
    n_ht: int | None = None,
    placed: Placed | None = None,
    roofline: Roofline | None = None,
) -> list[str]:
    """What limits a profile or a prediction, in words and numbers; nothing for a sequential one."""
    if not scales(curves):
        return []
    said = [scaling_sentence(curves), saturation_sentence(curves)]
    if curves.decomposed:
        said += loss_sentences(curves)
    said += [
        breakpoint_sentence(curves, n_nu, n_ht, "a second NUMA node is used"),
        breakpoint_sentence(curves, n_ht, None, "hyperthreads are used"),
    ]
    bound = boundness(curves, placed, roofline)
    return [sentence for sentence in (*said, bound.sentence if bound else "") if sentence]


def scaling_sentence(curves: ScalingCurves) -> str:
    n = int(curves.n[-1])
    speedup = float(curves.t1_s / curves.time_s[-1])
    return f"{n} threads are {speedup:.3g} times as fast as one: {speedup / n:.0%} of the ideal speedup."


def saturation_sentence(curves: ScalingCurves) -> str:
    """Where more threads make it slower."""
    best, last = int(curves.time_s.argmin()), len(curves.n) - 1
    slower = curves.time_s[last] / curves.time_s[best] - 1
    if best == last or slower < WORTH_NAMING:
        return ""
    return f"It is the fastest with {curves.n[best]} threads; with {curves.n[last]} it takes {slower:.0%} longer."


def loss_sentences(curves: ScalingCurves) -> list[str]:
    """What is lost at the largest n, where which part leads, and what its absence would give."""
    shares = loss_shares(curves)
    last = shares[:, -1]
    if np.isnan(last).any():
        return []
    order = [int(at) for at in np.argsort(-last) if last[at] >= WORTH_NAMING]
    n = int(curves.n[-1])
    if not order:
        return [f"At {n} threads no part loses more than {WORTH_NAMING:.0%} of the thread time."]
    named = ", ".join(f"{words(LOSSES[at])} {last[at]:.0%}" for at in order[:3])
    bound = bound_without(curves, LOSSES[order[0]], n)
    said = [
        f"At {n} threads, of the thread time are lost: {named}.",
        f"Without its {words(bound.part)}, the speedup at {n} threads could be {bound.speedup:.3g} at best, "
        f"instead of {curves.t1_s / curves.time_s[-1]:.3g}.",
    ]
    ranges = limiting_ranges(curves.n, shares)
    if len({part for part, _, _ in ranges}) > 1:
        led = "; ".join(f"{words(part)} {span(first, to)}" for part, first, to in ranges)
        said.append(f"The largest loss is {led}.")
    return said


def breakpoint_sentence(curves: ScalingCurves, after: int | None, until: int | None, what: str) -> str:
    """How the efficiency changes from the last n before a breakpoint to the last one of the segment beyond it."""
    if after is None:
        return ""
    before = np.flatnonzero(curves.n <= after)
    beyond = np.flatnonzero((curves.n > after) & (curves.n <= (until or curves.n[-1])))
    if not len(before) or not len(beyond):
        return ""
    efficiency = curves.t1_s / curves.time_s / curves.n
    a, b = int(before[-1]), int(beyond[-1])
    return (
        f"Where {what} (n > {after}), the efficiency goes from {efficiency[a]:.0%} at n = {curves.n[a]} "
        f"to {efficiency[b]:.0%} at n = {curves.n[b]}."
    )


def span(first: int, last: int) -> str:
    """
    >>> span(4, 4), span(2, 8)
    ('at n = 4', 'from n = 2 to 8')
    """
    return f"at n = {first}" if first == last else f"from n = {first} to {last}"


def words(part: str) -> str:
    return part.replace("_", " ")
