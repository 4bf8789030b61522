"""The limits of a profile or a prediction: as sentences with numbers, and as a document for pages and the API."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal, TypedDict

import numpy as np

from profiles.scaling.boundness import boundness
from profiles.scaling.losses import (
    WORTH_NAMING_SHARE,
    Bottleneck,
    bottlenecks,
    has_scaling,
    limiting_ranges,
    loss_shares,
)
from profiles.scaling.roofline import NOTHING_KNOWN, MachineFacts, RooflinePoint
from profiles.scaling.runs import CurveTable
from profiles.scaling.wording import counted, whole_percent


class BoundDocument(TypedDict):
    kind: Annotated[
        Literal["memory", "communication", "computation", "imbalance"] | None, "Kind of the bound; null if unknown."
    ]
    by: Literal["counters", "roofline", "scaling"]


class LimitsDocument(TypedDict):
    sentences: list[str]
    bottlenecks: list[Bottleneck]
    bound: BoundDocument | None


def limits_document(
    curves: CurveTable, machine: MachineFacts, point: RooflinePoint | None = None, *, predicted: bool = False
) -> dict[str, Any]:
    """Return a `LimitsDocument`. `bound` is None for a sequential profile.

    >>> import numpy as np
    >>> values = np.full((15, 2), np.nan)
    >>> values[:8] = 0.0; values[0] = 8.0, 4.0; values[1] = 1.0, 0.5; values[3, 1] = 0.5  # half of it is imbalance
    >>> curves = CurveTable(np.array([1, 2]), values, decomposed=True, sequential=False, t1_s=8.0)
    >>> limits_document(curves, MachineFacts())["bound"]
    {'kind': 'imbalance', 'by': 'scaling'}
    """
    bound = boundness(curves, machine, point, predicted=predicted)
    return {
        "sentences": limit_sentences(curves, machine, point, predicted=predicted),
        "bottlenecks": [asdict(bottleneck) for bottleneck in bottlenecks(curves, machine)],
        "bound": bound and {"kind": bound.kind, "by": bound.by},
    }


def limit_sentences(
    curves: CurveTable,
    machine: MachineFacts = NOTHING_KNOWN,
    point: RooflinePoint | None = None,
    *,
    predicted: bool = False,
) -> list[str]:
    """Return sentences with numbers on what limits a profile or a prediction, none for a sequential profile.

    `machine` holds the known facts about the platform. `point` is the profile's position in the platform's roofline,
    from counters.

    >>> from profiles.measurements import RunTable
    >>> from profiles.scaling.runs import scaling_curves
    >>> runs = RunTable(np.array([1, 4]), np.ones(2, int), np.zeros(2, bool), np.array([12.0, 4.0]))
    >>> limit_sentences(scaling_curves(runs))[0]
    '4 threads are 3 times as fast as one: 75 % of the ideal speedup.'
    """
    if not has_scaling(curves):
        return []
    sentences = [scaling_sentence(curves), saturation_sentence(curves)]
    if curves.decomposed:
        sentences += loss_sentences(curves, machine)
    sentences += [
        breakpoint_sentence(curves, machine.n_nu, machine.n_ht, "a second NUMA node is used"),
        breakpoint_sentence(curves, machine.n_ht, None, "SMT threads are used"),
    ]
    bound = boundness(curves, machine, point, predicted=predicted)
    return [sentence for sentence in (*sentences, bound.sentence if bound else "") if sentence]


def scaling_sentence(curves: CurveTable) -> str:
    n = int(curves.n[-1])
    speedup = float(curves.t1_s / curves.time_s[-1])
    times = "" if f"{speedup:.3g}" == "1" else f"{speedup:.3g} times "
    return f"{n} threads are {times}as fast as one: {whole_percent(speedup / n)} of the ideal speedup."


def saturation_sentence(curves: CurveTable) -> str:
    """Return a sentence on how much longer the largest n takes than the fastest n, or an empty string."""
    best, last = int(curves.time_s.argmin()), len(curves.n) - 1
    slower = curves.time_s[last] / curves.time_s[best] - 1
    if best == last or slower < WORTH_NAMING_SHARE:
        return ""
    fastest = counted(int(curves.n[best]), "thread")
    return f"Fastest with {fastest}; with {curves.n[last]} it takes {whole_percent(slower)} longer."


def loss_sentences(curves: CurveTable, machine: MachineFacts) -> list[str]:
    """Return sentences on the losses at the largest n, the speedup without the largest one, and the main loss by n."""
    shares = loss_shares(curves)
    if np.isnan(shares[:, -1]).any():
        return []
    n, losses = int(curves.n[-1]), bottlenecks(curves, machine)
    if not losses:
        return [f"At {n} threads no part loses more than {whole_percent(WORTH_NAMING_SHARE)} of thread time."]
    named = ", ".join(f"{spell_part(loss.part)} {whole_percent(loss.share)}" for loss in losses[:3])
    sentences = [f"Lost thread time at {n} threads: {named}."]
    if bounded := next((loss for loss in losses if loss.speedup_without is not None), None):
        sentences.append(
            f"Without its {spell_part(bounded.part)}, the speedup at {n} threads could be "
            f"{bounded.speedup_without:.3g} at best, instead of {bounded.speedup:.3g}."
        )
    ranges = limiting_ranges(curves.n, shares)
    if len({part for part, _, _ in ranges}) > 1:
        spans = (f"at n = {first}" if first == to else f"from n = {first} to {to}" for _, first, to in ranges)
        led = "; ".join(f"{spell_part(part)} {span}" for (part, _, _), span in zip(ranges, spans, strict=True))
        sentences.append(f"The largest loss is {led}.")
    return sentences


def breakpoint_sentence(curves: CurveTable, after: int | None, until: int | None, what: str) -> str:
    """Return how the efficiency changes from the last n before a breakpoint to the last n of the segment beyond."""
    if after is None:
        return ""
    before = np.flatnonzero(curves.n <= after)
    beyond = np.flatnonzero((curves.n > after) & (curves.n <= (until or curves.n[-1])))
    if not len(before) or not len(beyond):
        return ""
    efficiency = curves.t1_s / curves.time_s / curves.n
    a, b = int(before[-1]), int(beyond[-1])
    return (
        f"Where {what} (n > {after}), the efficiency goes from {whole_percent(efficiency[a])} at n = {curves.n[a]} "
        f"to {whole_percent(efficiency[b])} at n = {curves.n[b]}."
    )


def spell_part(part: str) -> str:
    return part.replace("_", " ")
