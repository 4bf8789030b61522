"""The automatic choice: the law that predicts known measurements best, corrected by what companions did beyond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.companions import Companion
from predictor.scaling_models.growth import (
    LAWS,
    LEAST_GROWTH_RATIO,
    Law,
    constant,
    extend_curves,
    measured_growth,
)
from predictor.scaling_models.own_curve import DEGREES_OF_FREEDOM, LEAST_FOR_ORIGINS, fit_own_curve
from predictor.scaling_models.points import Points
from profiles.arrays import FloatArray
from profiles.scaling.features import evaluate_curves, fit_curves

GRID_POINTS = 24  # thread counts at which companions are asked
LARGEST_CORRECTION = 1.0  # of log R
LEAST_FOR_INTERVAL = 3  # companions
MAPPING_ROUNDING = 1e-9  # mapped thread counts are equal up to this relative difference
LEAST_TOTAL_WEIGHT = 1e-300  # only against a division by 0
WORST_ERROR = 1.0  # an error of more than 100 % counts as one of 100 %


@dataclass(frozen=True)
class Reason:
    """A model that was tried: its mean relative error (0.1 = 10 %), on which evidence, and whether it was chosen."""

    model: str
    error: float
    evidence: str
    chosen: bool = False


@dataclass(frozen=True, eq=False)
class _Replay:
    """Companions over the profile's thread counts and the grid beyond, with what each law made of them."""

    n: FloatArray  # (G,) thread counts: the profile's own, and the grid
    weights: FloatArray  # (C, G), 0 where not measured
    error: dict[str, float]
    correction: dict[str, FloatArray]  # (G,) of log R
    spread: dict[str, FloatArray]  # (G,) weighted standard deviation of the left-out errors
    count: int

    def interpolate(self, values: FloatArray, n: FloatArray) -> FloatArray:
        """Over log n; 0 at and below the smallest measured n."""
        return np.asarray(np.interp(np.log(n), np.log(self.n), values))


