"""Why a stored prediction is what it is."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from predictor.api.prediction_serializers import ReasonsSerializer
from predictor.api.predictions import problem_of
from predictor.models import Prediction
from predictor.predictions.reasons import reasons_of_prediction
from predictor.predictions.request import RequestError


class PredictionWhy(ApiView):
    """What limits the workload on the target, and what the answer rests on. It is worked out when it is first asked
    for, and kept if what is known is still that of the prediction; else `note` says that it is about today's answer."""

    @extend_schema(
        operation_id="predictions_why",
        summary="Why a prediction is what it is",
        responses={200: ReasonsSerializer, 422: None},
    )
    def get(self, request: Request, id: Any) -> Response:
        prediction = get_object_or_404(Prediction.objects.visible_to(request.user), uid=id)
        try:
            return Response(reasons_of_prediction(prediction, request.user))
        except RequestError as error:
            raise problem_of(error) from error
