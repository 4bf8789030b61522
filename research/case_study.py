"""The paper's case study (Section 4.2): the stages of programs are predicted on a platform where they were not run.

MPET is compared with simpler ways: one speed ratio, the clocks, the roofline and counted instructions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.methods import get_method
from profiles.arrays import FloatArray, IntArray
from profiles.measurements import Measurements
from profiles.scaling.roofline import Roofline

CASE_APPLICATIONS = ("hog", "sgm")
# Cycles per cache miss in KCachegrind's cycle estimation.
FIRST_LEVEL_PENALTY, LAST_LEVEL_PENALTY = 10.0, 100.0
METHOD_OF_WAY = {
    "MPET": "mpet",
    "MPET 2020": "mpet2020",
    "one speed ratio": "speed-ratio",
    "clock scaling": "frequency-scaling",
}
ROOFLINE, INSTRUCTIONS = "roofline", "instructions"
CASE_WAYS = (*METHOD_OF_WAY, ROOFLINE, INSTRUCTIONS)


def join_deliveries(deliveries: Sequence[Measurements]) -> Measurements:
    """Return several deliveries of one origin as one, with their platforms in sequence.

    A workload that several deliveries have, by name, runtime, input and version, occurs once. Attributes of a single
    delivery (environment, log, licence, ...) are left out. Raises ValueError for deliveries of different origins.

    >>> from profiles.measurements import PlatformRecord, WorkloadRecord
    >>> machine, fft = PlatformRecord("a", "cpu"), WorkloadRecord("fft")
    >>> one, other = (Measurements("measured", {}, [platform], [fft], []) for platform in (machine, machine))
    >>> joined = join_deliveries([one, other])
    >>> len(joined.platforms), len(joined.workloads)
    (2, 1)
    """
    origins = {delivery.origin for delivery in deliveries}
    if len(origins) != 1:
        raise ValueError(f"deliveries of one origin, not of {', '.join(sorted(origins)) or 'none'}")
    joined = Measurements(origins.pop(), {}, [], [], [])
    positions: dict[tuple[str | None, ...], int] = {}
    for delivery in deliveries:
        first_platform, of_workload = len(joined.platforms), []
        joined.platforms.extend(delivery.platforms)
        for index, record in enumerate(delivery.workloads):
            identity = (record.name, record.runtime, record.input, record.version)
            if identity not in positions:
                positions[identity] = len(joined.workloads)
                joined.workloads.append(record)
                if index in delivery.time_kinds:
                    joined.time_kinds[positions[identity]] = delivery.time_kinds[index]
            of_workload.append(positions[identity])
        joined.profiles.extend(
            replace(profile, platform=first_platform + profile.platform, workload=of_workload[profile.workload])
            for profile in delivery.profiles
        )
    return joined


@dataclass(frozen=True)
class StageCost:
    """Instructions and cache misses of a stage on one thread, from Cachegrind or from hardware counters.

    `seconds` is the processor time that counting took. It is 0 if the instructions are counted during a measured run.
    """

    instructions: float
    first_level_misses: float
    last_level_misses: float
    seconds: float = 0.0

    @property
    def cycles(self) -> float:
        """Return KCachegrind's estimate: 1 cycle per instruction, 10 per first-level miss, 100 per last-level miss.

        >>> StageCost(1000.0, 20.0, 3.0).cycles
        1500.0
        """
        return (
            self.instructions
            + FIRST_LEVEL_PENALTY * self.first_level_misses
            + LAST_LEVEL_PENALTY * self.last_level_misses
        )


@dataclass(frozen=True)
class StageQuestion:
    """A stage (a workload) to predict on a target from its times on one reference.

    `n` (J,) are the thread counts that were measured on both platforms.
    """

    workload: int
    reference: int
    target: int
    n: IntArray
    reference_s: FloatArray
    measured_s: FloatArray


@dataclass(frozen=True)
class StagePrediction:
    """The prediction of one stage by one way.

    `predicted_s` and `measured_s` are (J,). `seconds` is the processor time of the prediction.
    """

    reference: str
    target: str
    stage: str
    way: str
    n: IntArray
    predicted_s: FloatArray
    measured_s: FloatArray
    seconds: float

    @property
    def deviation(self) -> float:
        """Return the mean over n of (predicted - measured)/measured in percent."""
        return float(100 * (self.predicted_s / self.measured_s - 1).mean())

    @property
    def error(self) -> float:
        """Return the mean over n of |predicted - measured|/measured in percent.

        >>> one = StagePrediction("a", "b", "c", "MPET", np.array([1, 2]), np.array([1.1, 0.9]), np.ones(2), 0.0)
        >>> round(one.deviation, 9), round(one.error, 9)
        (0.0, 10.0)
        """
        return float(100 * np.abs(self.predicted_s / self.measured_s - 1).mean())


@dataclass(frozen=True)
class CaseFacts:
    """The input of the simple estimates: rooflines by platform, and bounds and costs by workload.

    A bound is `memory`, `computation` or another kind of limit.
    """

    rooflines: Mapping[str, Roofline]
    bounds: Mapping[str, str]
    costs: Mapping[str, StageCost]


def stage_questions(database: Database, reference: int, target: int) -> Iterator[StageQuestion]:
    """Yield the stages of CASE_APPLICATIONS that were measured on both platforms, in the order of the database."""
    for workload in case_workloads(database):
        rows = database.lookup([reference, target], workload, range(len(database.groups)))
        if (rows < 0).any():
            continue
        (n, reference_s), (n_target, target_s) = (database.curve(int(row)) for row in rows)
        both, ours, theirs = np.intersect1d(n, n_target, return_indices=True)
        if len(both):
            yield StageQuestion(workload, reference, target, both.astype(np.int64), reference_s[ours], target_s[theirs])


def case_workloads(database: Database) -> list[int]:
    """Return the workloads of the case study's applications, including those with names marked as simulated."""
    applications = [str(name).removesuffix(" (simulated)") for name in database.workload_table["application"]]
    return [index for index, name in enumerate(applications) if name in CASE_APPLICATIONS]


