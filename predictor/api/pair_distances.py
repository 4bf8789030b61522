"""The distance between two platforms or two workloads."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.problems import invalid_request
from predictor.api.comparisons import INCLUDE_SIMULATED, included, position
from predictor.api.serializers import PlatformDistanceSerializer, WorkloadDistanceSerializer
from predictor.comparisons.selection import Selection, provenance, select
from predictor.core.comparisons.distances import PairDistances, platform_distances, workload_distances
from predictor.core.comparisons.mean_distances import Kind
from profiles.etags import database_etag


class DistanceView(ApiView):
    """Compares `a` with `b` in what the viewer may predict from; a public answer never depends on private rows."""

    kind: Kind
    query_parameters: ClassVar[tuple[str, ...]] = ("a", "b", "include_simulated")

    def select(self, request: Request) -> Selection:
        slugs = [request.query_params.get(name, "") for name in "ab"]
        return select(request.user, include_simulated=included(request), kind=self.kind, slugs=slugs)

    def answer(
        self, request: Request, a: str, b: str, selection: Selection, measure: Callable[[], PairDistances]
    ) -> HttpResponseBase:
        def build() -> Response:
            distances = measure()
            shown = {f"{self.kind[:-1]}__slug__in": (a, b)}
            basis = provenance(request.user, selection, is_empty=not distances.individual, **shown)
            return Response({"a": a, "b": b} | distances_document(distances, self.kind) | basis)

        return respond_unless_unchanged(request, database_etag(request), build)


def distances_document(distances: PairDistances, kind: Kind) -> dict[str, Any]:
    """Two platforms are compared over workloads, two workloads over platforms."""
    over = "workload" if kind == "platforms" else "platform"
    rows = [asdict(individual) for individual in distances.individual]
    return {
        "revision": distances.revision,
        "mean": asdict(distances.mean),
        "individual": [{over: row.pop("partner"), **row} for row in rows],
    }


def place(request: Request, name: str, slugs: tuple[str, ...]) -> int:
    slug = request.query_params.get(name, "")
    if not slug:
        raise invalid_request(name, "Needed: a slug.")
    return position(name, slug, slugs)


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
