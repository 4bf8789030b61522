"""A profile beyond what was measured: the JSON form of the page."""

from typing import Any

from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.parameters import Slugs, WholeNumber, described
from mpet_site.web.problems import invalid_request
from predictor.api.scaling_models import ScalingFitSerializer, number, points_serializer
from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.extrapolation.questions import DEFAULT_MODELS, OFFERED_MODELS, ExtrapolationQuestion, InvalidFit
from profiles.models import Profile
from profiles.pages.page_cache import database_etag

MeasuredSerializer = inline_serializer(
    "BeyondMeasured", {"n": serializers.IntegerField(), "time_s": number()}, many=True
)
ModelSerializer = inline_serializer(
    "BeyondModel",
    {
        "model": serializers.CharField(),
        "title": serializers.CharField(),
        "refusal": serializers.CharField(help_text="Why the model says nothing of this profile; empty where it does."),
    }
    | {
        name: field
        for name, field in ScalingFitSerializer.fields.items()
        if name in {"parameters", "points", "predictions", "reasons", "no_interval"}
    },
    many=True,
)
SizesSerializer = inline_serializer(
    "BeyondSizes",
    {
        "unit": serializers.CharField(),
        "measured": inline_serializer(
            "BeyondSizeMeasured", {"n": serializers.IntegerField(), "size": number(), "time_s": number()}, many=True
        ),
        "reasons": ScalingFitSerializer.fields["reasons"],
        "answer": serializers.DictField(allow_null=True, help_text="A ScalingFit of the chosen model, with its label."),
    },
    allow_null=True,
)
BeyondSerializer = inline_serializer(
    "Beyond",
    {
        "profile": serializers.UUIDField(),
        "workload": serializers.CharField(),
        "platform": serializers.CharField(),
        "origin": serializers.CharField(),
        "time_kind": serializers.CharField(),
        "t1_s": number(),
        "level": serializers.FloatField(help_text="Of the intervals."),
        "measured": MeasuredSerializer,
        "models": ModelSerializer,
        "quality": points_serializer("BeyondQuality", penalty_s=number(), serial_fraction=number()),
        "reading": serializers.CharField(help_text="What the serial fraction says over n; may be empty."),
        "sizes": SizesSerializer,
    },
)


MODELS_PARAMETER = Slugs(
    "models",
    f"Of {', '.join(OFFERED_MODELS)}; default {','.join(DEFAULT_MODELS)}.",
    pattern="|".join(OFFERED_MODELS),
    most=len(OFFERED_MODELS),
)
TO_PARAMETER = WholeNumber("to", "The largest thread count that is asked for.", low=1, high=LARGEST_THREAD_COUNT)


class ProfileBeyond(ApiView):
    """One profile at thread counts and input sizes that nobody ran, by the scaling models; its penalty plot."""

    query_parameters = ("models", "to")

    @extend_schema(
        operation_id="profiles_beyond",
        summary="One profile beyond what was measured",
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

        def build() -> Response:
            return Response(extrapolation_document(profile, request.user, question))

        return respond_unless_unchanged(request, database_etag(request), build)
