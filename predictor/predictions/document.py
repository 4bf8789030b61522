"""Answer documents: an answer of the core in the form that the API promises (docs/formats.md).

The document is a plain dictionary, which is stored, returned and shown unchanged. To add a field, annotate it in
`AnswerDocument`, from which the API's schema is made, and set its value in `answer_document`.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

import numpy as np
from django.db.models import Q, QuerySet

from mpet_site.web.plain_json import nan_to_null
from predictor.core.answers import Answer, Candidate, is_limited
from predictor.core.scenarios import SCENARIOS
from predictor.predictions.confidence import cautions, judged_confidence
from predictor.predictions.explanation import WhyDocument, explain
from predictor.predictions.question import Basis, is_about_itself
from profiles.measurements import STRATEGIES
from profiles.models import Source, WithdrawnSource
from profiles.scaling.names import FEATURE_NAMES

# Version of the document. Raise it when its shape or the answers of a scenario change, so that a stored document is not
# returned for a new one.
ANSWER_VERSION = "7"


class CurvePoint(TypedDict):
    n: int
    time_s: float | None


class BaselinePoint(CurvePoint):
    speedup: float | None


class PredictedPoint(CurvePoint):
    low_s: float | None
    high_s: float | None
    speedup: float | None
    efficiency: float | None


class PredictedFeatures(TypedDict):
    names: list[str]
    values: list[float | None]


class CandidatesDocument(TypedDict):
    t1: list[Candidate]
    scaling: list[Candidate]


class MeasuredDocument(TypedDict):
    t1_s: float | None
    curve: list[CurvePoint]
    error_percent: float | None


class ReferenceCurveDocument(TypedDict):
    platform: str
    curve: list[CurvePoint]


class PredictionSource(TypedDict):
    label: str
    licence: str
    citation: str


class RequestDocument(TypedDict):
    """The request in canonical form, which the answer repeats: names are slugs, and every setting has a value."""

    method: str
    method_version: str
    settings: dict[str, Any]
    workload: str
    target: str
    references: list[str] | None
    n: list[int] | None
    scenario: Annotated[str, SCENARIOS]
    strategy: Annotated[str | None, STRATEGIES]
    workload_changes: dict[str, float | None] | None
    platform_changes: dict[str, float | None] | None
    include_simulated: Annotated[bool, "Value of the request."]
    include_outliers: Annotated[bool, "Value of the request."]


class AnswerDocument(RequestDocument):
    """The complete answer. Invalid values are None."""

    revision: int
    t1_s: float | None
    time_kind: str
    simulated: Annotated[bool, "Whether simulated profiles were used."]
    curve: list[PredictedPoint]
    baseline: Annotated[list[BaselinePoint] | None, "Curve before the changes; null if none were requested."]
    changes: Annotated[list[str], "Changes, and the assumptions behind them."]
    scaling_curves: dict[str, list[float | None]]
    features: PredictedFeatures
    candidates: CandidatesDocument
    confidence: dict[str, Any]
    why: NotRequired[
        Annotated[
            WhyDocument,
            (
                "What limits the workload on the target, and the attribution: the data that the answer is "
                "based on. Only included if `explain` is true; predictions/{id}/why/ returns it."
            ),
        ]
    ]
    warnings: list[str]
    credible_n: NotRequired[
        Annotated[int | None, "Largest n with a credible gain over fewer threads; null if no predicted n is above it."]
    ]
    measured: Annotated[
        MeasuredDocument | None,
        "Measurement of this pair, which was hidden from the method; null if there is none.",
    ]
    reference_curves: list[ReferenceCurveDocument]
    sources: list[PredictionSource]


def answer_document(basis: Basis, request: RequestDocument, *, explained: bool) -> dict[str, Any]:
    """Return the `AnswerDocument` of an answer. With `explained` it contains `why`."""
    database, answer = basis.snapshot.database, basis.answer
    credit = tuple(PredictionSource.__annotations__)
    document: dict[str, Any] = {
        **request,
        "revision": database.revision,
        "t1_s": None if basis.query.scenario.name == "scaling" else answer.t1_s,
        "time_kind": database.workload_table["time_kind"][basis.query.workload],
        "simulated": basis.uses_simulated,
        "curve": predicted_curve(basis),
        "baseline": baseline_curve(basis),
        "changes": list(answer.changes),
        "scaling_curves": {"n": answer.n, **answer.curves},
        "features": {"names": list(FEATURE_NAMES), "values": answer.features},
        "candidates": {
            "t1": [vars(candidate) for candidate in answer.candidates_t1],
            "scaling": [vars(candidate) for candidate in answer.candidates_scaling],
        },
        "confidence": judged_confidence(basis),
        "warnings": [*reference_warnings(basis), *answer.warnings, *cautions(basis)],
        "credible_n": answer.credible_n if is_limited(answer.n, answer.credible_n) else None,
        "measured": measured_document(basis),
        "reference_curves": reference_curves(basis),
        "sources": list(stored_sources(basis).order_by(*credit).values(*credit).distinct()),
    }
    if explained:
        document["why"] = explain(basis)
    cleaned: dict[str, Any] = nan_to_null(document)
    return cleaned


def reference_warnings(basis: Basis) -> list[str]:
    """Return one sentence per requested reference that was not used."""
    query, database = basis.query, basis.snapshot.database
    if is_about_itself(query):
        return []
    warnings = []
    for reference in query.references or ():
        if reference == query.target:
            warnings.append(f"reference {database.platforms[reference]} was not used: it is the target")
        elif database.lookup(reference, query.workload, basis.groups) < 0:
            warnings.append(
                f"reference {database.platforms[reference]} was not used: no comparable profile of the workload there"
            )
    return warnings


def predicted_curve(basis: Basis) -> list[dict[str, Any]]:
    """Return the points of the predicted curve: times, intervals, speedups and efficiencies. The scenario scaling has
    no times and intervals."""
    answer = basis.answer
    invalid = np.full(len(answer.n), np.nan)
    hides_times = basis.query.scenario.name == "scaling"
    times = {"time_s": answer.time_s, "low_s": answer.low_s, "high_s": answer.high_s}
    speedup = predicted_speedup(answer)
    columns = {
        "n": answer.n,
        **{name: invalid if values is None or hides_times else values for name, values in times.items()},
        "speedup": speedup,
        "efficiency": speedup / answer.n,
    }
    return rows_of_columns(columns)


def predicted_speedup(answer: Answer) -> np.ndarray:
    return np.asarray(answer.t1_s / answer.time_s)


def baseline_curve(basis: Basis) -> list[dict[str, Any]] | None:
    """Return the curve before the changes, or None if the request changes nothing."""
    before = basis.answer.baseline
    if before is None:
        return None
    time_s = np.full(len(before.n), np.nan) if basis.query.scenario.name == "scaling" else before.time_s
    return rows_of_columns({"n": before.n, "time_s": time_s, "speedup": predicted_speedup(before)})


def rows_of_columns(columns: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*(column.tolist() for column in columns.values()), strict=True)
    ]


def measured_document(basis: Basis) -> dict[str, Any] | None:
    """Return the measurement of (T,A), with the error of the answer over the n that both have; None without it."""
    if basis.measured_row is None:
        return None
    database = basis.snapshot.database
    n, time_s = database.curve(basis.measured_row)
    return {
        "t1_s": float(database.t1_s[basis.measured_row]),
        "curve": rows_of_columns({"n": n, "time_s": time_s}),
        "error_percent": None if basis.query.scenario.is_virtual else error_percent(basis, n, time_s),
    }


def error_percent(basis: Basis, n: np.ndarray, time_s: np.ndarray) -> float | None:
    """Return the mean relative error over the n that were predicted and measured. It is the error of the times, or of
    the speedups in the scenario scaling."""
    answer = basis.answer
    predicted = answer.time_s
    if basis.query.scenario.name == "scaling":
        predicted, time_s = predicted / answer.t1_s, time_s / basis.snapshot.database.t1_s[basis.measured_row]
    _, mine, theirs = np.intersect1d(answer.n, n, return_indices=True)
    errors = np.abs(predicted[mine] - time_s[theirs]) / time_s[theirs]
    errors = errors[np.isfinite(errors)]
    return 100 * float(errors.mean()) if len(errors) else None


def reference_curves(basis: Basis) -> list[dict[str, Any]]:
    database = basis.snapshot.database
    return [
        {
            "platform": database.platforms[database.platform_index[row]],
            "curve": rows_of_columns(dict(zip(("n", "time_s"), database.curve(row), strict=True))),
        }
        for row in basis.reference_rows
    ]


def stored_sources(basis: Basis) -> QuerySet[Source]:
    """Return the sources of the profiles that took part and of the profile that is shown as measured.

    A source that was replaced after the snapshot was read is represented by its replacement.
    """
    measured_rows = [] if basis.measured_row is None else [basis.measured_row]
    rows = np.union1d(basis.rows, measured_rows).astype(np.int64)
    keys = np.unique(basis.snapshot.source_ids[rows]).tolist()
    replaced = WithdrawnSource.objects.filter(key__in=keys, replaced_by__isnull=False)
    return Source.objects.filter(Q(pk__in=keys) | Q(pk__in=replaced.values("replaced_by")))
