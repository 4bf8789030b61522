"""Scaling models over the API: a list, and a fit that answers at once and stores nothing."""

from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import MayPredict
from mpet_site.web.api import ApiView
from mpet_site.web.etags import etag_of, respond_unless_unchanged
from mpet_site.web.fields import PlainInteger, PlainNumber, number
from mpet_site.web.plain_json import nan_to_null
from mpet_site.web.problems import InvalidRequest, Unprocessable, invalid_request
from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.extrapolation.questions import FitRequest, InvalidFit
from predictor.scaling_models import SCALING_MODEL_NAMES
from predictor.scaling_models.companions import SCOPES
from predictor.scaling_models.points import PointsError
from profiles.models import Profile

MOST_POINTS = 500
SHORTEST_S, LONGEST_S = 1e-12, 1e12
LARGEST_CLOCK_RATIO = 1e6
LEAST_LEVEL = 0.001


def plain_number(**options: Any) -> PlainNumber:
    return PlainNumber(allow_null=True, default=None, **options)


class AskedPointSerializer(serializers.Serializer):
    n = PlainInteger(min_value=1, max_value=LARGEST_THREAD_COUNT, help_text="Thread count.")
    size = plain_number(help_text="Input size, in any unit.")
    clock_ratio = plain_number(
        min_value=1 / LARGEST_CLOCK_RATIO,
        max_value=LARGEST_CLOCK_RATIO,
        help_text="Processor clock over memory clock.",
    )


class FitPointSerializer(AskedPointSerializer):
    time_s = PlainNumber(min_value=SHORTEST_S, max_value=LONGEST_S, help_text="Measured.")
    work_s = plain_number(help_text="Task graph: thread seconds of useful work.")
    delay_s = plain_number(help_text="Task graph: thread seconds in which a task waited for an idle core.")
    no_work_s = plain_number(help_text="Task graph: thread seconds without a task.")
    tasks = plain_number(help_text="Task graph: tasks created.")
    waits = plain_number(help_text="Task graph: waits for tasks.")


class ScalingFitRequestSerializer(serializers.Serializer):
    """Either `profile` or `points`."""

    profile = serializers.UUIDField(default=None, allow_null=True, help_text="id of a profile that you may see.")
    points = FitPointSerializer(many=True, default=list, max_length=MOST_POINTS)  # type: ignore[call-arg]
    predict = AskedPointSerializer(  # type: ignore[call-arg]
        many=True, default=list, max_length=MOST_POINTS, help_text="Where to predict."
    )
    settings = serializers.DictField(default=dict, help_text="Of the model; the rest is its default.")
    level = PlainNumber(default=0.9, min_value=LEAST_LEVEL, max_value=1 - LEAST_LEVEL, help_text="Of the intervals.")
    companions = serializers.ChoiceField(
        choices=SCOPES, default="all", help_text="Automatic choice for a profile: which other profiles it may know."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(self.initial_data) - set(self.fields))
        if unknown:
            raise InvalidRequest([{"name": name, "reason": "No such field."} for name in unknown])
        if (attrs["profile"] is None) == (not attrs["points"]):
            raise invalid_request("points", "Either a profile or points are needed.")
        return attrs


def points_serializer(name: str, **fields: serializers.Field) -> Any:
    own: dict[str, Any] = {"n": serializers.IntegerField(), "size": number(), "clock_ratio": number()}
    return inline_serializer(name, own | fields, many=True)


