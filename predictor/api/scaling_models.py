"""Scaling models in the API: a list, fits that are computed in the request and not stored, and extrapolations of a
profile with several models."""

from typing import Any

from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import MayPredict
from mpet_site.web.api import ApiView
from mpet_site.web.etags import etag_of, respond_unless_unchanged
from mpet_site.web.fields import (
    KnownFieldsSerializer,
    PlainChoice,
    PlainInteger,
    PlainNumber,
    Text,
    number,
    page_fields,
)
from mpet_site.web.parameters import Slugs, WholeNumber, described
from mpet_site.web.plain_json import nan_to_null
from mpet_site.web.problems import Unprocessable, invalid_request
from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.extrapolation.questions import (
    DEFAULT_MODELS,
    OFFERED_MODELS,
    ExtrapolationQuestion,
    FitRequest,
    InvalidFit,
)
from predictor.scaling_models import SCALING_MODEL_NAMES
from predictor.scaling_models.companions import SCOPES
from predictor.scaling_models.points import PointsError
from profiles.models import Profile
from profiles.pages.page_cache import database_etag

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
        help_text="Processor clock divided by a reference clock; for stored profiles that is the base clock.",
    )


class FitPointSerializer(AskedPointSerializer):
    time_s = PlainNumber(min_value=SHORTEST_S, max_value=LONGEST_S, help_text="Measured time.")
    work_s = plain_number(help_text="Task graph: thread seconds of useful work.")
    delay_s = plain_number(help_text="Task graph: thread seconds in which a task waited for an idle core.")
    no_work_s = plain_number(help_text="Task graph: thread seconds without a task.")
    tasks = plain_number(help_text="Task graph: number of created tasks.")
    waits = plain_number(help_text="Task graph: number of waits for tasks.")


