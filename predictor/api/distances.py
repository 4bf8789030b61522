"""Distances of platforms and of workloads in the API: of two, of all pairs as a matrix, as a map, and the most similar
ones."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, extend_schema_view, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.fields import Integer, Text, number
from mpet_site.web.parameters import Slug, described
from predictor.api.comparisons import (
    INCLUDE_SIMULATED,
    PROVENANCE_FIELDS,
    SELECTION_PARAMETERS,
    ComparisonView,
    position_of_slug,
)
from predictor.api.previews import PUBLIC_ONLY
from predictor.comparisons import (
    MODEL_OF_KIND,
    ComparedProfiles,
    MapQuestion,
    MatrixQuestion,
    neighbours_of,
    provenance,
)
from predictor.computations.responses import ComputationSerializer, answer_or_progress
from predictor.computations.running import LongQuestion
from predictor.core.comparisons.distances import PairDistances, platform_distances, workload_distances
from predictor.core.comparisons.mean_distances import Kind
from predictor.core.database import Database
from profiles.pages.page_cache import database_etag

MeanDistanceSerializer = type(
    inline_serializer(
        "MeanDistance",
        {
            "distance": number(help_text="Mean of the individual distances that are defined."),
            "dim": Integer(help_text="Smallest number of elements that one of these distances is based on."),
            "count": Integer(help_text="Number of these distances."),
        },
    )
)
MatrixSerializer = inline_serializer(
    "DistanceMatrix",
    {
        "revision": Integer(),
        "of": Text(),
        "slugs": serializers.ListField(child=Text(), help_text="Slugs of the rows and of the columns."),
        "mean": serializers.ListField(
            child=serializers.ListField(child=number()),
            help_text="Mean distances, 0 to 1; null if nothing can be compared.",
        ),
        "count": serializers.ListField(
            child=serializers.ListField(child=Integer()), help_text="Number of individual distances in each mean."
        ),
        **PROVENANCE_FIELDS,
    },
)
MapSerializer = inline_serializer(
    "WorkloadMap",
    {
        "revision": Integer(),
        "stress": number(help_text="Kruskal's stress: 0 = exact, 0.2 = poor."),
        "workloads": inline_serializer(
            "WorkloadPlace",
            {
                "workload": Text(),
                "strategy": Text(),
                "x": number(help_text="Coordinate; null if the workload has no distance to any other."),
                "y": number(),
            },
            many=True,
        ),
        **PROVENANCE_FIELDS,
    },
)
COMPARED = (Slug("a", "Slug of the first one.", required=True), Slug("b", "Slug of the second one.", required=True))
COMPARED_ON = Slug("platform", "Use only distances on this platform.")


def distance_serializer(name: str, over: str) -> serializers.Serializer:
    individual: dict[str, serializers.Field] = {
        over: Text(),
        "decomposed": serializers.BooleanField(),
        "runtime": Text(allow_null=True),
        "distance": number(help_text="Distance, 0 to 1; null if no element is valid in both."),
        "dim": Integer(help_text="Number of elements that are valid in both."),
    }
    return inline_serializer(
        name,
        {
            "a": Text(),
            "b": Text(),
            "revision": Integer(),
            "mean": MeanDistanceSerializer(),
            "individual": inline_serializer(f"{name}Individual", individual, many=True),
            **PROVENANCE_FIELDS,
        },
    )


def similar_serializer(name: str, noun: str) -> serializers.Serializer:
    row: dict[str, serializers.Field] = {
        noun: Text(),
        "name": Text(),
        "distance": number(help_text="Mean distance, 0 to 1 (Eq. 18-19)."),
        "count": Integer(help_text="Number of individual distances in the mean."),
    }
    return inline_serializer(f"{name}s", {"of": Text(), "results": inline_serializer(name, row, many=True)})


class DistanceView(ComparisonView):
    """Return the distances of `a` and `b`, based on the profiles that the user's predictions may use.

    Public answers never depend on private rows.
    """

    kind: Kind
    query_parameters: ClassVar[tuple[str, ...]] = ("a", "b", "include_simulated", "public_only")

    def get(self, request: Request) -> HttpResponseBase:
        selection = self.select(request, self.kind, [parameter.read(request) for parameter in COMPARED])
        database = selection.database
        slugs = database.platforms if self.kind == "platforms" else database.workloads
        a, b = (position_of_slug(parameter.name, parameter.read(request), slugs) for parameter in COMPARED)

        def build() -> dict[str, Any]:
            distances = self.measure(request, database, a, b)
            # Platforms are compared over workloads, and workloads over platforms.
            over = "workload" if self.kind == "platforms" else "platform"
            document = {"a": slugs[a], "b": slugs[b], **asdict(distances)}
            document["individual"] = [{over: row.pop("partner"), **row} for row in document["individual"]]
            filters = {f"{self.kind[:-1]}__slug__in": (slugs[a], slugs[b])}
            return document | provenance(selection, is_empty=not distances.individual, **filters)

        return self.answer(request, build)

    def measure(self, request: Request, database: Database, a: int, b: int) -> PairDistances:
        """Return the distances of the platforms or workloads with the indices a and b."""
        raise NotImplementedError


@extend_schema_view(
    get=extend_schema(
        operation_id="distances_platforms",
        summary="Distance of two platforms",
        parameters=described(*COMPARED, INCLUDE_SIMULATED, PUBLIC_ONLY),
        responses=distance_serializer("PlatformDistance", "workload"),
    )
)
class PlatformDistance(DistanceView):
    """Return the distance of two platforms: D_p for each workload that both have, and the mean (Eq. 17, 19)."""

    kind = "platforms"

    def measure(self, request: Request, database: Database, a: int, b: int) -> PairDistances:
        return platform_distances(database, a, b)


@extend_schema_view(
    get=extend_schema(
        operation_id="distances_workloads",
        summary="Distance of two workloads",
        parameters=described(*COMPARED, COMPARED_ON, INCLUDE_SIMULATED, PUBLIC_ONLY),
        responses=distance_serializer("WorkloadDistance", "platform"),
    )
)
class WorkloadDistance(DistanceView):
    """Return the distance of two workloads: D_a for each platform that has both, and the mean (Eq. 16, 18)."""

    kind = "workloads"
    query_parameters: ClassVar = (*DistanceView.query_parameters, "platform")

    def measure(self, request: Request, database: Database, a: int, b: int) -> PairDistances:
        slug = COMPARED_ON.read(request)
        platform = position_of_slug(COMPARED_ON.name, slug, database.platforms) if slug else None
        return workload_distances(database, a, b, platform)


class LongComparisonView(ComparisonView):
    """The base class of comparisons of all platforms or workloads, which may take longer than a request.

    `rows` is the member of the document that is empty if nothing can be compared.
    """

    rows: str

    def get(self, request: Request) -> HttpResponseBase:
        selection = self.select(request)
        question = self.question(selection)

        def respond(document: Mapping[str, Any]) -> HttpResponseBase:
            shared = provenance(selection, is_empty=not document[self.rows])
            return self.answer(request, lambda: {**document, **shared})

        return answer_or_progress(request, question, respond, request.user)

    def question(self, selection: ComparedProfiles) -> LongQuestion:
        raise NotImplementedError


class MatrixView(LongComparisonView):
    """The base class of the mean distances of all platforms or workloads."""

    kind: Kind
    rows = "slugs"

    def question(self, selection: ComparedProfiles) -> LongQuestion:
        return MatrixQuestion(selection.snapshot, selection.origins, self.kind)


@extend_schema_view(
    get=extend_schema(
        operation_id="distances_platforms_matrix",
        summary="Distances of platforms",
        parameters=described(*SELECTION_PARAMETERS),
        responses={200: MatrixSerializer, 202: ComputationSerializer},
    )
)
class PlatformMatrix(MatrixView):
    """Return the mean distances D_p of all pairs of the platforms with the most profiles (Eq. 19)."""

    kind = "platforms"


@extend_schema_view(
    get=extend_schema(
        operation_id="distances_workloads_matrix",
        summary="Distances of workloads",
        parameters=described(*SELECTION_PARAMETERS),
        responses={200: MatrixSerializer, 202: ComputationSerializer},
    )
)
class WorkloadMatrix(MatrixView):
    """Return the mean distances D_a of all pairs of the workloads with the most profiles (Eq. 18)."""

    kind = "workloads"


@extend_schema_view(
    get=extend_schema(
        operation_id="distances_workloads_map",
        summary="Map of workloads",
        parameters=described(*SELECTION_PARAMETERS),
        responses={200: MapSerializer, 202: ComputationSerializer},
    )
)
class WorkloadMap(LongComparisonView):
    """Return a map of the workloads, on which similar workloads are close to each other (metric multidimensional
    scaling)."""

    rows = "workloads"

    def question(self, selection: ComparedProfiles) -> LongQuestion:
        return MapQuestion(selection.snapshot, selection.origins)


class SimilarView(ApiView):
    kind: Kind

    def get(self, request: Request, slug: str) -> HttpResponseBase:
        if not MODEL_OF_KIND[self.kind].objects.visible_to(request.user).filter(slug=slug).exists():
            raise NotFound

        def build() -> Response:
            rows = [
                {
                    self.kind[:-1]: neighbour.row.slug,
                    "name": neighbour.row.name,
                    "distance": neighbour.distance,
                    "count": neighbour.count,
                }
                for neighbour in neighbours_of(request.user, self.kind, slug)
            ]
            return Response({"of": slug, "results": rows})

        return respond_unless_unchanged(request, database_etag(request), build)


@extend_schema_view(
    get=extend_schema(
        operation_id="platforms_similar",
        summary="Similar platforms",
        responses=similar_serializer("SimilarPlatform", "platform"),
    )
)
class SimilarPlatforms(SimilarView):
    """Return the platforms with the most similar behaviour: those with the smallest mean distances D_p over shared
    workloads (Eq. 19)."""

    kind = "platforms"


@extend_schema_view(
    get=extend_schema(
        operation_id="workloads_similar",
        summary="Similar workloads",
        responses=similar_serializer("SimilarWorkload", "workload"),
    )
)
class SimilarWorkloads(SimilarView):
    """Return the workloads with the most similar behaviour: those with the smallest mean distances D_a over shared
    platforms (Eq. 18)."""

    kind = "workloads"
