"""What every way of transfer gives: ln(n t(n)) at the knots, how sure it is, and what carried it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from predictor.core.database import FloatArray

LEAST_SQUARE = 1e-6  # of an error in ln t: smaller ones are alike


@dataclass(frozen=True, eq=False)
class Transfer:
    """ln(n t(n)) of A on T at the knots (J,) and half the width of its interval, with what carried it.

    `platform_weights` (J, R) sum to 1 at each knot and `workload_weights` (B,) to 1. `platform_distance` (R,) and
    `workload_distance` (B,) are in 0..1: 0 behaves exactly alike. `errors_on_target` (J, B): how wrong T's known
    workloads would be, each predicted without itself.
    """

    value: FloatArray
    half_width: FloatArray
    platform_weights: FloatArray
    workload_weights: FloatArray
    platform_distance: FloatArray
    workload_distance: FloatArray
    errors_on_target: FloatArray


def mean_transfer(transfers: Sequence[Transfer]) -> Transfer:
    """The mean of several transfers in logs, and of their intervals, which is hardly ever worse than its parts.

    Each counts as the inverse of its root mean square error for T's known workloads.
    """
    squares = np.array([np.mean(one.errors_on_target**2) for one in transfers])
    shares = (squares + LEAST_SQUARE) ** -0.5
    shares /= shares.sum()

    def mean(name: str) -> FloatArray:
        return np.asarray(sum(share * getattr(one, name) for share, one in zip(shares, transfers, strict=True)))

    return Transfer(**{field.name: mean(field.name) for field in fields(Transfer)})
