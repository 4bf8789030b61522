"""What every way of transfer gives: ln(n t(n)) at the knots, how sure it is, and what carried it."""

from __future__ import annotations

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


def mean_transfer(first: Transfer, second: Transfer) -> Transfer:
    """The mean of two transfers in logs; their disagreement widens the interval."""

    def mean(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray((a + b) / 2)

    return Transfer(
        value=mean(first.value, second.value),
        half_width=np.hypot(mean(first.half_width, second.half_width), (first.value - second.value) / 2),
        platform_weights=mean(first.platform_weights, second.platform_weights),
        workload_weights=mean(first.workload_weights, second.workload_weights),
        platform_distance=mean(first.platform_distance, second.platform_distance),
        workload_distance=mean(first.workload_distance, second.workload_distance),
    )
