"""Which part limits a profile, at which n, and what would be won without it: from measured curves. No Django."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profiles.measurements import FloatArray, IntArray
from profiles.scaling.names import FRACTIONS
from profiles.scaling.runs import ScalingCurves

LOSSES = ("redundancy", *FRACTIONS)
WORTH_NAMING = 0.02  # of the thread time


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


def sentences(curves: ScalingCurves, n_nu: int | None = None, n_ht: int | None = None) -> list[str]:
    """What limits this profile, in words and numbers; nothing for a sequential one."""
    if len(curves.n) < 2 or not np.isfinite(curves.t1_s):
        return []
    said = [scaling_sentence(curves), saturation_sentence(curves)]
    if curves.decomposed:
        said += loss_sentences(curves)
    said += [
        breakpoint_sentence(curves, n_nu, n_ht, "a second NUMA node is used"),
        breakpoint_sentence(curves, n_ht, None, "hyperthreads are used"),
    ]
    return [sentence for sentence in said if sentence]


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
