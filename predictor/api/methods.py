"""The methods that can be asked."""

from dataclasses import asdict

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import etag_of, respond_unless_unchanged
from predictor.api.serializers import MethodListSerializer
from predictor.core.methods import METHODS
from predictor.predictions.request import DEFAULT_METHOD


class MethodList(ApiView):
    """The methods that can be asked for, with their settings and defaults."""

    @extend_schema(operation_id="methods_list", summary="Methods", responses=MethodListSerializer)
    def get(self, request: Request) -> HttpResponseBase:
        results = [
            asdict(method.describe()) | {"is_default": name == DEFAULT_METHOD} for name, method in METHODS.items()
        ]
        data = {"count": len(results), "next": None, "previous": None, "results": results}
        return respond_unless_unchanged(request, etag_of(data), lambda: Response(data))
