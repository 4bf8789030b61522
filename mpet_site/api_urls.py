"""The URLs of the API that belong to no application: its root, its schema and its documentation."""

from django.urls import path, register_converter
from django.urls.converters import PathConverter
from django.views.decorators.cache import cache_page
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from mpet_site.web.api import UNKNOWN_PATH, ApiView, StrictView, UnknownPath

# Generating the schema takes half a second, and it only changes with the code.
SCHEMA_KEPT_S = 600
ENDPOINTS = {
    "platforms": "api-platforms",
    "workloads": "api-workloads",
    "profiles": "api-profiles",
    "uploads": "api-uploads",
    "quarantine": "api-quarantine",
    "tokens": "api-tokens",
    "account": "api-account",
    "account/export": "api-account-export",
    "distances/platforms": "api-platform-distance",
    "distances/workloads": "api-workload-distance",
    "distances/platforms/matrix": "api-platform-matrix",
    "distances/workloads/matrix": "api-workload-matrix",
    "distances/workloads/map": "api-workload-map",
    "compare/platforms": "api-compare-platforms",
    "compare/workloads": "api-compare-workloads",
    "predictions": "api-predictions",
    "predictions/batch": "api-prediction-batch",
    "predictions/preview": "api-prediction-preview",
    "predictions/possible": "api-prediction-possible",
    "predictions/score": "api-score",
    "advice": "api-advice",
    "rankings": "api-rankings",
    "prices": "api-prices",
    "prices/mine": "api-own-prices",
    "search": "api-search",
    "methods": "api-methods",
    "scaling-models": "api-scaling-models",
    "evaluations": "api-evaluations",
    "evaluations/paper": "api-paper-tables",
    "dump": "api-dump",
    "login": "api-begin-login",
    "login/token": "api-hand-out-token",
    "kit": "api-kit",
    "kit/guide": "api-kit-guide",
    "schema": "api-schema",
    "docs": "api-docs",
}


class ApiRoot(ApiView):
    """The URLs of all endpoints."""

    @extend_schema(operation_id="root", responses={200: {"type": "object", "additionalProperties": {"type": "string"}}})
    def get(self, request: Request) -> Response:
        return Response({name: reverse(view, request=request) for name, view in ENDPOINTS.items()})


class SchemaView(StrictView, SpectacularAPIView):
    """The OpenAPI schema of this API."""

    query_parameters = ("lang",)


class DocsView(StrictView, SpectacularSwaggerSplitView):
    """The interactive documentation of the API (Swagger UI)."""

    query_parameters = ("lang", "script")
    url_name = "api-schema"


class AnythingConverter(PathConverter):
    """A path converter that also matches line breaks, so that every path below /api/v1/ gets a response of the API."""

    regex = "(?s:.+)"


register_converter(AnythingConverter, "anything")

urlpatterns = [
    path("", ApiRoot.as_view(), name="api-root"),
    path("schema/", cache_page(SCHEMA_KEPT_S)(SchemaView.as_view()), name="api-schema"),
    path("docs/", DocsView.as_view(), name="api-docs"),
    path("<anything:path>", UnknownPath.as_view(), name=UNKNOWN_PATH),
]
