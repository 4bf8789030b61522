"""Predictions: asked for and stored, read one by one with why they are what they are, or listed once they were
validated."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import MayAsk, MayPredict
from mpet_site.web.api import ApiView, DetailView, ListView
from mpet_site.web.etags import etag_of
from mpet_site.web.fields import serializer_of
from mpet_site.web.parameters import OneOf, described
from mpet_site.web.problems import InvalidRequest, Problem, Unprocessable, invalid_request
from mpet_site.web.throttling import UnstoredPredictionThrottle
from predictor.api.prediction_serializers import (
    PredictionRequestSerializer,
    PredictionSerializer,
    PreviewSerializer,
    preview_document,
)
from predictor.api.settled import ListedPredictions
from predictor.models import Prediction
from predictor.predictions.explanation import PredictionReasons
from predictor.predictions.feasibility import advice_members
from predictor.predictions.question import (
    InvalidField,
    InvalidSettings,
    NoPrediction,
    RequestError,
    UnknownName,
)
from predictor.predictions.service import (
    predict,
    preview_answer,
    reasons_of_prediction,
    remove_predictions,
    stale_reasons,
    why_of_prediction,
)


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


MINE_ONLY = OneOf("mine", "so that nothing is deleted by mistake", required=True, choices=("true",))


@extend_schema_view(get=extend_schema(operation_id="predictions_list", summary="Your own and validated predictions"))
class PredictionList(ListedPredictions, ListView):
    """Ask how a workload would run on a platform: the same question at the same revision has one stored answer. Or
    list your own predictions, and those whose pair was measured later, with how wrong they were."""

    def get_permissions(self) -> list[Any]:
        """AllowAny tells the schema that a token is optional."""
        of_method: dict[str, list[Any]] = {"POST": [AllowAny(), MayAsk()], "DELETE": [MayPredict()]}
        return of_method.get(str(self.request.method)) or list(super().get_permissions())

    def get_throttles(self) -> list[Any]:
        throttles = list(super().get_throttles())
        return [*throttles, UnstoredPredictionThrottle()] if self.request.method == "POST" else throttles

    def known_parameters(self) -> tuple[str, ...]:
        return ("mine",) if self.request.method == "DELETE" else super().known_parameters()

    @extend_schema(
        operation_id="predictions_delete_all",
        summary="Delete all your own predictions",
        parameters=described(MINE_ONLY),
        responses={204: None},
    )
    def delete(self, request: Request) -> Response:
        """As if each was deleted alone."""
        MINE_ONLY.read(request)
        remove_predictions(Prediction.objects.all(), request.user)
        return Response(status=204)

    @extend_schema(
        operation_id="predictions_create",
        summary="Predict",
        request=PredictionRequestSerializer,
        responses={200: PreviewSerializer, 201: PredictionSerializer, 422: None},
    )
    def post(self, request: Request) -> Response:
        """With a token 201 and the stored answer; without one 200 and the same answer, which is not kept. `why` is in
        it where `explain` is true."""
        serializer = PredictionRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        explained = serializer.validated_data["explain"]
        context: dict[str, Any] = {"request": request}
        try:
            if not request.user.is_authenticated:
                return Response(preview_document(preview_answer(serializer.to_request(), None, explained=explained)))
            prediction = predict(serializer.to_request(), request.user)
            if explained:
                context["why"] = why_of_prediction(prediction, request.user)
        except RequestError as error:
            raise problem_of(error) from error
        data = PredictionSerializer(prediction, context=context).data
        return Response(data, status=201, headers={"Location": str(data["url"])})  # wsgiref takes no subclass


@extend_schema_view(get=extend_schema(operation_id="predictions_read", summary="One prediction"))
class PredictionDetail(DetailView):
    """The answer as it was given, with the revision it came from; it never changes. Once the pair is measured, its
    `settlement` says how wrong it was; `withdrawn` that something it rests on was taken back, and `outdated`
    what of it is from before: a newer version of the method or of the rules of `why`, which why/ has."""

    serializer_class = PredictionSerializer
    lookup_field = "uid"
    lookup_url_kwarg = "id"

    def get_permissions(self) -> list[Any]:
        return [MayPredict()] if self.request.method == "DELETE" else list(super().get_permissions())

    def get_queryset(self) -> Any:
        return Prediction.objects.visible_to(self.request.user).select_related("settled_by")

    @extend_schema(operation_id="predictions_delete", summary="Delete one of your own", responses={204: None})
    def delete(self, request: Request, id: Any) -> Response:
        """It leaves your own predictions. A private one is gone; a public one too, unless somebody else asked for it or
        a measurement validated it."""
        if not remove_predictions(Prediction.objects.filter(uid=self.get_object().uid), request.user):
            raise PermissionDenied("This is none of your own predictions.")
        return Response(status=204)

    def etag(self, prediction: Prediction) -> str:
        withdrawn, outdated = len(prediction.withdrawals), stale_reasons(prediction)
        beside = prediction.settled_at, prediction.is_settled, withdrawn, *outdated
        return etag_of(self.request.build_absolute_uri(), prediction.uid, *beside)


class PredictionWhy(ApiView):
    """What limits the workload on the target, and what the answer rests on. It is worked out when it is first asked
    for, and kept if what is known is still that of the prediction; else `note` says that it is about today's answer."""

    @extend_schema(
        operation_id="predictions_why",
        summary="Why a prediction is what it is",
        responses={200: serializer_of(PredictionReasons), 422: None},
    )
    def get(self, request: Request, id: Any) -> Response:
        prediction = get_object_or_404(Prediction.objects.visible_to(request.user), uid=id)
        try:
            return Response(reasons_of_prediction(prediction, request.user))
        except RequestError as error:
            raise problem_of(error) from error
