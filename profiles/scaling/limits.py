"""What limits a profile or a prediction, as a document for pages and the API."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal, TypedDict

from profiles.scaling.boundness import boundness
from profiles.scaling.losses import Bottleneck, bottlenecks
from profiles.scaling.roofline import MachineFacts, RooflinePoint
from profiles.scaling.runs import CurveTable
from profiles.scaling.sentences import limit_sentences


class BoundDocument(TypedDict):
    kind: Annotated[Literal["memory", "communication", "computation", "imbalance"] | None, "null: cannot be told."]
    by: Literal["counters", "roofline", "scaling"]


class LimitsDocument(TypedDict):
    sentences: list[str]
    bottlenecks: list[Bottleneck]
    bound: BoundDocument | None


def limits_document(
    curves: CurveTable, machine: MachineFacts, point: RooflinePoint | None = None, *, predicted: bool = False
) -> dict[str, Any]:
    """A `LimitsDocument`; `bound` is None for a sequential profile.

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
