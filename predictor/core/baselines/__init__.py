"""Plain ways to predict, which a method must beat before it may claim accuracy.

All work on log(n t(n)), interpolated linearly in ln n, over the reference platforms (those that have A and share a
benchmark with the target) and the benchmarks known on the target. `noise` is apart: it is the floor, no method.
"""

from __future__ import annotations

from typing import Any

from predictor.core.answers import Method
from predictor.core.baselines.laws import AMDAHL_BASELINE, USL_BASELINE
from predictor.core.baselines.nearest import COPY, FREQUENCY, IDEAL, SPEED_RATIO, SPEED_RATIO_PER_N
from predictor.core.baselines.regression import ADDITIVE, BOOSTING, KERNEL_RIDGE, LOW_RANK, RIDGE

BASELINES: tuple[Method[Any], ...] = (
    IDEAL,
    COPY,
    FREQUENCY,
    SPEED_RATIO,
    SPEED_RATIO_PER_N,
    ADDITIVE,
    AMDAHL_BASELINE,
    USL_BASELINE,
    RIDGE,
    KERNEL_RIDGE,
    LOW_RANK,
    BOOSTING,
)