class AutomaticChoice(ScalingModel):
    """Extrapolates R(n) = n t(n)/t(1) by the model that predicts best what is known, and says why.

    With companions (profiles of the same machine or its kin, or of the same workload elsewhere; `companions.py`), the
    question is replayed on each: every law sees a companion's R at this profile's thread counts and
    predicts its R beyond. The weight of a companion is its kinship over how far its curve lies from this one,

        w = kinship e^2/(e + d)^2,    d = root mean square difference of log R at the measured n,    e = `similarity`

    and the law's systematic error there, shrunk to 0 where evidence is thin, corrects it:

        correction(n) = sum_c w_c r_c(n) / (sum_c w_c + `shrinkage`),    r_c = log R_c(n) - law(R_c)(n) within -+1

    The law with the smallest weighted mean relative error, each companion corrected by the others, is chosen; the
    laws are those of `growth.LAWS` and the MPET curve. This is
    how a breakpoint that lies beyond the measured n becomes known: it is in the companions' corrections.

    Without companions the curve is read over the cores in use, where a thread beyond n_ht counts as a fifth of a core
    or as what measured ones were worth. The line of the last third of the points and Amdahl's law predict later
    measured points from earlier ones; the one with the smaller mean error goes on from the last point, the line where
    fewer than four thread counts were measured (`own_curve.py`).

    Worked example: two companions with R = 1 up to n = 4 and 2 at n = 8; every law that says 1 errs by log 2 there.
    With weights 1 and shrinkage 1 the correction is 2/3 log 2: R(8) = 1.59.

    Settings: `n_nu` (for the MPET curve), `n_ht`, `similarity`, `shrinkage`, `most_companions`.
    `fit(X, t, companions=[...])`. Learned: `chosen_`, `reasons_`, all models that were tried, the best first.
    Source: docs/scaling-models.md; residual correction is this project's own.

    >>> from predictor.scaling_models.companions import companions_from_curves
    >>> n = np.array([1.0, 2, 4, 8]); kin = companions_from_curves([(n, np.array([8.0, 4, 2, 2]))] * 2)
    >>> model = AutomaticChoice().fit(n[:3, None], [4.0, 2.0, 1.0], companions=kin)
    >>> model.predict([[8]]).round(3), model.reasons_[0].evidence
    (array([0.794]), '2 companions')
    """

    title: ClassVar[str] = "Automatic choice"
    source: ClassVar[str] = "docs/scaling-models.md"

    def __init__(
        self,
        n_nu: int | None = None,
        n_ht: int | None = None,
        similarity: float = 0.05,
        shrinkage: float = 1.0,
        *,
        most_companions: int = 24,
    ) -> None:
        self.n_nu = n_nu
        self.n_ht = n_ht
        self.similarity = similarity
        self.shrinkage = shrinkage
        self.most_companions = most_companions

    def _fit(
        self, points: Points, t: FloatArray, *, companions: Sequence[Companion] | None = None, **measured: Any
    ) -> None:
        self.n_, self.log_r_, self.t1_s_ = measured_growth(points.n, t)
        if len(self.n_) < 2:
            raise TooFewPoints(self.title, len(self.n_), 2, "thread counts")
        self.replay_ = self._replay_companions(companions or ())
        if self.replay_ is not None:
            self.reasons_ = _rank_models(self.replay_.error, f"{self.replay_.count} companions")
        else:
            enough = len(self.n_) >= LEAST_FOR_ORIGINS
            evidence = "own later points from the earlier" if enough else "too few points to compare"
            self.own_curve_ = fit_own_curve(self.n_, self.t1_s_ * np.exp(self.log_r_) / self.n_, self.n_ht)
            relative = {law: float(np.expm1(error)) for law, error in self.own_curve_.errors.items()}
            self.reasons_ = _rank_models(relative, evidence)
        self.chosen_ = self.reasons_[0].model

    def _times(self, points: Points) -> FloatArray:
        if self.replay_ is None:
            return self.own_curve_.times(points.n)
        own = extend_curves(self._laws()[self.chosen_], self.n_, self.log_r_[None], points.n)[0]
        log_r = own + self.replay_.interpolate(self.replay_.correction[self.chosen_], points.n)
        return np.asarray(self.t1_s_ * np.exp(log_r) / points.n)

    def interval(self, X: Any, level: float = 0.9) -> tuple[FloatArray, FloatArray] | None:
        """Low and high in seconds, (M,); None with one or two companions.

        p exp(-+ q s(n)), with s the weighted standard deviation of the companions' left-out errors of the chosen law at
        n, not falling with n, and q Student's quantile with one degree of freedom less than companions. Without
        companions s is `OwnCurve.log_scales`, with four degrees of freedom.
        """
        points, replay = self._read(X), self.replay_
        if replay is None:
            reach = stats.t.ppf(0.5 + level / 2, DEGREES_OF_FREEDOM) * self.own_curve_.log_scales(points.n)
        elif replay.count < LEAST_FOR_INTERVAL:
            return None
        else:
            spread = replay.interpolate(np.maximum.accumulate(replay.spread[self.chosen_]), points.n)
            reach = stats.t.ppf(0.5 + level / 2, replay.count - 1) * spread
        middle = self._times(points)
        return middle * np.exp(-reach), middle * np.exp(reach)

    def parameters(self) -> dict[str, float]:
        if self.replay_ is None:
            known_yield = float("nan") if self.n_ht is None else self.own_curve_.smt_yield
            return {"t1_s": self.t1_s_, "r_last": float(np.exp(self.log_r_[-1])), "smt_yield": known_yield}
        steps = zip(self.replay_.n.tolist(), self.replay_.correction[self.chosen_].tolist(), strict=True)
        return {"t1_s": self.t1_s_} | {f"log_correction_at_{n:g}": value for n, value in steps}

    def _replay_companions(self, companions: Sequence[Companion]) -> _Replay | None:
        """None where no companion was measured over the range of our thread counts and elsewhere too."""
        usable = [
            companion
            for companion in companions
            if companion.n[0] <= self.n_[0] and companion.n[-1] >= self.n_[-1] * (1 - MAPPING_ROUNDING)
        ]
        grid = _thread_count_grid(self.n_, usable) if usable else self.n_
        if len(grid) == len(self.n_):
            return None
        log_r_at_own = np.stack([companion.log_r_at(self.n_) for companion in usable])
        log_r_at_grid = np.stack([companion.log_r_at(grid) for companion in usable]) - log_r_at_own[:, :1]
        log_r_at_own -= log_r_at_own[:, :1]
        distance = np.sqrt(((log_r_at_own - self.log_r_) ** 2).mean(axis=1))
        kinship = np.array([companion.weight for companion in usable])
        weight = kinship * (self.similarity / (self.similarity + distance)) ** 2
        best = np.argsort(-weight, kind="stable")[: self.most_companions]
        weights = np.where(np.isfinite(log_r_at_grid[best]), weight[best][:, None], 0.0)
        replay = _Replay(grid, weights, {}, {}, {}, len(best))
        log_r_at_own, log_r_at_grid = log_r_at_own[best], log_r_at_grid[best]
        inside, beyond = grid <= self.n_[-1], grid[grid > self.n_[-1]]
        between = extend_curves(constant, self.n_, log_r_at_own, grid[inside])
        for name, law in self._laws().items():
            extrapolated = law(self.n_, log_r_at_own, beyond) if len(beyond) else np.empty((len(best), 0))
            law_log_r = np.concatenate([between, extrapolated], axis=1)
            self._judge_law(replay, name, np.nan_to_num(log_r_at_grid - law_log_r, nan=0.0))
        return replay

    def _judge_law(self, replay: _Replay, name: str, missed: FloatArray) -> None:
        """The error, correction and spread of a law that missed log R by `missed`, (C, G)."""
        bounded = np.clip(missed, -LARGEST_CORRECTION, LARGEST_CORRECTION)
        weights, total = replay.weights, replay.weights.sum(axis=0)
        summed = (weights * bounded).sum(axis=0)
        left_out = missed - (summed - weights * bounded) / (total - weights + self.shrinkage)
        errors = np.minimum(np.abs(np.expm1(-left_out)), WORST_ERROR)
        is_judged = replay.n > self.n_[-1]  # between our points all laws say the same
        is_judged = is_judged if is_judged.any() else ~np.isin(replay.n, self.n_)
        replay.error[name] = float((weights * errors)[:, is_judged].sum() / weights[:, is_judged].sum())
        replay.correction[name] = summed / (total + self.shrinkage)
        variance = (weights * left_out**2).sum(axis=0) / np.maximum(total, LEAST_TOTAL_WEIGHT)
        replay.spread[name] = np.sqrt(np.where(total > 0, variance, 0.0))

    def _laws(self) -> dict[str, Law]:
        """The laws that can be asked for many curves at once."""
        return LAWS | {"mpet_curve": self._mpet_curve}

    def _mpet_curve(self, n: FloatArray, log_r: FloatArray, n_new: FloatArray) -> FloatArray:
        lines = np.zeros(len(log_r), dtype=np.bool_)
        elements, _ = fit_curves(n, np.exp(log_r), self.n_nu, self.n_ht, lines)  # type: ignore[arg-type]
        r = evaluate_curves(elements, n_new, self.n_nu, self.n_ht, lines)
        return np.asarray(np.log(np.maximum(r, LEAST_GROWTH_RATIO * np.exp(log_r[:, -1:]))))


def _thread_count_grid(n: FloatArray, companions: Sequence[Companion]) -> FloatArray:
    """Our thread counts and those at which companions were measured: up to GRID_POINTS between ours, and beyond."""
    measured = np.unique(np.concatenate([companion.n for companion in companions]).round(6))
    inside, beyond = (measured[part] for part in ((measured > n[0]) & (measured < n[-1]), measured > n[-1]))
    chosen = [
        part[np.unique(np.linspace(0, len(part) - 1, GRID_POINTS).round().astype(int))]
        for part in (inside, beyond)
        if len(part)
    ]
    return np.unique(np.concatenate([n, *chosen]))


def _rank_models(errors: dict[str, float], evidence: str) -> list[Reason]:
    order = sorted(errors, key=lambda name: errors[name]) if not any(map(np.isnan, errors.values())) else list(errors)
    return [Reason(name, errors[name], evidence, chosen=name == order[0]) for name in order]
