"""The addresses of the API that belong to no application: its root, its schema, its documentation."""

from django.urls import path
from django.views.decorators.cache import cache_page
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from mpet_site.web.api import UNKNOWN_PATH, ApiView, UnknownPath

SCHEMA_KEPT_S = 600  # it takes half a second to make, and changes with the code only
ENDPOINTS = {
    "platforms": "api-platforms",
    "workloads": "api-workloads",
    "profiles": "api-profiles",
    "uploads": "api-uploads",
    "tokens": "api-tokens",
    "distances/platforms": "api-platform-distance",
    "distances/workloads": "api-workload-distance",
    "distances/platforms/matrix": "api-platform-matrix",
    "distances/workloads/matrix": "api-workload-matrix",
    "distances/workloads/map": "api-workload-map",
    "compare/platforms": "api-compare-platforms",
    "compare/workloads": "api-compare-workloads",
    "predictions": "api-predictions",
    "predictions/preview": "api-prediction-preview",
    "predictions/score": "api-score",
    "rankings": "api-rankings",
    "methods": "api-methods",
    "scaling-models": "api-scaling-models",
    "evaluations": "api-evaluations",
    "evaluations/paper": "api-paper-tables",
    "kit": "api-kit",
    "kit/guide": "api-kit-guide",
    "schema": "api-schema",
    "docs": "api-docs",
}


class ApiRoot(ApiView):
    """The addresses of all endpoints."""

    @extend_schema(operation_id="root", responses={200: {"type": "object", "additionalProperties": {"type": "string"}}})
    def get(self, request: Request) -> Response:
        return Response({name: reverse(view, request=request) for name, view in ENDPOINTS.items()})


urlpatterns = [
    path("", ApiRoot.as_view(), name="api-root"),
    path("schema/", cache_page(SCHEMA_KEPT_S)(SpectacularAPIView.as_view()), name="api-schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="api-schema"), name="api-docs"),
    path("<path:path>", UnknownPath.as_view(), name=UNKNOWN_PATH),
]
