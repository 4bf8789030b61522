"""Answers to questions in a query string that are not stored: the JSON API of the front page and of /what-if/, the
feasibility of predictions with remedies, the best thread count of a workload, and the measurements that would narrow
the interval of a stored answer."""

import typing
from collections.abc import Mapping
from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.fields import serializer_of
from mpet_site.web.parameters import Flag, Name, Number, OneOf, QueryParameter, WholeNumber, described
from mpet_site.web.problems import Problem, invalid_request
from predictor.api.predictions import EXPLAIN_HELP, PUBLIC_ONLY_HELP, PreviewSerializer, preview_document, problem_of
from predictor.computations.responses import ComputationSerializer, answer_or_progress
from predictor.core.methods import METHODS
from predictor.core.references import MixRuntimes
from predictor.core.scenarios import SCENARIOS
from predictor.core.scenarios.scenario import (
    CHARACTERISTICS,
    FASTEST_MHZ,
    LARGEST_CHANGE_FACTOR,
    LARGEST_N_MAX,
    NO_PARALLEL_STRATEGY,
    SLOWEST_MHZ,
    least_factor,
)
from predictor.models import Prediction
from predictor.predictions.feasibility import FeasibilityDocument, feasibility, feasible_targets
from predictor.predictions.next_measurements import NextMeasurementsQuestion, no_next_measurements, viewer_of
from predictor.predictions.question import DEFAULT_METHOD, InvalidSettings, PredictionRequest, RequestError
from predictor.predictions.service import preview_answer
from predictor.predictions.sliders import WHAT_IF_PARAMETERS, slider_request
from predictor.predictions.thread_advice import thread_advice
from profiles.measurements import STRATEGIES
from profiles.pages.page_cache import database_etag

WORKLOAD = Name("workload", "Slug, or a name that belongs to only one row.", required=True)
TARGET = Name("target", "Slug, or a name that belongs to only one row.", required=True)
METHOD = OneOf(
    "method", "Name of a prediction method, as listed by methods/.", default=DEFAULT_METHOD, choices=tuple(METHODS)
)
MIXING = OneOf("mix_runtimes", "Setting of the method mpet2020.", choices=typing.get_args(MixRuntimes))
QUESTION = (WORKLOAD, TARGET, METHOD, MIXING)
EXPLAIN = Flag("explain", EXPLAIN_HELP, default=False)
PUBLIC_ONLY = Flag("public_only", PUBLIC_ONLY_HELP, default=False)
MEASURED_TIMES = Flag("measured", "Change the times measured on the target instead of a prediction.", default=False)
SIMULATED_TOO = Flag("include_simulated", "Include simulated profiles.", default=False)
CHANGES: tuple[QueryParameter, ...] = (
    *(
        Number(
            name,
            "Factor on this characteristic of the workload; 1 = the baseline.",
            low=least_factor(name),
            high=LARGEST_CHANGE_FACTOR,
        )
        for name in CHARACTERISTICS
    ),
    *(
        WholeNumber(name, "New value of the target; 0 = no such effect.", high=LARGEST_N_MAX)
        for name in ("n_nu", "n_ht")
    ),
    WholeNumber("n_max", "New value of the target.", low=1, high=LARGEST_N_MAX),
    Number("base_mhz", "New value of the target.", low=SLOWEST_MHZ, high=FASTEST_MHZ),
)


def problem_of_parameters(error: RequestError) -> Problem:
    """Return `problem_of(error)`. The name of a setting has no prefix, because settings are query parameters here."""
    return invalid_request(error.name, error.reason) if isinstance(error, InvalidSettings) else problem_of(error)


class PredictionPreview(ApiView):
    """Answer a question without storing the answer. The interactive pages show such answers."""

    query_parameters: ClassVar[tuple[str, ...]] = (*WHAT_IF_PARAMETERS, PUBLIC_ONLY.name, EXPLAIN.name)

    @extend_schema(
        operation_id="predictions_preview",
        summary="Predict without storing the answer",
        parameters=described(*QUESTION, MEASURED_TIMES, *CHANGES, PUBLIC_ONLY, EXPLAIN),
        responses={200: PreviewSerializer, 422: None},
    )
    def get(self, request: Request) -> Response:
        names = {parameter.name: parameter.read(request) for parameter in QUESTION}
        values = {parameter.name: parameter.read(request) for parameter in CHANGES}
        changes = {name: float(value) for name, value in values.items() if value is not None}
        try:
            public_only, measured = PUBLIC_ONLY.read(request), MEASURED_TIMES.read(request)
            question = slider_request(names, changes, public_only=public_only, measured=measured)
            answer = preview_answer(question, request.user, explained=EXPLAIN.read(request))
        except RequestError as error:
            raise problem_of_parameters(error) from error
        return Response(preview_document(answer))


PARALLEL_STRATEGIES = tuple(strategy for strategy in STRATEGIES if strategy not in NO_PARALLEL_STRATEGY)
FEASIBILITY_PARAMETERS = (
    WORKLOAD,
    Name("target", "Slug, or a name that belongs to only one row. If omitted, all platforms are counted."),
    METHOD,
    OneOf("scenario", "Scenario to predict; requires a target.", default="migration", choices=SCENARIOS),
    OneOf("strategy", "Parallelisation strategy of the scenario parallelisation.", choices=PARALLEL_STRATEGIES),
    MIXING,
    PUBLIC_ONLY,
    SIMULATED_TOO,
)
ONLY_WITH_TARGET = ("strategy", "mix_runtimes")


