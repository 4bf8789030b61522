"""Next measurements: what to measure next for a prediction. They are computed on request and cached until new data
arrive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from predictor.core import methods
from predictor.core.arrays import slug_index
from predictor.core.scenarios import ScenarioQuery
from predictor.core.steps import ComputedStep, last_step, single_thread
from predictor.core.why.next_measurement import MeasurementsTried, NextMeasurement, try_measurements
from predictor.models import Prediction
from predictor.predictions.question import (
    DEFAULT_METHOD,
    PredictionRequest,
    RequestError,
    comparable_groups,
    resolve_with_snapshot,
)
from predictor.snapshot.building import Snapshot

SMALLEST_GAIN = 1e-3  # least decrease of the interval's factor that is worth a measurement
ASKED_AGAIN = ("workload", "target", "references", "method", "n", "settings", "include_simulated", "include_outliers")


@dataclass(frozen=True, eq=False)
class NextMeasurementsQuestion:
    """The question of what to measure next for a prediction, given the data that its viewers may currently use.

    `siblings` are workloads that run together with the predicted one, so that measuring one of them does not help.
    """

    kind: ClassVar[str] = "measure-next"
    request: PredictionRequest
    query: ScenarioQuery
    snapshot: Snapshot
    siblings: tuple[str, ...] = ()

    @classmethod
    def of_answer(cls, answer: Mapping[str, Any], viewer: Any) -> NextMeasurementsQuestion:
        """Return the question for an answer, stored or not. Raises a RequestError if its workload or target is gone."""
        return cls.of_request(request_again(answer), viewer)

    @classmethod
    def from_canonical(cls, question: Mapping[str, Any], viewer: Any) -> NextMeasurementsQuestion:
        request = {name: question[name] for name in ASKED_AGAIN if name in question}
        return cls.of_request(PredictionRequest(**request), viewer, question.get("siblings", ()))

    @classmethod
    def of_request(
        cls, request: PredictionRequest, viewer: Any, siblings: Sequence[str] = ()
    ) -> NextMeasurementsQuestion:
        """Return the question for a request that need not have been answered yet."""
        query, snapshot = resolve_with_snapshot(request, viewer)
        return cls(request, query, snapshot, tuple(siblings))

    def canonical(self) -> dict[str, Any]:
        siblings = {"siblings": list(self.siblings)} if self.siblings else {}
        return {name: getattr(self.request, name) for name in ASKED_AGAIN} | siblings

    def steps(self, earlier: Mapping[str, Any] | None = None) -> Iterator[ComputedStep]:
        """Yield one step per prediction. An earlier document is not used."""
        database, query = self.snapshot.database, self.query
        groups = comparable_groups(query, database)
        grouped = replace(query, group=groups[0] if groups else None)
        positions = (slug_index(database.workloads, slug) for slug in self.siblings)
        siblings = {index for index in positions if index is not None}
        try:
            for tried in try_measurements(database, grouped, query.method, query.settings, no_benchmarks=siblings):
                yield self.step(tried)
        except methods.PredictionError:
            yield self.step(MeasurementsTried(1, 1, []))  # the pair can no longer be predicted

    def step(self, tried: MeasurementsTried) -> ComputedStep:
        method, measurements = self.query.method.name, list(tried.measurements)
        return ComputedStep(tried.done, tried.total, lambda: next_measurements_document(method, measurements))


def viewer_of(prediction: Prediction, user: Any) -> Any:
    """Return the viewer for whom a prediction's next measurements are computed; None if the prediction is public."""
    return user if prediction.private_to_id is not None else None


def request_again(answer: Mapping[str, Any]) -> PredictionRequest:
    """Return the request of an answer, with the default method if its own is gone or has no intervals."""
    method = methods.get_method(answer["method"]) if answer["method"] in methods.METHODS else None
    if method is None or method.baseline or answer["curve"][0]["low_s"] is None:
        method = methods.get_method(DEFAULT_METHOD)
    same_method = method.name == answer["method"] and method.version == answer["method_version"]
    given = {name: answer[name] for name in ASKED_AGAIN if name in answer}
    return PredictionRequest(**given | {"method": method.name, "settings": answer["settings"] if same_method else {}})


def next_measurements(prediction: Prediction) -> dict[str, Any]:
    """Return {method, results: [{kind, workload, platform, interval_now, interval_expected, sentence}]}, the best
    first.

    It is computed from today's public data, not from the prediction's revision.
    """
    try:
        question = NextMeasurementsQuestion.of_answer(prediction.answer, None)
    except RequestError:
        return no_next_measurements(prediction.answer)
    with single_thread():
        return last_step(question.steps()).document()


def no_next_measurements(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without results, for a prediction about a workload or target that is gone."""
    return next_measurements_document(request_again(answer).method, [])


def next_measurements_document(method: str, measurements: list[NextMeasurement]) -> dict[str, Any]:
    rows = []
    for measurement in measurements:
        row = asdict(measurement)
        row["interval_now"], row["interval_expected"] = row.pop("now"), row.pop("expected")
        rows.append(row | {"sentence": next_measurement_sentence(measurement)})
    return {"method": method, "results": rows}


def next_measurement_sentence(measurement: NextMeasurement) -> str:
    """Return the measurement as an instruction, with its expected effect on the interval.

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
