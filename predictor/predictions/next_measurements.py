"""What to measure next for a stored prediction: computed when it is asked for, and kept while nothing new is known."""

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

SMALLEST_GAIN = 1e-3  # of the interval's factor, from which a measurement is worth its time
ASKED_AGAIN = ("workload", "target", "references", "method", "n", "settings", "include_simulated", "include_outliers")


@dataclass(frozen=True, eq=False)
class NextMeasurementsQuestion:
    """What to measure next for a prediction, against what its viewers may predict from now.

    `siblings`: workloads that run together with the prediction's, so that measuring one of them is no help.
    """

    kind: ClassVar[str] = "measure-next"
    request: PredictionRequest
    query: ScenarioQuery
    snapshot: Snapshot
    siblings: tuple[str, ...] = ()

    @classmethod
    def of_answer(cls, answer: Mapping[str, Any], viewer: Any) -> NextMeasurementsQuestion:
        """Of an answer, which need not be stored. Raises a RequestError where what it was about is gone."""
        return cls.of_request(request_again(answer), viewer)

    @classmethod
    def from_canonical(cls, question: Mapping[str, Any], viewer: Any) -> NextMeasurementsQuestion:
        request = {name: question[name] for name in ASKED_AGAIN if name in question}
        return cls.of_request(PredictionRequest(**request), viewer, question.get("siblings", ()))

    @classmethod
    def of_request(
        cls, request: PredictionRequest, viewer: Any, siblings: Sequence[str] = ()
    ) -> NextMeasurementsQuestion:
        """The same for an answer that nobody asked for yet."""
        query, snapshot, _ = resolve_with_snapshot(request, viewer)
        return cls(request, query, snapshot, tuple(siblings))

    def canonical(self) -> dict[str, Any]:
        siblings = {"siblings": list(self.siblings)} if self.siblings else {}
        return {name: getattr(self.request, name) for name in ASKED_AGAIN} | siblings

    def steps(self, earlier: Mapping[str, Any] | None = None) -> Iterator[ComputedStep]:
        """A step for each prediction that is made; nothing of an earlier document is used."""
        database, query = self.snapshot.database, self.query
        groups = comparable_groups(query, database)
        grouped = replace(query, group=groups[0] if groups else None)
        positions = (slug_index(database.workloads, slug) for slug in self.siblings)
        siblings = {index for index in positions if index is not None}
        try:
            for tried in try_measurements(database, grouped, query.method, query.settings, no_benchmarks=siblings):
                yield self.step(tried)
        except methods.PredictionError:
            yield self.step(MeasurementsTried(1, 1, []))  # it cannot be predicted any more

    def step(self, tried: MeasurementsTried) -> ComputedStep:
        method, measurements = self.query.method.name, list(tried.measurements)
        return ComputedStep(tried.done, tried.total, lambda: next_measurements_document(method, measurements))


def viewer_of(prediction: Prediction, user: Any) -> Any:
    """For whom the next measurements of a prediction are computed: for nobody, where everybody may see it."""
    return user if prediction.private_to_id is not None else None


def request_again(answer: Mapping[str, Any]) -> PredictionRequest:
    """What the answer was asked, by its method; by the default one where that has no intervals."""
    method = methods.get_method(answer["method"]) if answer["method"] in methods.METHODS else None
    if method is None or method.baseline or answer["curve"][0]["low_s"] is None:
        method = methods.get_method(DEFAULT_METHOD)
    own = method.name == answer["method"] and method.version == answer["method_version"]
    asked = {name: answer[name] for name in ASKED_AGAIN if name in answer}
    return PredictionRequest(**asked | {"method": method.name, "settings": answer["settings"] if own else {}})


def next_measurements(prediction: Prediction) -> dict[str, Any]:
    """{method, results: [{kind, workload, platform, interval_now, interval_expected, sentence}]}, the best first.

    They are computed from what is public now, not from the revision that the prediction was made from.
    """
    try:
        question = NextMeasurementsQuestion.of_answer(prediction.answer, None)
    except RequestError:
        return no_next_measurements(prediction.answer)
    with single_thread():
        return last_step(question.steps()).document()


def no_next_measurements(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The document where what the prediction was about is gone."""
    return next_measurements_document(request_again(answer).method, [])


def next_measurements_document(method: str, measurements: list[NextMeasurement]) -> dict[str, Any]:
    rows = []
    for measurement in measurements:
        row = asdict(measurement)
        row["interval_now"], row["interval_expected"] = row.pop("now"), row.pop("expected")
        rows.append(row | {"sentence": next_measurement_sentence(measurement)})
    return {"method": method, "results": rows}


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
