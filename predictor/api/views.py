from bisect import bisect_left
from collections.abc import Callable
from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import MayPredict
from mpet_site.api import ApiView, DetailView, ListView
from mpet_site.etags import database_etag, etag_of, unless_unchanged
from mpet_site.problems import InvalidRequest, Problem, Unprocessable, invalid
from predictor import services
from predictor.api.comparisons import INCLUDE_SIMULATED, included
from predictor.api.distances import platform_distances, workload_distances
from predictor.api.serializers import (
    MethodListSerializer,
    PlatformDistanceSerializer,
    PredictionRequestSerializer,
    PredictionSerializer,
    WorkloadDistanceSerializer,
)
from predictor.api.settled import SettledRows
from predictor.core.methods import METHODS
from predictor.core.similarity import Kind
from predictor.models import Prediction
from predictor.similarity import Selection, provenance, select

FIELD_OF: dict[type[services.RequestError], str] = {
    services.UnknownWorkload: "workload",
    services.UnknownTarget: "target",
    services.UnknownReference: "references",
    services.UnknownMethod: "method",
}


def problem_of(error: services.RequestError) -> Problem:
    if isinstance(error, services.NoPrediction):
        return Unprocessable(str(error), found=error.found, needed=error.needed)
    if isinstance(error, services.InvalidSettings):
        name = error.name if isinstance(error, services.InvalidField) else f"settings.{error.name}"
        return invalid(name, error.reason)
    return InvalidRequest([{"name": FIELD_OF.get(type(error), ""), "reason": str(error)}])


@extend_schema_view(get=extend_schema(operation_id="predictions_list", summary="Settled predictions"))
class PredictionList(SettledRows, ListView):
    """Ask how a workload would run on a platform: the same question at the same revision has one stored answer. Or
    list the predictions whose pair was measured later, and how wrong they were."""

    def get_permissions(self) -> list[Any]:
        return [MayPredict()] if self.request.method == "POST" else list(super().get_permissions())

    @extend_schema(
        operation_id="predictions_create",
        summary="Predict",
        request=PredictionRequestSerializer,
        responses={201: PredictionSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = PredictionRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        try:
            prediction = services.predict(asked.to_request(), request.user)
        except services.RequestError as error:
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


class MethodList(ApiView):
    """The methods that can be asked for, with their settings and defaults."""

    @extend_schema(operation_id="methods_list", summary="Methods", responses=MethodListSerializer)
    def get(self, request: Request) -> HttpResponseBase:
        results = [
            method.describe() | {"is_default": name == services.DEFAULT_METHOD} for name, method in METHODS.items()
        ]
        data = {"count": len(results), "next": None, "previous": None, "results": results}
        return unless_unchanged(request, etag_of(data), lambda: Response(data))


class DistanceView(ApiView):
    """Compares `a` with `b` in what the viewer may predict from; a public answer never depends on private rows."""

    kind: Kind
    query_parameters: ClassVar[tuple[str, ...]] = ("a", "b", "include_simulated")

    def select(self, request: Request) -> Selection:
        slugs = [request.query_params.get(name, "") for name in "ab"]
        return select(request.user, include_simulated=included(request), kind=self.kind, slugs=slugs)

    def answer(
        self, request: Request, a: str, b: str, selection: Selection, measure: Callable[[], dict[str, Any]]
    ) -> HttpResponseBase:
        def build() -> Response:
            found = measure()
            shown = {f"{self.kind[:-1]}__slug__in": (a, b)}
            basis = provenance(request.user, selection, is_empty=not found["individual"], **shown)
            return Response({"a": a, "b": b} | found | basis)

        return unless_unchanged(request, database_etag(request), build)


def place(request: Request, name: str, slugs: tuple[str, ...]) -> int:
    slug = request.query_params.get(name, "")
    at = bisect_left(slugs, slug)
    if not slug:
        raise invalid(name, "Needed: a slug.")
    if at == len(slugs) or slugs[at] != slug:
        raise invalid(name, f"Nothing that you may see has the slug '{slug}'.")
    return at


def parameters(**texts: str) -> list[OpenApiParameter]:
    named = (OpenApiParameter(k, str, required=k in "ab", description=v) for k, v in texts.items())
    return [*named, INCLUDE_SIMULATED]


class PlatformDistance(DistanceView):
    """How differently two platforms behave: D_p for each workload that both have, and the mean (Eq. 17, 19)."""

    kind = "platforms"

    @extend_schema(
        operation_id="distances_platforms",
        summary="Distance of two platforms",
        parameters=parameters(a="slug of a platform", b="slug of another"),
        responses=PlatformDistanceSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        selection = self.select(request)
        database = selection.database
        a, b = (place(request, name, database.platforms) for name in "ab")
        measure = lambda: platform_distances(database, a, b)  # noqa: E731
        return self.answer(request, database.platforms[a], database.platforms[b], selection, measure)


class WorkloadDistance(DistanceView):
    """How differently two workloads behave: D_a for each platform that has both, and the mean (Eq. 16, 18)."""

    kind = "workloads"

    query_parameters: ClassVar = (*DistanceView.query_parameters, "platform")

    @extend_schema(
        operation_id="distances_workloads",
        summary="Distance of two workloads",
        parameters=parameters(a="slug of a workload", b="slug of another", platform="on this platform alone"),
        responses=WorkloadDistanceSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        selection = self.select(request)
        database = selection.database
        a, b = (place(request, name, database.workloads) for name in "ab")
        asked = request.query_params.get("platform")
        platform = place(request, "platform", database.platforms) if asked else None
        measure = lambda: workload_distances(database, a, b, platform)  # noqa: E731
        return self.answer(request, database.workloads[a], database.workloads[b], selection, measure)