class FeasibilityView(ApiView):
    """Return whether `POST predictions/` can answer the same question, and if not, the reason and a remedy. Without a
    target, count the possible predictions over all platforms."""

    query_parameters: ClassVar[tuple[str, ...]] = tuple(parameter.name for parameter in FEASIBILITY_PARAMETERS)

    @extend_schema(
        operation_id="predictions_possible",
        summary="Is a prediction possible?",
        parameters=described(*FEASIBILITY_PARAMETERS),
        responses={200: serializer_of(FeasibilityDocument)},
    )
    def get(self, request: Request) -> Response:
        values = {parameter.name: parameter.read(request) for parameter in FEASIBILITY_PARAMETERS}
        try:
            return Response(document_of_values(values, request.user))
        except RequestError as error:
            raise problem_of_parameters(error) from error


def document_of_values(values: dict[str, Any], user: Any) -> dict[str, Any]:
    """Return the feasibility for one target or for all targets. Raise RequestError for invalid names or values."""
    if values["target"] is None:
        for name in ONLY_WITH_TARGET:
            if values[name] is not None:
                raise invalid_request(name, "only with a target")
        if values["scenario"] != "migration":
            raise invalid_request("scenario", "only with a target")
        chosen = {name: values[name] for name in ("method", "include_simulated")}
        viewer = None if values["public_only"] else user
        return feasible_targets(values["workload"], viewer, **chosen)
    mixing = values.pop("mix_runtimes")
    settings = {} if mixing is None else {"mix_runtimes": mixing}
    return feasibility(PredictionRequest(**values, settings=settings), user).document()


ADVICE_PARAMETERS = (
    WORKLOAD,
    TARGET,
    METHOD,
    SIMULATED_TOO,
    PUBLIC_ONLY,
)


class AllThreadsSerializer(serializers.Serializer):
    n = serializers.IntegerField(help_text="Largest thread count with a known time.")
    time_s = serializers.FloatField()
    loss = serializers.FloatField(
        help_text="Time at this n divided by the time at the advised n, minus 1; 0.12 = 12 % longer."
    )


class EnvironmentSerializer(serializers.Serializer):
    OMP_NUM_THREADS = serializers.CharField()
    OMP_PLACES = serializers.CharField()
    OMP_PROC_BIND = serializers.CharField()


class AdviceSerializer(serializers.Serializer):
    workload = serializers.CharField()
    target = serializers.CharField()
    n = serializers.IntegerField(help_text="Advised thread count.")
    time_s = serializers.FloatField()
    low_s = serializers.FloatField(allow_null=True)
    high_s = serializers.FloatField(allow_null=True)
    all_threads = AllThreadsSerializer()
    probability = serializers.FloatField(help_text="Probability that the advised n is within 5 % of the fastest.")
    environment = EnvironmentSerializer(
        help_text="Environment variables that place the threads as in the measurement of the curves."
    )
    reasons = serializers.ListField(child=serializers.CharField())
    measured = serializers.BooleanField(
        help_text="Whether the advice is based on times measured on the target instead of a prediction."
    )
    smt = serializers.BooleanField(
        allow_null=True, help_text="Whether the advised n uses SMT threads; null if the target has no SMT."
    )
    revision = serializers.IntegerField()


class AdviceView(ApiView):
    """Return the thread count that is most likely within 5 % of the fastest, and the loss of using all threads."""

    query_parameters: ClassVar[tuple[str, ...]] = tuple(parameter.name for parameter in ADVICE_PARAMETERS)

    @extend_schema(
        operation_id="advice",
        summary="How many threads to use",
        parameters=described(*ADVICE_PARAMETERS),
        responses={200: AdviceSerializer, 422: None},
    )
    def get(self, request: Request) -> Response:
        question = PredictionRequest(**{parameter.name: parameter.read(request) for parameter in ADVICE_PARAMETERS})
        try:
            return Response(thread_advice(question, request.user))
        except RequestError as error:
            raise problem_of(error) from error


class NextMeasurementSerializer(serializers.Serializer):
    kind = serializers.ChoiceField(
        ("benchmark", "platform"),
        help_text="What to measure: a benchmark on the target, or the workload on a platform.",
    )
    workload = serializers.CharField()
    platform = serializers.CharField()
    interval_now = serializers.FloatField(
        help_text="Current width of the interval as a factor to either side: the geometric mean over n of "
        "sqrt(high / low)."
    )
    interval_expected = serializers.FloatField()
    sentence = serializers.CharField()


class MeasureNextSerializer(serializers.Serializer):
    method = serializers.CharField(
        help_text="Method of the intervals: that of the answer, or the default method if that of the answer has none."
    )
    results = NextMeasurementSerializer(many=True)


class MeasureNext(ApiView):
    """Return the measurements that are expected to narrow the interval most, best first, based on the current data."""

    query_parameters: ClassVar[tuple[str, ...]] = (PUBLIC_ONLY.name,)

    @extend_schema(
        operation_id="predictions_measure_next",
        summary="What to measure next",
        parameters=described(PUBLIC_ONLY),
        responses={200: MeasureNextSerializer, 202: ComputationSerializer},
    )
    def get(self, request: Request, id: Any) -> HttpResponseBase:
        prediction = get_object_or_404(Prediction.objects.visible_to(request.user), uid=id)

        def respond(document: Mapping[str, Any]) -> HttpResponseBase:
            return respond_unless_unchanged(request, database_etag(request), lambda: Response(document))

        try:
            viewer = None if PUBLIC_ONLY.read(request) else viewer_of(prediction, request.user)
            question = NextMeasurementsQuestion.of_answer(prediction.answer, viewer)
        except RequestError:
            return respond(no_next_measurements(prediction.answer))
        return answer_or_progress(request, question, respond, viewer)
