"""Predictions: asked for and stored, read one by one, or listed once they were validated."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import MayAsk
from mpet_site.web.api import DetailView, ListView
from mpet_site.web.etags import etag_of
from mpet_site.web.problems import InvalidRequest, Problem, Unprocessable, invalid_request
from mpet_site.web.throttling import UnstoredPredictionThrottle
from predictor.api.prediction_serializers import (
    PredictionRequestSerializer,
    PredictionSerializer,
    PreviewSerializer,
    preview_document,
)
from predictor.api.settled import SettledRows
from predictor.models import Prediction
from predictor.predictions.feasibility import advice_members
from predictor.predictions.request import (
    InvalidField,
    InvalidSettings,
    NoPrediction,
    RequestError,
    UnknownName,
)
from predictor.predictions.service import predict, preview_answer


def problem_of(error: RequestError) -> Problem:
    """The problem that the API answers with for a request that has no answer."""
    if isinstance(error, NoPrediction):
        lacks = {"lacks": error.lacks or None, **advice_members(error.remedy)}
        return Unprocessable(str(error), found=error.found, needed=error.needed, **lacks)
    if isinstance(error, InvalidSettings):
        name = error.name if isinstance(error, InvalidField) else f"settings.{error.name}"
        return invalid_request(name, error.reason)
    name = error.request_field if isinstance(error, UnknownName) else ""
    return InvalidRequest([{"name": name, "reason": str(error)}])


@extend_schema_view(get=extend_schema(operation_id="predictions_list", summary="Validated predictions"))
class PredictionList(SettledRows, ListView):
    """Ask how a workload would run on a platform: the same question at the same revision has one stored answer. Or
    list the predictions whose pair was measured later, and how wrong they were."""

    def get_permissions(self) -> list[Any]:
        """AllowAny tells the schema that a token is optional."""
        return [AllowAny(), MayAsk()] if self.request.method == "POST" else list(super().get_permissions())

    def get_throttles(self) -> list[Any]:
        throttles = list(super().get_throttles())
        return [*throttles, UnstoredPredictionThrottle()] if self.request.method == "POST" else throttles

    @extend_schema(
        operation_id="predictions_create",
        summary="Predict",
        request=PredictionRequestSerializer,
        responses={200: PreviewSerializer, 201: PredictionSerializer, 422: None},
    )
    def post(self, request: Request) -> Response:
        """With a token 201 and the stored answer; without one 200 and the same answer, which is not kept."""
        serializer = PredictionRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        try:
            if not request.user.is_authenticated:
                return Response(preview_document(preview_answer(serializer.to_request(), None)))
            prediction = predict(serializer.to_request(), request.user)
        except RequestError as error:
            raise problem_of(error) from error
        data = PredictionSerializer(prediction, context={"request": request}).data
        return Response(data, status=201, headers={"Location": str(data["url"])})  # wsgiref takes no subclass


@extend_schema_view(get=extend_schema(operation_id="predictions_read", summary="One prediction"))
class PredictionDetail(DetailView):
    """The answer as it was given, with the revision it came from; it never changes. Once the pair is measured, its
    `settlement` says how wrong it was."""

    serializer_class = PredictionSerializer
    lookup_field = "uid"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> Any:
        return Prediction.objects.visible_to(self.request.user).select_related("settled_by")

    def etag(self, prediction: Prediction) -> str:
        return etag_of(self.request.build_absolute_uri(), prediction.uid, prediction.settled_at, prediction.is_settled)
