"""One workload over all platforms, as JSON or CSV."""

from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.fields import Integer, Text, number
from mpet_site.web.problems import invalid_request
from mpet_site.web.renderers import CSVRenderer, JSONRenderer, csv_lines
from predictor.api.predictions import problem_of
from predictor.predictions.rankings import RANKING_COLUMNS, rank_platforms
from predictor.predictions.request import DEFAULT_METHOD, RequestError
from profiles.etags import database_etag

RankingSerializer = inline_serializer(
    "Ranking",
    {
        "workload": Text(),
        "method": Text(),
        "method_version": Text(),
        "settings": serializers.DictField(),
        "revision": Integer(),
        "time_kind": Text(),
        "results": inline_serializer(
            "RankedPlatform",
            {
                "platform": Text(),
                "n_best": Integer(help_text="the thread count with the smallest predicted time"),
                "time_s": number(help_text="predicted there"),
                "low_s": number(),
                "high_s": number(),
                "measured": serializers.BooleanField(
                    help_text="The workload was measured there; the method did not see."
                ),
                "measured_time_s": number(help_text="the smallest measured time, at whatever n"),
                "measured_n": Integer(allow_null=True),
                "origin": Text(help_text="of the references' profiles: measured or simulated"),
                "warnings": serializers.ListField(child=Text()),
            },
            many=True,
        ),
        "refused": inline_serializer("UnrankedPlatform", {"platform": Text(), "reason": Text()}, many=True),
    },
)


class RankingView(ApiView):
    """One workload predicted on every platform, by rising time; each as if it had not been measured there."""

    renderer_classes = (JSONRenderer, CSVRenderer)
    query_parameters: ClassVar[tuple[str, ...]] = ("workload", "method", "level", "include_simulated")

    @extend_schema(
        operation_id="rankings_read",
        summary="Where would a workload be the fastest?",
        parameters=[
            OpenApiParameter("workload", str, required=True, description="slug, or a name that only one row has"),
            OpenApiParameter("method", str, description="a name from methods/", default=DEFAULT_METHOD),
            OpenApiParameter("level", float, description="of the intervals, 0.5 to 0.99"),
            OpenApiParameter("include_simulated", bool, description="Simulated profiles take part.", default=False),
            OpenApiParameter("format", str, enum=["json", "csv"]),
        ],
        responses=RankingSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        arguments = ranking_arguments(request)
        try:
            ranking = rank_platforms(viewer=request.user, **arguments)
        except RequestError as error:
            raise problem_of(error) from error

        def build() -> HttpResponseBase:
            if request.accepted_renderer.format != "csv":
                return Response(ranking.document())
            lines = csv_lines(list(RANKING_COLUMNS), ranking.results)
            response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8; header=present")
            response["Content-Disposition"] = f'attachment; filename="{ranking.workload}.csv"'
            return response

        return respond_unless_unchanged(request, database_etag(request), build)


def ranking_arguments(request: Request) -> dict[str, Any]:
    texts = request.query_params
    if not texts.get("workload"):
        raise invalid_request("workload", "Needed: a slug.")
    simulated = texts.get("include_simulated") or "false"
    if simulated not in {"true", "false"}:
        raise invalid_request("include_simulated", "true or false.")
    try:
        level = float(texts["level"]) if texts.get("level") else None
    except ValueError:
        raise invalid_request("level", "A number.") from None
    return {
        "workload": texts["workload"],
        "method": texts.get("method") or DEFAULT_METHOD,
        "level": level,
        "include_simulated": simulated == "true",
    }