class ScalingFitRequestSerializer(KnownFieldsSerializer):
    """A request to fit a model to either `profile` or `points`."""

    profile = serializers.UUIDField(default=None, allow_null=True, help_text="ID of a profile that you may read.")
    points = FitPointSerializer(many=True, default=list, max_length=MOST_POINTS)  # type: ignore[call-arg]
    predict = AskedPointSerializer(  # type: ignore[call-arg]
        many=True, default=list, max_length=MOST_POINTS, help_text="Points to predict."
    )
    settings = serializers.DictField(default=dict, help_text="Settings of the model; omitted ones have their defaults.")
    level = PlainNumber(
        default=0.9, min_value=LEAST_LEVEL, max_value=1 - LEAST_LEVEL, help_text="Probability of the intervals."
    )
    companions = PlainChoice(
        choices=SCOPES, default="all", help_text="Other profiles that the automatic choice for a profile may use."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if (attrs["profile"] is None) == (not attrs["points"]):
            raise invalid_request("points", "Give either profile or points, and not both.")
        return attrs


def points_serializer(name: str, **fields: serializers.Field) -> Any:
    own_fields: dict[str, Any] = {"n": serializers.IntegerField(), "size": number(), "clock_ratio": number()}
    return inline_serializer(name, own_fields | fields, many=True)


ScalingModelSerializer = inline_serializer(
    "ScalingModel",
    {
        "name": Text(),
        "title": Text(),
        "summary": Text(),
        "needed": serializers.ListField(child=Text(), help_text="Required columns of every point."),
        "optional": serializers.ListField(child=Text(), help_text="Optional columns, used if present."),
        "settings": serializers.DictField(help_text="Settings of the model with their defaults."),
        "source": Text(),
    },
)
ScalingModelListSerializer = inline_serializer("ScalingModelList", page_fields(ScalingModelSerializer))
ScalingFitSerializer = inline_serializer(
    "ScalingFit",
    {
        "model": Text(),
        "settings": serializers.DictField(),
        "parameters": inline_serializer(
            "ScalingParameter", {"name": Text(), "value": number(), "low": number(), "high": number()}, many=True
        ),
        "points": points_serializer("FittedPoint", time_s=number(), fitted_s=number(), residual_percent=number()),
        "level": serializers.FloatField(),
        "predictions": points_serializer("ScalingPrediction", time_s=number(), low_s=number(), high_s=number()),
        "no_interval": Text(help_text="Why the predictions have no interval; empty if they have one."),
        "reasons": inline_serializer(
            "ScalingReason",
            {
                "model": Text(),
                "error_percent": number(),
                "evidence": Text(),
                "chosen": serializers.BooleanField(),
            },
            many=True,
        ),
        "quality": points_serializer("ScalingQuality", penalty_s=number(), serial_fraction=number()),
    },
)
BeyondMeasuredSerializer = inline_serializer(
    "BeyondMeasured", {"n": serializers.IntegerField(), "time_s": number()}, many=True
)
BeyondModelSerializer = inline_serializer(
    "BeyondModel",
    {
        "model": Text(),
        "title": Text(),
        "refusal": Text(help_text="Why the model cannot be fitted to this profile; empty if it can."),
    }
    | {
        name: field
        for name, field in ScalingFitSerializer.fields.items()
        if name in {"parameters", "points", "predictions", "reasons", "no_interval"}
    },
    many=True,
)
BeyondSizesSerializer = inline_serializer(
    "BeyondSizes",
    {
        "unit": Text(),
        "measured": inline_serializer(
            "BeyondSizeMeasured", {"n": serializers.IntegerField(), "size": number(), "time_s": number()}, many=True
        ),
        "reasons": ScalingFitSerializer.fields["reasons"],
        "answer": serializers.DictField(allow_null=True, help_text="ScalingFit of the chosen model, with its label."),
    },
    allow_null=True,
)
BeyondSerializer = inline_serializer(
    "Beyond",
    {
        "profile": serializers.UUIDField(),
        "workload": Text(),
        "platform": Text(),
        "origin": Text(),
        "time_kind": Text(),
        "t1_s": number(),
        "level": serializers.FloatField(help_text="Probability of the intervals."),
        "measured": BeyondMeasuredSerializer,
        "models": BeyondModelSerializer,
        "quality": points_serializer("BeyondQuality", penalty_s=number(), serial_fraction=number()),
        "reading": Text(help_text="Interpretation of the serial fraction over n; may be empty."),
        "sizes": BeyondSizesSerializer,
    },
)
MODELS_PARAMETER = Slugs(
    "models",
    f"Models to fit, of {', '.join(OFFERED_MODELS)}; default {','.join(DEFAULT_MODELS)}.",
    pattern="|".join(OFFERED_MODELS),
    most=len(OFFERED_MODELS),
)
TO_PARAMETER = WholeNumber("to", "Largest thread count to predict.", low=1, high=LARGEST_THREAD_COUNT)


class ScalingModelList(ApiView):
    """List the models that can be fitted, with their columns and settings."""

    @extend_schema(operation_id="scaling_models_list", summary="Scaling models", responses=ScalingModelListSerializer)
    def get(self, request: Request) -> HttpResponseBase:
        from predictor.scaling_models.registry import describe_model  # noqa: PLC0415  see questions.py

        results = [describe_model(name) for name in SCALING_MODEL_NAMES]
        data = {"count": len(results), "next": None, "previous": None, "results": nan_to_null(results)}
        return respond_unless_unchanged(request, etag_of(data), lambda: Response(data))


class ScalingModelFit(ApiView):
    """Fit a model to a profile or to points and predict. The answer contains parameters, residuals, intervals and
    reasons."""

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
            is_of_point = error.row is not None and error.column in FitPointSerializer().fields
            field = f"points.{error.row}.{error.column}" if is_of_point else "points"
            raise invalid_request(field, error.reason) from error
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
        raise invalid_request("profile", "No profile that you may see has this id.")
    return request_for_profile(profile, user, values)


class ProfileBeyond(ApiView):
    """Extrapolate a profile to thread counts and input sizes without measurements, with several scaling models, and
    return the data of its penalty plot."""

    query_parameters = ("models", "to")

    @extend_schema(
        operation_id="profiles_beyond",
        summary="Extrapolate a profile",
        parameters=described(MODELS_PARAMETER, TO_PARAMETER),
        responses=BeyondSerializer,
    )
    def get(self, request: Request, id: Any) -> HttpResponseBase:
        from predictor.extrapolation.document import extrapolation_document  # noqa: PLC0415  see questions.py

        profile = get_object_or_404(Profile.objects.on_profile_page(request.user), uid=id)
        models, to = MODELS_PARAMETER.read(request), TO_PARAMETER.read(request)
        try:
            question = ExtrapolationQuestion(DEFAULT_MODELS if models is None else tuple(dict.fromkeys(models)), to)
        except InvalidFit as error:
            raise invalid_request(error.name, error.reason) from error
        return respond_unless_unchanged(
            request, database_etag(request), lambda: Response(extrapolation_document(profile, request.user, question))
        )
