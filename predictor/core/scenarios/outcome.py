"""What a scenario answers, and what it had to assume."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from predictor.core.answers import Answer
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.features import CURVE_NAMES, FEATURE_NAMES, FRACTIONS, feature_fit
from profiles.scaling.runs import CurveTable

MEDIUM, LOW = 1, 2  # levels of confidence that remain


@dataclass(frozen=True, eq=False)
class ScenarioOutcome:
    """A scenario's answer, and what it rests on.

    `baseline`: the answer before any change, where something was changed; `changes`: sentences that say what was;
    `lowered`: why the answer is less sure, each as (level of confidence that remains, reason).
    """

    answer: Answer
    baseline: Answer | None = None
    changes: tuple[str, ...] = ()
    lowered: tuple[tuple[int, str], ...] = ()
    largest_measured_n: int | None = None  # None: that of the references
    is_measured: bool = False  # the base is a measured profile: no candidates


@dataclass(frozen=True, eq=False)
class Assumed:
    """An answer after one change, the sentences that say so, and why it is less sure."""

    answer: Answer
    changes: list[str] = field(default_factory=list)
    lowered: list[tuple[int, str]] = field(default_factory=list)


def is_decomposed(answer: Answer) -> bool:
    """Whether the six fractions are predicted."""
    return not any(np.isnan(answer.curves[name]).all() for name in FRACTIONS)


def fractions_of(answer: Answer) -> FloatArray:
    """The six fractions (6, J), 0 for a time-only answer, kept in 0..1 as in reconstruction.

    >>> curves = dict.fromkeys(FRACTIONS, np.zeros(1)) | {"lock_delay": np.array([-0.1]), "task_join": np.array([0.25])}
    >>> fractions_of(Answer(1.0, np.array([1]), np.array([1.0]), np.empty(0), curves, [], []))[:, 0].tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.25]
    """
    values = np.stack([answer.curves[name] for name in FRACTIONS])
    return np.clip(values, 0.0, 1.0) if is_decomposed(answer) else np.zeros_like(values)


def log_half_widths(answer: Answer) -> FloatArray:
    """Half the interval of ln t(n), (J,); NaN where there is none.

    >>> low_s, high_s = np.array([8.0]), np.array([12.5])
    >>> answer = Answer(10.0, np.array([1]), np.array([10.0]), np.empty(0), {}, [], [], [], low_s, high_s)
    >>> np.exp(log_half_widths(answer)).round(9)
    array([1.25])
    """
    if answer.low_s is None or answer.high_s is None:
        return np.full(len(answer.n), np.nan)
    return np.asarray(np.log(answer.high_s / answer.low_s) / 2)


def refit_features(answer: Answer, n_nu: float, n_ht: float) -> Answer:
    """The same answer with the 84 elements fitted to its curves (Eq. 5-9).

    Parameters: `n_nu`, `n_ht` where the platform's curves bend, NaN = nowhere. Elements are NaN where no finite time is
    predicted, or where a curve has too few values for them.

    >>> n, r = np.array([1, 2, 3]), np.array([1.0, 1.1, 1.2])
    >>> curves = dict.fromkeys(CURVE_NAMES, np.full(3, np.nan)) | {"redundancy": r}
    >>> refit_features(Answer(6.0, n, 6 * r / n, np.empty(0), curves, [], []), np.nan, np.nan).features[:2].round(9)
    array([0.1, 0.9])
    """
    is_predicted = np.isfinite(answer.time_s)
    if not is_predicted.any():
        return replace(answer, features=np.full(len(FEATURE_NAMES), np.nan))
    values = np.stack([answer.time_s, *(answer.curves[name] for name in CURVE_NAMES)])[:, is_predicted]
    n = answer.n[is_predicted]
    profile = CurveTable(n, values, is_decomposed(answer), n.tolist() == [1], answer.t1_s)
    return replace(answer, features=feature_fit(profile, n_nu, n_ht).values)


def answer_at(answer: Answer, n: IntArray) -> Answer:
    """The same answer at those of its thread counts that are in `n`."""
    chosen: BoolArray = np.isin(answer.n, n)
    return replace(
        answer,
        n=answer.n[chosen],
        time_s=answer.time_s[chosen],
        curves={name: values[chosen] for name, values in answer.curves.items()},
        low_s=None if answer.low_s is None else answer.low_s[chosen],
        high_s=None if answer.high_s is None else answer.high_s[chosen],
    )
