"""What every way of transfer gives: ln(n t(n)) at the knots, how sure it is, and what carried it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from predictor.core.database import FloatArray


@dataclass(frozen=True, eq=False)
class Transfer:
    """ln(n t(n)) of A on T at the knots (J,) and half the width of its interval, with what carried it.

    `platform_weights` (J, R) sum to 1 at each knot and `workload_weights` (B,) to 1. `platform_distance` (R,) and
    `workload_distance` (B,) are in 0..1: 0 behaves exactly alike.
    """

    value: FloatArray
    half_width: FloatArray
    platform_weights: FloatArray
    workload_weights: FloatArray
    platform_distance: FloatArray
    workload_distance: FloatArray


def mean_transfer(transfers: Sequence[Transfer]) -> Transfer:
    """The mean of several transfers in logs, and of their intervals: it is hardly ever worse than its parts."""

    def mean(name: str) -> FloatArray:
        return np.asarray(np.mean([getattr(one, name) for one in transfers], axis=0))

    return Transfer(
        value=mean("value"),
        half_width=mean("half_width"),
        platform_weights=mean("platform_weights"),
        workload_weights=mean("workload_weights"),
        platform_distance=mean("platform_distance"),
        workload_distance=mean("workload_distance"),
    )
