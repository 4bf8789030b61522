"""One workload over all platforms, as JSON or CSV."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.fields import Integer, Text, number
from mpet_site.web.parameters import Flag, Name, Number, OneOf, described
from mpet_site.web.renderers import CSVRenderer, JSONRenderer, csv_lines
from predictor.api.long_answers import ComputationSerializer, answer_or_progress
from predictor.api.predictions import problem_of
from predictor.api.previews import MIXING, PUBLIC_ONLY
from predictor.core.methods import METHODS
from predictor.core.mpet.method import HIGHEST_INTERVAL_LEVEL, LOWEST_INTERVAL_LEVEL
from predictor.predictions.feasibility import described_ranking
from predictor.predictions.programs import ProgramQuestion
from predictor.predictions.ranking_choice import (
    AT_THREAD_COUNT,
    EXACT,
    RANKING_FILTERS,
    RANKING_ORDER,
    RANKING_PAGE,
    RankingChoice,
)
from predictor.predictions.rankings import RANKING_COLUMNS, RankingQuestion
from predictor.predictions.request import DEFAULT_METHOD, RequestError
from profiles.models import Platform
from profiles.pages.etags import database_etag

# Of a row: what the order, the platform's cores and its price make of its time.
RANK_FIELDS: dict[str, serializers.Field[Any, Any, Any, Any]] = {
    "place": Integer(help_text="among all platforms, in the order asked for; those that tie share one"),
    "cores": Integer(allow_null=True, help_text="physical cores that n_best threads take"),
    "core_time_s": number(help_text="time_s multiplied by cores"),
    "relative": number(help_text="to the first of all platforms in the order asked for"),
    "price": number(help_text="per hour, as published; null: nobody did"),
    "currency": Text(allow_null=True),
    "price_region": Text(allow_null=True),
    "price_kind": Text(allow_null=True),
    "price_date": Text(allow_null=True, help_text="of which the price is"),
    "cost": number(help_text="of one run: price times time_s; relative where times are"),
    "pareto": serializers.BooleanField(
        allow_null=True,
        help_text="No other of the results is faster and no dearer, or cheaper and no slower.",
    ),
}
# Which platforms have no place, why, and what would give them one.
REFUSED_FIELDS: dict[str, serializers.Field[Any, Any, Any, Any]] = {
    "refused": inline_serializer(
        "UnrankedPlatform",
        {"platform": Text(), "reason": Text(), "lacks": Text(allow_null=True, help_text="what is missing")},
        many=True,
    ),
    "refused_summary": inline_serializer(
        "UnrankedPlatforms",
        {"lacks": Text(allow_null=True), "count": Integer(), "reason": Text()},
        many=True,
        help_text="the same by what is missing, most often first",
    ),
    "advice": Text(allow_null=True, help_text="what would add platforms"),
}
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
                "n_best": Integer(
                    help_text="the thread count with the least predicted time and a credible gain, or the n asked for"
                ),
                "time_s": number(help_text="predicted there"),
                "low_s": number(),
                "high_s": number(),
                "measured": serializers.BooleanField(
                    help_text="The workload was measured there; the method did not see."
                ),
                "measured_time_s": number(help_text="the smallest measured time, at whatever n or at the n asked for"),
                "measured_n": Integer(allow_null=True),
                "origin": Text(help_text="of the references' profiles: measured or simulated"),
                "warnings": serializers.ListField(child=Text()),
                "estimated": serializers.BooleanField(
                    help_text="Not computed but estimated, without an interval: ask for its page."
                ),
                "limited": serializers.BooleanField(
                    help_text="A gain by more than n_best threads is not credible (90 %)."
                ),
                **RANK_FIELDS,
            },
            many=True,
        ),
        **REFUSED_FIELDS,
        "n": Integer(allow_null=True, help_text="as asked; null: the fastest of each platform"),
    },
)


RANKING_PARAMETERS = (
    Name("workload", "slug, or a name that only one row has", required=True),
    OneOf("method", "a name from methods/", default=DEFAULT_METHOD, choices=tuple(METHODS)),
    Number("level", "of the intervals", low=LOWEST_INTERVAL_LEVEL, high=HIGHEST_INTERVAL_LEVEL),
    MIXING,
    Flag("include_simulated", "Simulated profiles take part.", default=False),
    AT_THREAD_COUNT,
    PUBLIC_ONLY,
)
CHOICE_PARAMETERS = (*RANKING_FILTERS, RANKING_ORDER)
COMPUTED_PARAMETERS = (RANKING_PAGE, EXACT)
EVERY_PARAMETER = (*RANKING_PARAMETERS, *CHOICE_PARAMETERS, *COMPUTED_PARAMETERS)


class RankingView(ApiView):
    """One workload predicted on every platform, by rising time; each as if it had not been measured there.

    Among 200 platforms and more, `mpet` and `mpet-log` compute the 25 rows of a `page` of what the filters leave; the
    others are `estimated`, about 10 % off, and only order. `exact=true` computes all.

    202 while it is computed: `progress`, and when to ask again.
    """

    renderer_classes = (JSONRenderer, CSVRenderer)
    query_parameters: ClassVar[tuple[str, ...]] = tuple(parameter.name for parameter in EVERY_PARAMETER)

    @extend_schema(
        operation_id="rankings_read",
        summary="Where would a workload be the fastest?",
        parameters=described(*EVERY_PARAMETER, OneOf("format", choices=("json", "csv"))),
        responses={200: RankingSerializer, 202: ComputationSerializer, 422: None},
    )
    def get(self, request: Request) -> HttpResponseBase:
        choice = choice_of(request)
        try:
            arguments = {parameter.name: parameter.read(request) for parameter in RANKING_PARAMETERS}
            viewer = None if arguments.pop(PUBLIC_ONLY.name) else request.user
            page = None if EXACT.read(request) else RANKING_PAGE.read(request)
            question = RankingQuestion.of(viewer=viewer, choice=choice, page=page, **arguments)
        except RequestError as error:
            raise problem_of(error) from error

        def respond(document: Mapping[str, Any]) -> HttpResponseBase:
            return respond_unless_unchanged(
                request,
                database_etag(request),
                lambda: ranking_response(request, chosen_document(request, question, document, choice)),
            )

        return answer_or_progress(request, question, respond, request.user)


def choice_of(request: Request) -> RankingChoice:
    return RankingChoice.of_values({parameter.name: parameter.read(request) for parameter in CHOICE_PARAMETERS})


def chosen_document(
    request: Request,
    question: RankingQuestion | ProgramQuestion,
    document: Mapping[str, Any],
    choice: RankingChoice,
) -> dict[str, Any]:
    """The ranking with the rows that were chosen, of platforms that the viewer sees."""
    named = {row["platform"] for row in (*document["results"], *document["refused"])}
    visible = Platform.objects.visible_to(request.user).filter(slug__in=named).defer("placement")
    platforms = {row.slug: row for row in visible}
    rows = choice.rows(document["results"], platforms)
    refused = choice.refused(document["refused"], platforms)
    return described_ranking(question, {**document, "results": rows, "refused": refused}, request.user)


def ranking_response(request: Request, ranking: Mapping[str, Any]) -> HttpResponseBase:
    if request.accepted_renderer.format != "csv":
        return Response(ranking)
    lines = csv_lines(list(RANKING_COLUMNS), ranking["results"])
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8; header=present")
    response["Content-Disposition"] = f'attachment; filename="{ranking["workload"]}.csv"'
    return response
