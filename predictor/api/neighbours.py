"""The platforms or workloads that are most like one."""

from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.fields import Integer, Text, number
from predictor.comparisons.selection import MODEL_OF_KIND, neighbours_of
from predictor.core.comparisons.mean_distances import Kind
from profiles.pages.page_cache import database_etag


def similar_serializer(name: str, noun: str) -> serializers.Serializer:
    return inline_serializer(
        f"{name}s",
        {
            "of": Text(),
            "results": inline_serializer(
                name,
                {
                    noun: Text(),
                    "name": Text(),
                    "distance": number(help_text="mean, 0 to 1 (Eq. 18-19)"),
                    "count": Integer(help_text="individual distances in the mean"),
                },
                many=True,
            ),
        },
    )


class SimilarView(ApiView):
    kind: Kind

    def answer(self, request: Request, slug: str) -> HttpResponseBase:
        if not MODEL_OF_KIND[self.kind].objects.visible_to(request.user).filter(slug=slug).exists():
            raise NotFound

        def build() -> Response:
            rows: list[dict[str, Any]] = [
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


class SimilarPlatforms(SimilarView):
    """The platforms that behave most alike: the smallest mean distances D_p over shared workloads (Eq. 19)."""

    kind = "platforms"

    @extend_schema(
        operation_id="platforms_similar",
        summary="Platforms like this one",
        responses=similar_serializer("SimilarPlatform", "platform"),
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        return self.answer(request, slug)


class SimilarWorkloads(SimilarView):
    """The workloads that behave most alike: the smallest mean distances D_a over shared platforms (Eq. 18)."""

    kind = "workloads"

    @extend_schema(
        operation_id="workloads_similar",
        summary="Workloads like this one",
        responses=similar_serializer("SimilarWorkload", "workload"),
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        return self.answer(request, slug)
