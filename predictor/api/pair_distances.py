"""The distance between two platforms or two workloads."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.fields import Integer, Text, number
from mpet_site.web.parameters import Slug, described
from predictor.api.comparisons import INCLUDE_SIMULATED, PROVENANCE_FIELDS, position_of_slug
from predictor.api.previews import PUBLIC_ONLY
from predictor.comparisons.selection import ComparedProfiles, provenance, select_profiles
from predictor.core.comparisons.distances import PairDistances, platform_distances, workload_distances
from predictor.core.comparisons.mean_distances import Kind
from profiles.pages.page_cache import database_etag

MeanDistanceSerializer = type(
    inline_serializer(
        "MeanDistance",
        {
            "distance": number(help_text="Mean of the individual distances that are defined."),
            "dim": Integer(help_text="The fewest elements that one of them rests on."),
            "count": Integer(help_text="How many they are."),
        },
    )
)


def individual_fields(over: str) -> dict[str, serializers.Field]:
    return {
        over: Text(),
        "decomposed": serializers.BooleanField(),
        "runtime": Text(allow_null=True),
        "distance": number(help_text="0 to 1; null where no element is valid in both"),
        "dim": Integer(help_text="elements valid in both"),
    }


def distance_serializer(name: str, over: str) -> serializers.Serializer:
    return inline_serializer(
        name,
        {
            "a": Text(),
            "b": Text(),
            "revision": Integer(),
            "mean": MeanDistanceSerializer(),
            "individual": inline_serializer(f"{name}Individual", individual_fields(over), many=True),
            **PROVENANCE_FIELDS,
        },
    )


PlatformDistanceSerializer = distance_serializer("PlatformDistance", "workload")
WorkloadDistanceSerializer = distance_serializer("WorkloadDistance", "platform")


COMPARED = (Slug("a", "slug of one", required=True), Slug("b", "slug of another", required=True))
COMPARED_ON = Slug("platform", "on this platform alone")


class DistanceView(ApiView):
    """Compares `a` with `b` in what the viewer may predict from; a public answer never depends on private rows."""

    kind: Kind
    query_parameters: ClassVar[tuple[str, ...]] = ("a", "b", "include_simulated", "public_only")

    def select(self, request: Request) -> ComparedProfiles:
        slugs = [parameter.read(request) for parameter in COMPARED]
        simulated = INCLUDE_SIMULATED.read(request)
        viewer = None if PUBLIC_ONLY.read(request) else request.user
        return select_profiles(viewer, include_simulated=simulated, kind=self.kind, slugs=slugs)

    def answer(
        self, request: Request, a: str, b: str, selection: ComparedProfiles, measure: Callable[[], PairDistances]
    ) -> HttpResponseBase:
        def build() -> Response:
            distances = measure()
            filters = {f"{self.kind[:-1]}__slug__in": (a, b)}
            basis = provenance(selection, is_empty=not distances.individual, **filters)
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


def position_parameter(request: Request, parameter: Slug, slugs: tuple[str, ...]) -> int:
    return position_of_slug(parameter.name, parameter.read(request), slugs)


class PlatformDistance(DistanceView):
    """How differently two platforms behave: D_p for each workload that both have, and the mean (Eq. 17, 19)."""

    kind = "platforms"

    @extend_schema(
        operation_id="distances_platforms",
        summary="Distance of two platforms",
        parameters=described(*COMPARED, INCLUDE_SIMULATED, PUBLIC_ONLY),
        responses=PlatformDistanceSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        selection = self.select(request)
        database = selection.database
        a, b = (position_parameter(request, parameter, database.platforms) for parameter in COMPARED)
        measure = lambda: platform_distances(database, a, b)  # noqa: E731
        return self.answer(request, database.platforms[a], database.platforms[b], selection, measure)


class WorkloadDistance(DistanceView):
    """How differently two workloads behave: D_a for each platform that has both, and the mean (Eq. 16, 18)."""

    kind = "workloads"

    query_parameters: ClassVar = (*DistanceView.query_parameters, "platform")

    @extend_schema(
        operation_id="distances_workloads",
        summary="Distance of two workloads",
        parameters=described(*COMPARED, COMPARED_ON, INCLUDE_SIMULATED, PUBLIC_ONLY),
        responses=WorkloadDistanceSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        selection = self.select(request)
        database = selection.database
        a, b = (position_parameter(request, parameter, database.workloads) for parameter in COMPARED)
        slug = COMPARED_ON.read(request)
        platform = position_of_slug(COMPARED_ON.name, slug, database.platforms) if slug else None
        measure = lambda: workload_distances(database, a, b, platform)  # noqa: E731
        return self.answer(request, database.workloads[a], database.workloads[b], selection, measure)
