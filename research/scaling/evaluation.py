"""Accuracy of scaling models: a part of each measured curve is learned and the rest is predicted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predictor.core.database import Database
from predictor.scaling_models.amdahl import Amdahl
from predictor.scaling_models.automatic import AutomaticChoice
from predictor.scaling_models.base import ScalingModel
from predictor.scaling_models.companions import companions_of
from predictor.scaling_models.growth import LAWS, GrowthLaw
from predictor.scaling_models.gustafson import Gustafson
from predictor.scaling_models.memory_wall import MemoryWall
from predictor.scaling_models.mpet_curve import MpetCurve
from predictor.scaling_models.parallel_penalty import ParallelPenalty
from predictor.scaling_models.usl import USL
from profiles.arrays import FloatArray

TRAININGS = ("half", "few")
MODEL_STATISTICS = ("mean", "median", "p80", "p95", "max", "bias", "count", "refused", "ms_per_fit", "coverage")
COVERAGE_LEVEL = 0.9

LearnedRows = NDArray[np.intp]


@dataclass(frozen=True)
class ScalingProtocol:
    """How each curve is split into learned and predicted points.

    With `train` = "half", the first half of the thread counts is learned. With "few", `points` thread counts are
    learned, which are spread evenly over log n. Curves are left out if their half has fewer than `least` points, or if
    they have fewer than `points` + 1 for "few".

    `scope` defines which other profiles the automatic choice may use (`companions.py`). The held-out part of the curve
    is never used.
    """

    train: str = "half"
    points: int = 4
    least: int = 4
    scope: str = "all"
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.train not in TRAININGS:
            raise ValueError(f"unknown train {self.train!r}; known: {', '.join(TRAININGS)}")
        if min(self.points, self.least) < 2 or (self.sample is not None and self.sample < 1):
            raise ValueError("points and least must be at least 2, sample at least 1")

    def learned(self, n: FloatArray) -> LearnedRows | None:
        """Return the indices of the learned points among the ascending thread counts, or None if the curve is left out.

        >>> ScalingProtocol().learned(np.arange(1.0, 10.0))
        array([0, 1, 2, 3])
        >>> ScalingProtocol("few", points=3).learned(np.arange(1.0, 10.0))
        array([0, 2, 8])
        """
        if self.train == "half":
            return np.arange(len(n) // 2) if len(n) // 2 >= self.least else None
        if len(n) <= self.points:
            return None
        wanted = np.linspace(np.log(n[0]), np.log(n[-1]), self.points)
        return np.unique(np.abs(np.log(n)[:, None] - wanted).argmin(axis=0))


@dataclass(frozen=True, eq=False)
class Case:
    """One split curve of the database: `n` and `time_s` are learned, `actual_s` at `n_asked` are to be predicted."""

    row: int
    platform: int
    workload: int
    n: FloatArray
    time_s: FloatArray
    n_asked: FloatArray
    actual_s: FloatArray


@dataclass(frozen=True)
class ModelOutcome:
    """The result of a model on one case.

    `error` is the mean relative error (0.1 = 10 %), `bias` the mean signed relative error, and `covered` the share of
    times inside the interval. If the model refused, `refusal` is the reason.
    """

    case: int
    error: float | None = None
    bias: float | None = None
    seconds: float = 0.0
    covered: float | None = None
    refusal: str = ""


@dataclass(frozen=True)
class Contender:
    """A model of the comparison.

    `fit(database, case, protocol)` fits the model to the case. Its processor time is part of the result.
    """

    name: str
    fit: Callable[[Database, Case, ScalingProtocol], ScalingModel]


def cases_of(database: Database, protocol: ScalingProtocol) -> list[Case]:
    """Return the curves that the protocol can split, in the order of the database, or `sample` random ones of them."""
    cases = []
    for row in np.flatnonzero(~database.hidden).tolist():
        n, time_s = database.curve(row)
        threads = np.asarray(n, dtype=np.float64)
        learned = protocol.learned(threads)
        if learned is None:
            continue
        held_out = np.setdiff1d(np.arange(len(n)), learned)
        pair = int(database.platform_index[row]), int(database.workload_index[row])
        cases.append(Case(row, *pair, threads[learned], time_s[learned], threads[held_out], time_s[held_out]))
    if protocol.sample is not None and protocol.sample < len(cases):
        chosen = np.random.default_rng(protocol.seed).choice(len(cases), protocol.sample, replace=False)
        cases = [cases[index] for index in np.sort(chosen)]
    return cases


def contenders(scope: str) -> list[Contender]:
    """Return all models that need only thread counts, the automatic choice first.

    Unless `scope` is "none", the automatic choice is also returned without companions.
    """
    models: dict[str, Callable[[int | None, int | None], ScalingModel]] = {
        "mpet_curve": MpetCurve,
        "amdahl": lambda *_: Amdahl(),
        "gustafson": lambda *_: Gustafson(),
        "usl": lambda *_: USL(),
        "parallel_penalty": lambda *_: ParallelPenalty(),
        "memory_wall": lambda *_: MemoryWall(),
    }
    automatic = [Contender("automatic", _fit_automatic)]
    if scope != "none":
        automatic.append(Contender("automatic_alone", _fit_on_its_own(AutomaticChoice)))
    laws = [Contender(law, _fit_on_its_own(lambda *_, law=law: GrowthLaw(law))) for law in LAWS]
    return automatic + laws + [Contender(name, _fit_on_its_own(make)) for name, make in models.items()]


def evaluate_contender(
    database: Database, cases: Sequence[Case], contender: Contender, protocol: ScalingProtocol
) -> Iterator[ModelOutcome]:
    """Yield the outcome of each case, in order."""
    for index, case in enumerate(cases):
        started = time.process_time()
        try:
            model = contender.fit(database, case, protocol)
            predicted_s = model.predict(case.n_asked[:, None])
        except ValueError as error:
            yield ModelOutcome(index, seconds=time.process_time() - started, refusal=str(error))
            continue
        seconds = time.process_time() - started
        yield judge_times(index, case, predicted_s, seconds, _automatic_interval(model, case.n_asked))


def judge_times(
    index: int,
    case: Case,
    predicted_s: FloatArray,
    seconds: float,
    interval: tuple[FloatArray, FloatArray] | None = None,
) -> ModelOutcome:
    """Compare predicted times (K,) in seconds, and their interval if there is one, with the measured times of the case.

    A time that is not finite counts as a refusal, and a negative time has an error above 100 %.

    >>> case = Case(0, 0, 0, np.array([1.0]), np.array([4.0]), np.array([2.0, 4.0]), np.array([2.0, 1.0]))
    >>> outcome = judge_times(0, case, np.array([2.0, 1.5]), 0.1)
    >>> outcome.error, outcome.bias
    (0.25, 0.25)
    """
    if not np.isfinite(predicted_s).all():
        return ModelOutcome(index, seconds=seconds, refusal="no finite time")
    signed = predicted_s / case.actual_s - 1.0
    covered = None
    if interval is not None:
        covered = float(((interval[0] <= case.actual_s) & (case.actual_s <= interval[1])).mean())
    return ModelOutcome(index, float(np.abs(signed).mean()), float(signed.mean()), seconds, covered)


def model_statistics(outcomes: Sequence[ModelOutcome]) -> dict[str, float | int | None]:
    """Return MODEL_STATISTICS over the outcomes of a model.

    Errors and coverage are in percent. A statistic without values is None.

    >>> row = model_statistics([ModelOutcome(0, 0.25, -0.25, 0.002), ModelOutcome(1, refusal="no finite time")])
    >>> row["mean"], row["bias"], row["count"], row["refused"], row["coverage"]
    (25.0, -25.0, 1, 1, None)
    """
    errors = 100.0 * np.array([outcome.error for outcome in outcomes if outcome.error is not None])
    biases = [outcome.bias for outcome in outcomes if outcome.bias is not None]
    covered = [outcome.covered for outcome in outcomes if outcome.covered is not None]
    row: dict[str, float | int | None] = dict.fromkeys(MODEL_STATISTICS)
    if len(errors):
        p80, p95 = (float(value) for value in np.percentile(errors, [80, 95]))
        row |= {"mean": float(errors.mean()), "median": float(np.median(errors)), "p80": p80, "p95": p95}
        row |= {"max": float(errors.max()), "bias": 100.0 * float(np.mean(biases))}
    if covered:
        row["coverage"] = 100.0 * float(np.mean(covered))
    if outcomes:
        row["ms_per_fit"] = 1000.0 * float(np.mean([outcome.seconds for outcome in outcomes]))
    return row | {"count": len(errors), "refused": len(outcomes) - len(errors)}


def _fit_automatic(database: Database, case: Case, protocol: ScalingProtocol) -> ScalingModel:
    companions = companions_of(database, case.platform, case.workload, scope=protocol.scope)
    model = AutomaticChoice(*_breakpoints(database, case.platform))
    return model.fit(case.n[:, None], case.time_s, companions=companions)


def _fit_on_its_own(make: Callable[..., ScalingModel]) -> Callable[[Database, Case, ScalingProtocol], ScalingModel]:
    def fit(database: Database, case: Case, protocol: ScalingProtocol) -> ScalingModel:
        return make(*_breakpoints(database, case.platform)).fit(case.n[:, None], case.time_s)

    return fit


def _breakpoints(database: Database, platform: int) -> tuple[int | None, int | None]:
    n_nu, n_ht = (float(column[platform]) for column in (database.n_nu, database.n_ht))
    return (None if np.isnan(n_nu) else int(n_nu)), (None if np.isnan(n_ht) else int(n_ht))


def _automatic_interval(model: ScalingModel, n: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the interval of the automatic choice, or None for other models, which would have to be fitted again."""
    if not isinstance(model, AutomaticChoice):
        return None
    interval: tuple[FloatArray, FloatArray] | None = model.interval(n[:, None], COVERAGE_LEVEL)
    return interval