ScalingModelSerializer = inline_serializer(
    "ScalingModel",
    {
        "name": serializers.CharField(),
        "title": serializers.CharField(),
        "summary": serializers.CharField(),
        "needed": serializers.ListField(child=serializers.CharField(), help_text="Columns of every point."),
        "optional": serializers.ListField(child=serializers.CharField(), help_text="Columns it uses where they are."),
        "settings": serializers.DictField(help_text="With their defaults."),
        "source": serializers.CharField(),
    },
)
ScalingModelListSerializer = inline_serializer(
    "ScalingModelList",
    {
        "count": serializers.IntegerField(),
        "next": serializers.URLField(allow_null=True),
        "previous": serializers.URLField(allow_null=True),
        "results": serializers.ListField(child=ScalingModelSerializer),
    },
)
ScalingFitSerializer = inline_serializer(
    "ScalingFit",
    {
        "model": serializers.CharField(),
        "settings": serializers.DictField(),
        "parameters": inline_serializer(
            "ScalingParameter",
            {"name": serializers.CharField(), "value": number(), "low": number(), "high": number()},
            many=True,
        ),
        "points": points_serializer("FittedPoint", time_s=number(), fitted_s=number(), residual_percent=number()),
        "level": serializers.FloatField(),
        "predictions": points_serializer("ScalingPrediction", time_s=number(), low_s=number(), high_s=number()),
        "no_interval": serializers.CharField(help_text="Why predictions have no interval; empty where they have one."),
        "reasons": inline_serializer(
            "ScalingReason",
            {
                "model": serializers.CharField(),
                "error_percent": number(),
                "evidence": serializers.CharField(),
                "chosen": serializers.BooleanField(),
            },
            many=True,
        ),
        "quality": points_serializer("ScalingQuality", penalty_s=number(), serial_fraction=number()),
    },
)


class ScalingModelList(ApiView):
    """The models that can be fitted, with their columns and settings."""

    @extend_schema(operation_id="scaling_models_list", summary="Scaling models", responses=ScalingModelListSerializer)
    def get(self, request: Request) -> HttpResponseBase:
        from predictor.scaling_models.registry import describe_model  # noqa: PLC0415  see questions.py

        results = [describe_model(name) for name in SCALING_MODEL_NAMES]
        data = {"count": len(results), "next": None, "previous": None, "results": nan_to_null(results)}
        return respond_unless_unchanged(request, etag_of(data), lambda: Response(data))


class ScalingModelFit(ApiView):
    """Fit one model to a profile or to points, and predict: parameters, residuals, intervals, reasons."""

    permission_classes = (MayPredict,)

    @extend_schema(
        operation_id="scaling_models_fit",
        summary="Fit a scaling model",
        parameters=[OpenApiParameter("name", OpenApiTypes.STR, OpenApiParameter.PATH, enum=list(SCALING_MODEL_NAMES))],
        request=ScalingFitRequestSerializer,
        responses={200: ScalingFitSerializer, 422: None},
    )
    def post(self, request: Request, name: str) -> Response:
        from predictor.extrapolation.fits import fitted_answer  # noqa: PLC0415  see questions.py
        from predictor.scaling_models.base import TooFewPoints  # noqa: PLC0415

        if name not in SCALING_MODEL_NAMES:
            raise NotFound
        serializer = ScalingFitRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        try:
            return Response(nan_to_null(fitted_answer(fit_request(name, serializer.validated_data, request.user))))
        except InvalidFit as error:
            raise invalid_request(error.name, error.reason) from error
        except PointsError as error:
            raise invalid_request(field_of_error(error), error.reason) from error
        except TooFewPoints as error:
            raise Unprocessable(str(error), found=error.found, needed=error.needed) from error
        except ValueError as error:
            raise Unprocessable(str(error)) from error


def fit_request(name: str, fields: dict[str, Any], user: Any) -> FitRequest:
    from predictor.extrapolation.fits import request_for_profile  # noqa: PLC0415  see questions.py

    values = fields | {"model": name}
    if fields["profile"] is None:
        return FitRequest(name, values["points"], values["predict"], values["settings"], values["level"])
    visible = Profile.objects.visible_to(user).select_related("platform", "workload", "curves")
    profile = visible.filter(uid=fields["profile"]).first()
    if profile is None:
        raise invalid_request("profile", "There is no profile with this id that you may see.")
    return request_for_profile(profile, user, values)


def field_of_error(error: PointsError) -> str:
    if error.row is None or error.column not in FitPointSerializer().fields:
        return "points"
    return f"points.{error.row}.{error.column}"
