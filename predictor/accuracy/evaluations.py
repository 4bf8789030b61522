"""Evaluations of stored profiles: their selection, and storing and reading the results."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction

from mpet_site.web.plain_json import nan_to_null
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.core.database import Database
from predictor.core.evaluate import (
    ERROR_PARTS,
    EvaluationProgress,
    EvaluationResult,
    Outcome,
    Protocol,
    evaluate,
    predicted_rows,
)
from predictor.core.methods import METHODS, Method, settings_values
from predictor.core.noise_floor import noise_floor
from predictor.models import EvaluatedMethod
from predictor.models import Evaluation as StoredEvaluation
from predictor.snapshot.building import Snapshot
from predictor.snapshot.cache import read_snapshot
from profiles.ingest.derivation import run_tables
from profiles.jobs.executors import Executor
from profiles.measurements import Measurements, RunTable

PROFILES_AT_ONCE = 200

NamedRuns = Iterator[tuple[str, str, RunTable]]


class NothingStored(LookupError):
    """No public profile of the requested origin is stored."""


@dataclass(frozen=True, eq=False)
class Subject:
    """The subject of an evaluation: a database, and the source of the runs for the noise floor."""

    database: Database
    origin: str
    snapshot: Snapshot | None = None
    measurements: Measurements | None = None

    def runs(self, rows: Iterable[int]) -> NamedRuns:
        """Return the runs of the profiles in the given rows, with the slugs of platform and workload."""
        wanted = np.asarray(list(rows), dtype=np.int64)
        if self.measurements is not None:
            return _delivered_runs(self.measurements, self.database, wanted)
        return _stored_runs(self.snapshot, wanted) if self.snapshot is not None else iter(())


def read_stored_subject(origin: str | None = None) -> Subject:
    """Return the public profiles of one origin.

    Without an origin, return the first origin with a workload on two platforms, measured profiles first, because
    otherwise nothing can be left out and predicted. If there is none, return the first origin with profiles.

    Raise NothingStored if there are no profiles.
    """
    subjects = [
        Subject(snapshot.database, candidate, snapshot=snapshot)
        for candidate in (PREDICTION_ORIGINS if origin is None else (origin,))
        if len((snapshot := read_snapshot(origins=(candidate,))).database)
    ]
    for subject in subjects:
        # Return the first subject in which a workload has profiles on more than one platform.
        pairs = np.unique(np.stack([subject.database.workload_index, subject.database.platform_index]), axis=1)
        if (np.bincount(pairs[0]) > 1).any():
            return subject
    if subjects:
        return subjects[0]
    raise NothingStored(f"no {origin or 'measured or simulated'} profile is stored, so there is nothing to predict")


def evaluate_subject(
    subject: Subject,
    methods: Sequence[Method[Any]],
    protocol: Protocol,
    *,
    floor: bool = False,
    executor: Executor | None = None,
    progress: EvaluationProgress | None = None,
) -> EvaluationResult:
    """Return the evaluation, optionally with the noise floor of the same pairs. Raise ValueError if nothing is left to
    predict."""
    evaluation = evaluate(subject.database, methods, protocol, executor=executor, progress=progress)
    noise = noise_floor(subject.runs(predicted_rows(subject.database, protocol))) if floor else []
    return EvaluationResult(evaluation.protocol, evaluation.outcomes, noise)


@transaction.atomic
def store_evaluation(evaluation: EvaluationResult, subject: Subject, started: float) -> StoredEvaluation:
    """Store an evaluation of stored profiles. `started` is the value of time.perf_counter() at its start."""
    protocol, report = evaluation.protocol, nan_to_null(asdict(evaluation.report()))
    targets = protocol.targets
    first = next(iter(evaluation.outcomes.values()))
    stored = StoredEvaluation.objects.create(
        revision=subject.database.revision,
        origin=subject.origin,
        **{name: getattr(protocol, name) for name in ("holdout", "probes", "sample", "seed")},
        targets=None if targets is None else [subject.database.platforms[target] for target in targets],
        profiles=len(subject.database),
        pairs=_pairs(first),
        noise_floor=report["noise_floor"],
        code_version=settings.CODE_VERSION,
        seconds=time.perf_counter() - started,
    )
    EvaluatedMethod.objects.bulk_create(
        EvaluatedMethod(
            evaluation=stored,
            position=position,
            name=name,
            version=METHODS[name].version,
            is_baseline=METHODS[name].baseline,
            settings=nan_to_null(settings_values(METHODS[name].settings())),
            statistics=report["methods"][name],
            **{f"errors_{part}": _errors(outcomes, part) for part in ERROR_PARTS},
        )
        for position, (name, outcomes) in enumerate(evaluation.outcomes.items())
    )
    return stored


def error_rows(stored: StoredEvaluation) -> Iterator[dict[str, Any]]:
    """Yield one row per pair and method with errors in percent, or None if the method refused to predict."""
    pairs = stored.pairs
    for method in stored.methods.all():
        columns = [100 * getattr(method, f"errors_{part}").astype(np.float64) for part in ERROR_PARTS]
        for platform, workload, *errors in zip(pairs["platform"], pairs["workload"], *columns, strict=True):
            yield {
                "platform": pairs["platforms"][platform],
                "workload": pairs["workloads"][workload],
                "method": method.name,
                **{
                    f"{part}_error_percent": error for part, error in zip(ERROR_PARTS, nan_to_null(errors), strict=True)
                },
            }


def _pairs(outcomes: Sequence[Outcome]) -> dict[str, list[Any]]:
    platforms, platform = np.unique([outcome.platform for outcome in outcomes], return_inverse=True)
    workloads, workload = np.unique([outcome.workload for outcome in outcomes], return_inverse=True)
    return {
        "platforms": platforms.tolist(),
        "workloads": workloads.tolist(),
        "platform": platform.tolist(),
        "workload": workload.tolist(),
    }


def _errors(outcomes: Sequence[Outcome], part: Any) -> np.ndarray:
    largest = float(np.finfo(np.float32).max)
    return np.array([min(outcome.errors.get(part, np.nan), largest) for outcome in outcomes], dtype=np.float32)


def _stored_runs(snapshot: Snapshot, rows: np.ndarray) -> NamedRuns:
    database = snapshot.database
    for start in range(0, len(rows), PROFILES_AT_ONCE):
        batch = rows[start : start + PROFILES_AT_ONCE]
        keys = snapshot.profile_ids[batch].tolist()
        tables = run_tables(keys)
        for row, key in zip(batch.tolist(), keys, strict=True):
            yield *_names(database, row), tables[key]


def _delivered_runs(measurements: Measurements, database: Database, rows: np.ndarray) -> NamedRuns:
    slugs = measurements.platform_ids or [record.name for record in measurements.platforms]
    tables = {
        (slugs[record.platform], measurements.workloads[record.workload].name): record.runs
        for record in measurements.profiles
    }
    for row in rows.tolist():
        names = _names(database, row)
        yield *names, tables[names]


def _names(database: Database, row: int) -> tuple[str, str]:
    return database.platforms[database.platform_index[row]], database.workloads[database.workload_index[row]]
