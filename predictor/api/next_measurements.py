"""What to measure next, to narrow the interval of an answer."""

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
from mpet_site.web.parameters import described
from predictor.api.previews import PUBLIC_ONLY
from predictor.computations.responses import ComputationSerializer, answer_or_progress
from predictor.models import Prediction
from predictor.predictions.next_measurements import NextMeasurementsQuestion, no_next_measurements, viewer_of
from predictor.predictions.question import RequestError
from profiles.pages.page_cache import database_etag


class NextMeasurementSerializer(serializers.Serializer):
    kind = serializers.ChoiceField(
        ("benchmark", "platform"), help_text="A benchmark on the target, or the workload on a platform."
    )
    workload = serializers.CharField()
    platform = serializers.CharField()
    interval_now = serializers.FloatField(
        help_text="As a factor to either side: the geometric mean over n of sqrt(high / low)."
    )
    interval_expected = serializers.FloatField()
    sentence = serializers.CharField()


class MeasureNextSerializer(serializers.Serializer):
    method = serializers.CharField(help_text="Whose intervals: the answer's own, or the default's if it has none.")
    results = NextMeasurementSerializer(many=True)


class MeasureNext(ApiView):
    """The measurements that are expected to narrow the interval most, the best first. Of what is known now."""

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
