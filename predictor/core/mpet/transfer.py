"""What every way of transfer gives: ln(n t(n)) at the knots, how sure it is, and what carried it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from profiles.arrays import BoolArray, FloatArray

LEAST_SQUARED_ERROR = 1e-6  # of an error in ln t: smaller ones are alike


class LeftOutErrors(NamedTuple):
    """A on the references as if each were T: errors in ln t, expected deviations, and where they tell anything."""

    errors: FloatArray  # (J, R)
    deviations: FloatArray  # (J, R)
    usable: BoolArray  # (J, R)


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
    left_out: LeftOutErrors | None = None  # of one process, not of a mean


AVERAGED_FIELDS = tuple(field.name for field in fields(Transfer) if field.name not in ("half_width", "left_out"))


def mean_transfer(transfers: Sequence[Transfer], alike: float = 1.0) -> Transfer:
    """The mean of several transfers in logs, which is hardly ever worse than its parts.

    Each counts as the inverse of its root mean square error for T's known workloads: shares s, with sum 1. Half the
    interval is

        prod h^s * sqrt(alike + (1 - alike) sum s^2)

    for the mean errs less than its parts if their errors are not all `alike` (their correlation).

    Example: values 1 and 2 of transfers that err by 0.1 and 0.3 have the shares 3/4 and 1/4.

    >>> one, none = np.ones(1), np.zeros(1)
    >>> better = Transfer(np.array([1.0]), np.array([0.2]), one, one, none, none, errors_on_target=np.array([[0.1]]))
    >>> worse = replace(better, value=np.array([2.0]), errors_on_target=np.array([[0.3]]))
    >>> mean_transfer([better, worse]).value.round(3).tolist()
    [1.25]
    """
    squares = [(transfer.errors_on_target**2).sum() / transfer.errors_on_target.size for transfer in transfers]
    inverses = [float(square + LEAST_SQUARED_ERROR) ** -0.5 for square in squares]
    shares = [inverse / sum(inverses) for inverse in inverses]

    def mean(name: str) -> FloatArray:
        total: FloatArray = shares[0] * getattr(transfers[0], name)
        for share, transfer in zip(shares[1:], transfers[1:], strict=True):
            total += share * getattr(transfer, name)
        return total

    half_width = np.full(len(transfers[0].value), math.sqrt(alike + (1.0 - alike) * sum(share**2 for share in shares)))
    for share, transfer in zip(shares, transfers, strict=True):
        half_width *= transfer.half_width**share
    return replace(transfers[0], left_out=None, half_width=half_width, **{name: mean(name) for name in AVERAGED_FIELDS})
