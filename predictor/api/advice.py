"""The number of threads to run a workload with."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.parameters import Flag, described
from predictor.api.predictions import problem_of
from predictor.api.previews import PUBLIC_ONLY, QUESTION
from predictor.predictions.question import PredictionRequest, RequestError
from predictor.predictions.thread_advice import thread_advice

WORKLOAD, TARGET, METHOD = QUESTION[:3]
SIMULATED_TOO = Flag("include_simulated", "simulated profiles take part too", default=False)


class AllThreadsSerializer(serializers.Serializer):
    n = serializers.IntegerField(help_text="The most threads whose time is known.")
    time_s = serializers.FloatField()
    loss = serializers.FloatField(help_text="Their time over that of the advised n, less 1; 0.12: 12 % longer.")


class EnvironmentSerializer(serializers.Serializer):
    OMP_NUM_THREADS = serializers.CharField()
    OMP_PLACES = serializers.CharField()
    OMP_PROC_BIND = serializers.CharField()


class AdviceSerializer(serializers.Serializer):
    workload = serializers.CharField()
    target = serializers.CharField()
    n = serializers.IntegerField(help_text="The advised number of threads.")
    time_s = serializers.FloatField()
    low_s = serializers.FloatField(allow_null=True)
    high_s = serializers.FloatField(allow_null=True)
    all_threads = AllThreadsSerializer()
    probability = serializers.FloatField(help_text="That the advised n is within 5 % of the fastest.")
    environment = EnvironmentSerializer(help_text="Variables that place the threads as the curves were measured.")
    reasons = serializers.ListField(child=serializers.CharField())
    measured = serializers.BooleanField(help_text="Whether it is from times measured there, not from a prediction.")
    smt = serializers.BooleanField(allow_null=True, help_text="Whether cores run two threads; null: they cannot.")
    revision = serializers.IntegerField()


class AdviceView(ApiView):
    """The number of threads that is most probably within 5 % of the fastest, and what all threads would lose."""

    query_parameters: ClassVar[tuple[str, ...]] = (
        *(parameter.name for parameter in (WORKLOAD, TARGET, METHOD)),
        SIMULATED_TOO.name,
        PUBLIC_ONLY.name,
    )

    @extend_schema(
        operation_id="advice",
        summary="How many threads to use",
        parameters=described(WORKLOAD, TARGET, METHOD, SIMULATED_TOO, PUBLIC_ONLY),
        responses={200: AdviceSerializer, 422: None},
    )
    def get(self, request: Request) -> Response:
        question = PredictionRequest(
            **{parameter.name: parameter.read(request) for parameter in (WORKLOAD, TARGET, METHOD)},
            include_simulated=bool(SIMULATED_TOO.read(request)),
            public_only=bool(PUBLIC_ONLY.read(request)),
        )
        try:
            return Response(thread_advice(question, request.user))
        except RequestError as error:
            raise problem_of(error) from error
