"""Baselines: simple methods that every other method must outperform.

All use log(n t(n)), interpolated linearly in ln n, of the reference platforms (those that have A and share a benchmark
with the target) and the benchmarks known on the target. The noise floor is not a baseline, because it is not a
method.
"""

from __future__ import annotations

from typing import Any

from predictor.core.answers import Method
from predictor.core.baselines.answers import NoSettings, baseline_method
from predictor.core.baselines.laws import amdahl_terms, law_estimator, usl_terms
from predictor.core.baselines.nearest import (
    check_clocks,
    estimate_by_frequency,
    estimate_by_speed_ratio,
    estimate_by_speed_ratio_per_n,
    estimate_copy,
    estimate_ideal,
)
from predictor.core.baselines.regression import (
    MOST_REFERENCES,
    BoostingSettings,
    KernelRidgeSettings,
    LowRankSettings,
    estimate_additive,
    estimate_boosting,
    estimate_kernel_ridge,
    estimate_low_rank,
    estimate_ridge,
)

BASELINES: tuple[Method[Any], ...] = (
    baseline_method("ideal", NoSettings, estimate_ideal, "Ideal scaling: t(1) from one speed ratio, divided by n."),
    baseline_method("copy-nearest", NoSettings, estimate_copy, "The times of the machine with the most similar times."),
    baseline_method(
        "frequency-scaling",
        NoSettings,
        estimate_by_frequency,
        "The times of the most similar machine, scaled by the clock ratio.",
        check_references=check_clocks,
    ),
    baseline_method(
        "speed-ratio",
        NoSettings,
        estimate_by_speed_ratio,
        "One geometric mean speed ratio from the most similar machine.",
    ),
    baseline_method(
        "speed-ratio-per-n",
        NoSettings,
        estimate_by_speed_ratio_per_n,
        "A speed ratio for each n from the most similar machine.",
    ),
    baseline_method(
        "additive-log", NoSettings, estimate_additive, "Additive model: log time = machine speed + workload size."
    ),
    baseline_method(
        "amdahl",
        NoSettings,
        law_estimator(amdahl_terms),
        "Amdahl's law, fitted on the most similar machine, with one speed ratio.",
    ),
    baseline_method(
        "usl",
        NoSettings,
        law_estimator(usl_terms),
        "Gunther's universal scalability law, fitted on the most similar machine, with one speed ratio.",
    ),
    baseline_method(
        "ridge",
        NoSettings,
        estimate_ridge,
        "Ridge regression on the log times of the benchmarks.",
        most_references=MOST_REFERENCES,
    ),
    baseline_method(
        "kernel-ridge",
        KernelRidgeSettings,
        estimate_kernel_ridge,
        "Kernel ridge regression (Gaussian) on the same log times.",
        most_references=MOST_REFERENCES,
    ),
    baseline_method(
        "low-rank",
        LowRankSettings,
        estimate_low_rank,
        "Low-rank factorisation of the log times.",
        most_references=MOST_REFERENCES,
    ),
    baseline_method(
        "gradient-boosting",
        BoostingSettings,
        estimate_boosting,
        "Gradient boosted trees on log times and platform metadata.",
        most_references=MOST_REFERENCES,
    ),
)
