"""What to measure next, to narrow the interval of an answer."""

from typing import Any

from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from predictor.models import Prediction
from predictor.predictions.next_measurements import next_measurements
from profiles.etags import database_etag

MeasureNextSerializer: Any = inline_serializer(
    "MeasureNext",
    {
        "method": serializers.CharField(
            help_text="Whose intervals: the answer's own, or the default's if it has none."
        ),
        "results": inline_serializer(
            "NextMeasurement",
            {
                "kind": serializers.ChoiceField(
                    ("benchmark", "platform"), help_text="A benchmark on the target, or the workload on a platform."
                ),
                "workload": serializers.CharField(),
                "platform": serializers.CharField(),
                "interval_now": serializers.FloatField(
                    help_text="As a factor to either side: the geometric mean over n of sqrt(high / low)."
                ),
                "interval_expected": serializers.FloatField(),
                "sentence": serializers.CharField(),
            },
            many=True,
        ),
    },
)


class MeasureNext(ApiView):
    """The measurements that are expected to narrow the interval most, the best first. Of what is known now."""

    @extend_schema(
        operation_id="predictions_measure_next", summary="What to measure next", responses=MeasureNextSerializer
    )
    def get(self, request: Request, id: Any) -> HttpResponseBase:
        prediction = get_object_or_404(Prediction.objects.visible_to(request.user), uid=id)
        return respond_unless_unchanged(
            request, database_etag(request), lambda: Response(next_measurements(prediction, request.user))
        )
