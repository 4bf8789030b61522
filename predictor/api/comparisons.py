"""The twins of the pages that compare: /compare/, /distances/ and /maps/."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.api import ApiView
from mpet_site.etags import database_etag, unless_unchanged
from mpet_site.json import clean
from mpet_site.problems import invalid
from predictor.api.serializers import Integer, Text, number
from predictor.core.comparison import compared_platforms, compared_workloads, distance_matrix, workload_map
from predictor.core.database import Database
from predictor.services import SIMULATED
from predictor.snapshot import MEASURED, snapshot

FEWEST, MOST = 2, 6
ORIGINS = {"measured": MEASURED, "simulated": SIMULATED}
ORIGIN = OpenApiParameter("origin", str, enum=list(ORIGINS), default="measured")


def measured_row(name: str, **more: serializers.Field) -> serializers.Serializer:
    """What a comparison tells of one profile."""
    fields: dict[str, serializers.Field] = {
        "t1_s": number(),
        "fastest_s": number(help_text="the smallest measured time over all n"),
        "fastest_n": Integer(allow_null=True),
        "curve": inline_serializer(f"{name}Point", {"n": Integer(), "time_s": number()}, many=True),
        "characteristics": serializers.DictField(
            child=number(), help_text="100 times the elements of Figure 9 of the paper"
        ),
    }
    return inline_serializer(name, fields | more, many=True)


MatrixSerializer = inline_serializer(
    "DistanceMatrix",
    {
        "revision": Integer(),
        "of": Text(),
        "slugs": serializers.ListField(child=Text(), help_text="of the rows, and of the columns"),
        "mean": serializers.ListField(
            child=serializers.ListField(child=number()), help_text="0 to 1; null where nothing can be compared"
        ),
        "count": serializers.ListField(
            child=serializers.ListField(child=Integer()), help_text="individual distances in each mean"
        ),
    },
)
MapSerializer = inline_serializer(
    "WorkloadMap",
    {
        "revision": Integer(),
        "stress": number(help_text="Kruskal's: 0 exact, 0.2 poor"),
        "workloads": inline_serializer(
            "WorkloadPlace", {"workload": Text(), "strategy": Text(), "x": number(), "y": number()}, many=True
        ),
    },
)
ComparedPlatformsSerializer = inline_serializer(
    "ComparedPlatforms",
    {
        "revision": Integer(),
        "platforms": inline_serializer(
            "ComparedPlatform",
            {
                "platform": Text(),
                "wins": Integer(help_text="workloads on which it is the fastest"),
                "mean_speed": number(help_text="geometric mean of `speed`"),
            },
            many=True,
        ),
        "workloads": inline_serializer(
            "SharedWorkload",
            {
                "workload": Text(),
                "decomposed": serializers.BooleanField(),
                "runtime": Text(allow_null=True),
                "winner": Text(),
                "platforms": measured_row(
                    "PlatformMeasured",
                    platform=Text(),
                    speed=number(help_text="the first platform's fastest time over this one's"),
                ),
            },
            many=True,
        ),
    },
)
ComparedWorkloadsSerializer = inline_serializer(
    "ComparedWorkloads",
    {"revision": Integer(), "platform": Text(), "workloads": measured_row("WorkloadMeasured", workload=Text())},
)


class ComparisonView(ApiView):
    """Reads what the viewer may predict from, of one origin."""

    query_parameters: ClassVar[tuple[str, ...]] = ("origin",)

    def database(self, request: Request) -> Database:
        origin = request.query_params.get("origin") or "measured"
        if origin not in ORIGINS:
            raise invalid("origin", f"One of: {', '.join(ORIGINS)}.")
        return snapshot(request.user, origins=ORIGINS[origin])

    def answer(self, request: Request, build: Callable[[], dict[str, Any]]) -> HttpResponseBase:
        return unless_unchanged(request, database_etag(request), lambda: Response(clean(build())))


def position(parameter: str, slug: str, slugs: tuple[str, ...]) -> int:
    at = bisect_left(slugs, slug)
    if at == len(slugs) or slugs[at] != slug:
        raise invalid(parameter, f"Nothing that you may see has the slug '{slug}'.")
    return at


def chosen(request: Request, slugs: tuple[str, ...]) -> list[int]:
    asked = list(dict.fromkeys(slug for slug in request.query_params.get("slugs", "").split(",") if slug))
    if not FEWEST <= len(asked) <= MOST:
        raise invalid("slugs", f"{FEWEST} to {MOST} slugs with commas between.")
    return [position("slugs", slug, slugs) for slug in asked]


SLUGS = OpenApiParameter("slugs", str, required=True, description=f"{FEWEST} to {MOST}, with commas between")


class PlatformMatrix(ComparisonView):
    """Mean distances D_p of all pairs of the platforms with the most profiles (Eq. 19)."""

    @extend_schema(
        operation_id="distances_platforms_matrix",
        summary="Distances of platforms",
        parameters=[ORIGIN],
        responses=MatrixSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        database = self.database(request)
        return self.answer(request, lambda: distance_matrix(database, "platforms"))


class WorkloadMatrix(ComparisonView):
    """Mean distances D_a of all pairs of the workloads with the most profiles (Eq. 18)."""

    @extend_schema(
        operation_id="distances_workloads_matrix",
        summary="Distances of workloads",
        parameters=[ORIGIN],
        responses=MatrixSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        database = self.database(request)
        return self.answer(request, lambda: distance_matrix(database, "workloads"))


class WorkloadMap(ComparisonView):
    """A place in the plane for each workload: those that behave alike are near (metric multidimensional scaling)."""

    @extend_schema(
        operation_id="distances_workloads_map",
        summary="Map of workloads",
        parameters=[ORIGIN],
        responses=MapSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        database = self.database(request)
        return self.answer(request, lambda: workload_map(database))


class ComparePlatforms(ComparisonView):
    """Platforms on the workloads that at least two of them have. Speeds are beside the first one's."""

    query_parameters: ClassVar = (*ComparisonView.query_parameters, "slugs")

    @extend_schema(
        operation_id="compare_platforms",
        summary="Compare platforms",
        parameters=[SLUGS, ORIGIN],
        responses=ComparedPlatformsSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        database = self.database(request)
        platforms = chosen(request, database.platforms)
        return self.answer(request, lambda: compared_platforms(database, platforms))


class CompareWorkloads(ComparisonView):
    """Workloads on one platform; those that were not measured there are left out."""

    query_parameters: ClassVar = (*ComparisonView.query_parameters, "slugs", "on")

    @extend_schema(
        operation_id="compare_workloads",
        summary="Compare workloads",
        parameters=[SLUGS, OpenApiParameter("on", str, required=True, description="slug of the platform"), ORIGIN],
        responses=ComparedWorkloadsSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        database = self.database(request)
        workloads = chosen(request, database.workloads)
        platform = position("on", request.query_params.get("on", ""), database.platforms)
        return self.answer(request, lambda: compared_workloads(database, platform, workloads))
