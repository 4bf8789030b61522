"""Automatic choice: the law that predicts known measurements best, corrected by the residuals of companions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.companions import Companion
from predictor.scaling_models.growth import LAWS, LEAST_GROWTH_RATIO, Law, constant, extend_curves, measured_growth
from predictor.scaling_models.own_curve import DEGREES_OF_FREEDOM, LEAST_FOR_ORIGINS, fit_own_curve
from predictor.scaling_models.points import Points
from profiles.arrays import FloatArray
from profiles.scaling.features import evaluate_curves, fit_curves

GRID_POINTS = 24  # limit of the grid's thread counts inside the profile's range, and of those beyond it
LARGEST_CORRECTION = 1.0  # largest absolute residual of log R that enters a correction
LEAST_FOR_INTERVAL = 3  # companions needed for an interval
MAPPING_ROUNDING = 1e-9  # relative tolerance of thread counts that were mapped from another platform
LEAST_TOTAL_WEIGHT = 1e-300  # avoids a division by 0
WORST_ERROR = 1.0  # an error of more than 100 % counts as 100 %


@dataclass(frozen=True)
class Reason:
    """A compared model: its mean relative error (0.1 = 10 %), the evidence for the error, and whether it was chosen."""

    model: str
    error: float
    evidence: str
    chosen: bool = False


@dataclass(frozen=True, eq=False)
class _Replay:
    """The companions' curves on the profile's thread counts and a grid beyond, with the results of each law."""

    n: FloatArray  # (G,) thread counts of the profile and of the grid
    weights: FloatArray  # (C, G), 0 where the companion was not measured
    error: dict[str, float]
    correction: dict[str, FloatArray]  # (G,) added to the law's log R
    spread: dict[str, FloatArray]  # (G,) weighted standard deviation of the leave-one-out errors
    count: int

    def interpolate(self, values: FloatArray, n: FloatArray) -> FloatArray:
        """Interpolate `values` over log n. The result is 0 at and below the smallest measured n."""
        return np.asarray(np.interp(np.log(n), np.log(self.n), values))


class AutomaticChoice(ScalingModel):
    """Extrapolation of R(n) = n t(n)/t(1) by the law that best predicts the known measurements.

    Companions are profiles of the same or a similar machine, or of the same workload elsewhere (`companions.py`). Each
    law is applied to each companion: it receives the companion's R at this profile's thread counts and predicts the
    companion's R beyond them. The weight of a companion is its kinship, reduced by the distance d of its curve from
    this one:

        w = kinship e^2/(e + d)^2,    d = root mean square difference of log R at the measured n,    e = `similarity`

    The systematic error of a law at n corrects its prediction. The correction shrinks towards 0 where there is little
    evidence:

        correction(n) = sum_c w_c r_c(n) / (sum_c w_c + `shrinkage`),    r_c = log R_c(n) - law(R_c)(n) within -+1

    The candidates are the laws in `growth.LAWS` and the MPET curve. The law with the smallest weighted mean relative
    error is chosen. For this error, the prediction for each companion is corrected by the residuals of the other
    companions. A breakpoint beyond the measured n can be predicted, because the companions' residuals contain it.

    Without companions, the curve is a function of the cores in use (`own_curve.py`). A thread beyond n_ht counts as a
    fraction of a core: the fraction that measured threads beyond n_ht had, or else a fifth. The candidates are the line
    through the last third of the points and Amdahl's law. Both predict later measured points from earlier ones, and the
    one with the smaller mean error continues the curve from its last point. With fewer than four thread counts, the
    line is chosen.

    Worked example: Two companions have R = 1 up to n = 4 and R = 2 at n = 8. A law that predicts R = 1 has the residual
    log 2 there. With weights 1 and shrinkage 1, the correction is 2/3 log 2, so that R(8) = 1.59.

    Settings: `n_nu` (for the MPET curve), `n_ht`, `similarity`, `shrinkage`, `most_companions`. The companions are
    passed to `fit(X, t, companions=[...])`.
    Learned: `chosen_`, the name of the chosen law, and `reasons_`, all laws that were compared, best first.
    Source: docs/scaling-models.md; the correction by residuals is this project's own method.

    >>> from predictor.scaling_models.companions import companions_from_curves
    >>> n = np.array([1.0, 2, 4, 8]); kin = companions_from_curves([(n, np.array([8.0, 4, 2, 2]))] * 2)
    >>> model = AutomaticChoice().fit(n[:3, None], [4.0, 2.0, 1.0], companions=kin)
    >>> model.predict([[8]]).round(3), round(model.parameters()["log_correction_at_8"], 2)
    (array([0.794]), 0.46)
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
            evidence = "own later points, predicted from the earlier ones" if enough else "too few points to compare"
            self.own_curve_ = fit_own_curve(self.n_, self.t1_s_ * np.exp(self.log_r_) / self.n_, self.n_ht)
            relative = {law: float(np.expm1(error)) for law, error in self.own_curve_.errors.items()}
            self.reasons_ = _rank_models(relative, evidence)
        self.chosen_ = self.reasons_[0].model

    def _times(self, points: Points) -> FloatArray:
        if self.replay_ is None:
            return self.own_curve_.times(points.n)
        by_own_curve = extend_curves(self._laws()[self.chosen_], self.n_, self.log_r_[None], points.n)[0]
        log_r = by_own_curve + self.replay_.interpolate(self.replay_.correction[self.chosen_], points.n)
        return np.asarray(self.t1_s_ * np.exp(log_r) / points.n)

    def interval(self, X: Any, level: float = 0.9) -> tuple[FloatArray, FloatArray] | None:
        """Return low and high times in seconds, (M,) each, or None with one or two companions.

        The interval of a prediction p is p exp(-+ q s(n)). With companions, s is the weighted standard deviation of
        their leave-one-out errors of the chosen law at n, made non-decreasing in n, and q is Student's quantile with
        one degree of freedom less than companions. Without companions, s is `OwnCurve.log_scales` and q has four
        degrees of freedom.
        """
        points, replay = self._read(X), self.replay_
        if replay is None:
            half_width = stats.t.ppf(0.5 + level / 2, DEGREES_OF_FREEDOM) * self.own_curve_.log_scales(points.n)
        elif replay.count < LEAST_FOR_INTERVAL:
            return None
        else:
            spread = replay.interpolate(np.maximum.accumulate(replay.spread[self.chosen_]), points.n)
            half_width = stats.t.ppf(0.5 + level / 2, replay.count - 1) * spread
        middle = self._times(points)
        return middle * np.exp(-half_width), middle * np.exp(half_width)

    def parameters(self) -> dict[str, float]:
        if self.replay_ is None:
            known_yield = float("nan") if self.n_ht is None else self.own_curve_.smt_yield
            return {"t1_s": self.t1_s_, "r_last": float(np.exp(self.log_r_[-1])), "smt_yield": known_yield}
        steps = zip(self.replay_.n.tolist(), self.replay_.correction[self.chosen_].tolist(), strict=True)
        return {"t1_s": self.t1_s_} | {f"log_correction_at_{n:g}": value for n, value in steps}

    def _replay_companions(self, companions: Sequence[Companion]) -> _Replay | None:
        """Return the results of all laws on the companions.

        Return None unless some companion covers the profile's range of n and has further thread counts.
        """
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
        """Store the error, correction and spread of a law with the residuals `missed` of log R, (C, G)."""
        bounded = np.clip(missed, -LARGEST_CORRECTION, LARGEST_CORRECTION)
        weights, total = replay.weights, replay.weights.sum(axis=0)
        summed = (weights * bounded).sum(axis=0)
        left_out = missed - (summed - weights * bounded) / (total - weights + self.shrinkage)
        errors = np.minimum(np.abs(np.expm1(-left_out)), WORST_ERROR)
        # All laws agree between the profile's points, so that only the points beyond them distinguish the laws.
        is_judged = replay.n > self.n_[-1]
        is_judged = is_judged if is_judged.any() else ~np.isin(replay.n, self.n_)
        replay.error[name] = float((weights * errors)[:, is_judged].sum() / weights[:, is_judged].sum())
        replay.correction[name] = summed / (total + self.shrinkage)
        variance = (weights * left_out**2).sum(axis=0) / np.maximum(total, LEAST_TOTAL_WEIGHT)
        replay.spread[name] = np.sqrt(np.where(total > 0, variance, 0.0))

    def _laws(self) -> dict[str, Law]:
        """Return the laws that can extrapolate many curves at once."""
        return LAWS | {"mpet_curve": self._mpet_curve}

    def _mpet_curve(self, n: FloatArray, log_r: FloatArray, n_new: FloatArray) -> FloatArray:
        lines = np.zeros(len(log_r), dtype=np.bool_)
        elements, _ = fit_curves(n, np.exp(log_r), self.n_nu, self.n_ht, lines)  # type: ignore[arg-type]
        r = evaluate_curves(elements, n_new, self.n_nu, self.n_ht, lines)
        return np.asarray(np.log(np.maximum(r, LEAST_GROWTH_RATIO * np.exp(log_r[:, -1:]))))


def _thread_count_grid(n: FloatArray, companions: Sequence[Companion]) -> FloatArray:
    """Return the profile's thread counts with up to GRID_POINTS of the companions' between them, and as many beyond."""
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