def case_predictions(
    database: Database,
    reference: int,
    target: int,
    facts: CaseFacts,
    *,
    hide_programs: bool = True,
    all_references: bool = False,
) -> Iterator[StagePrediction]:
    """Yield the predictions of every stage by every way. Ways that cannot predict a stage are left out.

    All stages of both applications are hidden on the target, and all other workloads are known there. Without
    `hide_programs`, only the stage itself is hidden, as in the paper. MPET, MPET 2020, the speed ratio and clock
    scaling use the stage's times on the reference, or with `all_references` on all platforms but the target.
    """
    for question in stage_questions(database, reference, target):
        known = database.without(target, case_workloads(database) if hide_programs else question.workload)
        for way in CASE_WAYS:
            started, counting_s = time.process_time(), 0.0
            if way in METHOD_OF_WAY:
                predicted_s = _times_by_method(known, METHOD_OF_WAY[way], question, all_references=all_references)
            else:
                estimate = times_by_roofline if way == ROOFLINE else times_by_instructions
                predicted_s = estimate(known, facts, question)
                cost = facts.costs.get(database.workloads[question.workload]) if way == INSTRUCTIONS else None
                counting_s = 0.0 if cost is None else cost.seconds
            if predicted_s is None or not np.isfinite(predicted_s).all():
                continue
            yield StagePrediction(
                database.platforms[reference],
                database.platforms[target],
                database.workloads[question.workload],
                way,
                question.n,
                predicted_s,
                question.measured_s,
                time.process_time() - started + counting_s,
            )


def _times_by_method(known: Database, name: str, question: StageQuestion, *, all_references: bool) -> FloatArray | None:
    method = get_method(name)
    references = None if all_references else (question.reference,)
    query = Query(question.workload, question.target, references=references, n=tuple(question.n.tolist()))
    try:
        return method.predict(known, query, method.settings()).time_s
    except PredictionError:
        return None


def times_by_roofline(known: Database, facts: CaseFacts, question: StageQuestion) -> FloatArray | None:
    """Return the reference's times scaled by the ratio of the ceilings that bind the stage, (J,) in seconds.

        t_T(n) = t_P(n) c_P(n)/c_T(n)

    c is the bandwidth of n threads if the workload is bound by memory, else their peak arithmetic performance (Williams
    et al. 2009). The time is NaN if one of the two ceilings was not measured at n. Return None without rooflines or a
    bound.
    """
    names = (known.platforms[question.reference], known.platforms[question.target])
    bound = facts.bounds.get(known.workloads[question.workload])
    if bound is None or not all(name in facts.rooflines for name in names):
        return None
    ceilings = np.full((2, len(question.n)), np.nan)
    for row, name in enumerate(names):
        for column, n in enumerate(question.n.tolist()):
            roof = facts.rooflines[name].roof_at(n)
            if roof is not None and roof.n == n:
                ceilings[row, column] = roof.bytes_per_s if bound == "memory" else roof.flop_per_s
    return np.asarray(question.reference_s * ceilings[0] / ceilings[1])


def times_by_instructions(known: Database, facts: CaseFacts, question: StageQuestion) -> FloatArray | None:
    """Return the estimated cycles divided by the target's clock and by n, (J,) in seconds. No measured time is used.

        t_T(n) = (instructions + 10 first level misses + 100 last level misses)/(f_T n)

    The times are NaN if the target's clock is unknown. Return None if the stage has no counted instructions.
    """
    cost = facts.costs.get(known.workloads[question.workload])
    if cost is None:
        return None
    hertz = 1e6 * float(known.platform_table["base_mhz"][question.target])
    return np.asarray(cost.cycles / (hertz * question.n))
