"""Prediction methods in the API."""

from dataclasses import asdict

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import etag_of, respond_unless_unchanged
from mpet_site.web.fields import Text, page_fields
from predictor.core.methods import METHODS
from predictor.predictions.question import DEFAULT_METHOD

MethodSerializer = inline_serializer(
    "Method",
    {
        "name": Text(),
        "version": Text(),
        "summary": Text(),
        "baseline": serializers.BooleanField(
            help_text="Whether the method is a simple one that others are compared with."
        ),
        "settings": serializers.DictField(
            child=inline_serializer("Setting", {"type": Text(), "default": serializers.JSONField()})
        ),
        "is_default": serializers.BooleanField(),
    },
)
MethodListSerializer = inline_serializer("MethodList", page_fields(MethodSerializer))


class MethodList(ApiView):
    """List the prediction methods with their settings and defaults."""

    @extend_schema(operation_id="methods_list", summary="Methods", responses=MethodListSerializer)
    def get(self, request: Request) -> HttpResponseBase:
        results = [
            asdict(method.describe()) | {"is_default": name == DEFAULT_METHOD} for name, method in METHODS.items()
        ]
        data = {"count": len(results), "next": None, "previous": None, "results": results}
        return respond_unless_unchanged(request, etag_of(data), lambda: Response(data))
