"""What to measure next for a stored prediction: computed when it is asked for, and kept while nothing new is known."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.cache import cache

from predictor.core import methods
from predictor.core.answers import Query
from predictor.core.threads import single_thread
from predictor.core.why.next_measurement import NextMeasurement, rank_next_measurements
from predictor.models import Prediction
from predictor.predictions.answering import comparable_groups
from predictor.predictions.question import resolve_with_snapshot
from predictor.predictions.request import DEFAULT_METHOD, PredictionRequest, RequestError
from profiles.models import Revision

KEPT_SECONDS = 24 * 3600
SMALLEST_GAIN = 1e-3  # of the interval's factor, from which a measurement is worth its time


def next_measurements(prediction: Prediction, user: Any = None) -> dict[str, Any]:
    """{method, results: [{kind, workload, platform, interval_now, interval_expected, sentence}]}, the best first.

    They are computed from what the user may predict from now, not from the revision that the prediction was made from.
    """
    viewer = user if prediction.private_to_id is not None else None
    public, own = Revision.current(viewer)
    key = f"measure-next:{prediction.uid}:{public}:{own}"
    document: dict[str, Any] | None = cache.get(key)
    if document is None:
        document = compute_next_measurements(prediction.answer, viewer)
        cache.set(key, document, KEPT_SECONDS)
    return document


def compute_next_measurements(answer: dict[str, Any], viewer: Any) -> dict[str, Any]:
    method = methods.get_method(answer["method"]) if answer["method"] in methods.METHODS else None
    if method is None or method.baseline or answer["curve"][0]["low_s"] is None:
        method = methods.get_method(DEFAULT_METHOD)
    own = method.name == answer["method"] and method.version == answer["method_version"]
    request = PredictionRequest(
        workload=answer["workload"],
        target=answer["target"],
        references=answer["references"],
        method=method.name,
        n=answer["n"],
        settings=answer["settings"] if own else {},
        include_simulated=answer["include_simulated"],
        include_outliers=answer.get("include_outliers", False),
    )
    try:
        question, snapshot, _ = resolve_with_snapshot(request, viewer)
        query = Query(question.workload, question.target, references=question.references, n=question.n)
        groups = comparable_groups(question, query, snapshot.database)
        grouped_query = Query(query.workload, query.target, groups[0] if groups else None, query.references, query.n)
        with single_thread():
            ranked = rank_next_measurements(snapshot.database, grouped_query, question.method, question.settings)
    except (RequestError, methods.PredictionError):
        ranked = []  # what was asked about is gone, or cannot be predicted any more
    return {"method": method.name, "results": [next_measurement_row(measurement) for measurement in ranked]}


def next_measurement_row(measurement: NextMeasurement) -> dict[str, Any]:
    values = asdict(measurement)
    values["interval_now"], values["interval_expected"] = values.pop("now"), values.pop("expected")
    return values | {"sentence": next_measurement_sentence(measurement)}


def next_measurement_sentence(measurement: NextMeasurement) -> str:
    """
    >>> next_measurement_sentence(NextMeasurement("benchmark", "t", "b", 1.25, 1.1))
    'Measure b on t: the interval, now a factor of 1.25 to either side, is expected to become one of 1.10.'
    """
    instruction = f"Measure {measurement.workload} on {measurement.platform}"
    now = measurement.now
    if now - measurement.expected < SMALLEST_GAIN:
        return f"{instruction}: the interval, a factor of {now:.3g} to either side, would hardly become narrower."
    return (
        f"{instruction}: the interval, now a factor of {now:.2f} to either side, is expected to become one of "
        f"{measurement.expected:.2f}."
    )
