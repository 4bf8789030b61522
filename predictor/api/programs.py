"""A whole program over all platforms, as JSON or CSV, and what would narrow its interval on one of them."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.fields import Integer, Text, number
from mpet_site.web.parameters import Flag, Name, Number, OneOf, WholeNumber, described
from mpet_site.web.renderers import CSVRenderer, JSONRenderer, csv_lines
from predictor.api.long_answers import ComputationSerializer, answer_or_progress
from predictor.api.next_measurements import MeasureNextSerializer
from predictor.api.predictions import problem_of
from predictor.api.previews import PUBLIC_ONLY
from predictor.api.rankings import CHOICE_PARAMETERS, RANK_FIELDS, REFUSED_FIELDS, choice_of, chosen_document
from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.core.methods import METHODS
from predictor.core.mpet.method import HIGHEST_INTERVAL_LEVEL, LOWEST_INTERVAL_LEVEL
from predictor.predictions.programs import (
    PROGRAM_RANKING_COLUMNS,
    narrowing_question,
    program_facts,
    question_of_program,
)
from predictor.predictions.request import DEFAULT_METHOD, RequestError
from profiles.pages.etags import database_etag
from profiles.programs import ProfiledProgram, program_or_404

PartTimesSerializer = inline_serializer(
    "ProgramPartTimes", {"workload": Text(), "time_s": serializers.ListField(child=number())}, many=True
)
ProgramSerializer = inline_serializer(
    "Program",
    {
        "name": Text(),
        "platform": Text(help_text="where it was measured"),
        "measured_times": inline_serializer(
            "ProgramMeasuredTimes",
            {
                "n": serializers.ListField(child=Integer()),
                "time_s": serializers.ListField(child=number(), help_text="of the whole: the sum of its parts"),
                "parts": PartTimesSerializer,
            },
            allow_null=True,
            help_text="null: no thread count was measured for all parts",
        ),
        "regions": serializers.ListField(child=Text(), help_text="workloads, the longest first"),
        "serial_rest": Text(allow_null=True, help_text="a workload; null: not known, the regions alone are summed"),
        "n": Integer(allow_null=True, help_text="that was asked for; null: the best one of each platform"),
        "method": Text(),
        "method_version": Text(),
        "settings": serializers.DictField(),
        "revision": Integer(),
        "results": inline_serializer(
            "RankedProgramPlatform",
            {
                "platform": Text(),
                "n_best": Integer(
                    help_text="the thread count with the least predicted time and a credible gain, or the n asked for"
                ),
                "time_s": number(help_text="predicted there, of the whole program"),
                "low_s": number(),
                "high_s": number(),
                "regions": inline_serializer(
                    "ProgramRegionTime",
                    {"workload": Text(), "time_s": number(), "low_s": number(), "high_s": number()},
                    many=True,
                ),
                "serial_rest_s": number(),
                "widest_part": Text(help_text="the workload whose interval adds most to the program's"),
                "measured": serializers.BooleanField(
                    help_text="All parts were measured there; the method did not see."
                ),
                "measured_time_s": number(),
                "measured_n": Integer(allow_null=True),
                "origin": Text(help_text="of the references' profiles: measured or simulated"),
                "warnings": serializers.ListField(child=Text()),
                "limited": serializers.BooleanField(
                    help_text="A gain by more than n_best threads is not credible (90 %)."
                ),
                **RANK_FIELDS,
            },
            many=True,
        ),
        **REFUSED_FIELDS,
    },
)


class ProgramMeasureNextSerializer(MeasureNextSerializer):
    workload = Text(help_text="the part whose interval adds most to the program's")


PROGRAM_PARAMETERS = (
    OneOf("method", "a name from methods/", default=DEFAULT_METHOD, choices=tuple(METHODS)),
    Number("level", "of the intervals", low=LOWEST_INTERVAL_LEVEL, high=HIGHEST_INTERVAL_LEVEL),
    WholeNumber("n", "threads; left out: the best of each platform", low=1, high=LARGEST_THREAD_COUNT),
    Flag("include_simulated", "Simulated profiles take part.", default=False),
    PUBLIC_ONLY,
)
TARGET = Name("target", "slug, or a name that only one row has", required=True)


def read_parameters(request: Request) -> dict[str, Any]:
    return {parameter.name: parameter.read(request) for parameter in PROGRAM_PARAMETERS}


class ProgramView(ApiView):
    """A profiled program on every platform, by rising time: the sum of its regions and of the serial rest, each
    platform as if the program had never run there.

    202 while it is computed: `progress`, and when to ask again.
    """

    renderer_classes = (JSONRenderer, CSVRenderer)
    query_parameters: ClassVar[tuple[str, ...]] = tuple(
        parameter.name for parameter in (*PROGRAM_PARAMETERS, *CHOICE_PARAMETERS)
    )

    @extend_schema(
        operation_id="programs_read",
        summary="Where would a program be the fastest?",
        parameters=described(*PROGRAM_PARAMETERS, *CHOICE_PARAMETERS, OneOf("format", choices=("json", "csv"))),
        responses={200: ProgramSerializer, 202: ComputationSerializer, 404: None, 422: None},
    )
    def get(self, request: Request, id: UUID, slug: str) -> HttpResponseBase:
        program, choice = program_or_404(id, slug, request.user), choice_of(request)
        try:
            question = question_of_program(program, request.user, **read_parameters(request))
        except RequestError as error:
            raise problem_of(error) from error

        def respond(document: Mapping[str, Any]) -> HttpResponseBase:
            return respond_unless_unchanged(
                request,
                database_etag(request),
                lambda: program_response(request, program, chosen_document(request, question, document, choice)),
            )

        return answer_or_progress(request, question, respond, request.user)


def program_response(request: Request, program: ProfiledProgram, ranking: Mapping[str, Any]) -> HttpResponseBase:
    if request.accepted_renderer.format != "csv":
        return Response(program_facts(program) | dict(ranking))
    columns = [*PROGRAM_RANKING_COLUMNS, *(f"{slug}_time_s" for slug in ranking["regions"])]
    rows = [
        {**row, **{f"{region['workload']}_time_s": region["time_s"] for region in row["regions"]}}
        for row in ranking["results"]
    ]
    response = StreamingHttpResponse(csv_lines(columns, rows), content_type="text/csv; charset=utf-8; header=present")
    response["Content-Disposition"] = f'attachment; filename="{program.name.slug}.csv"'
    return response


class ProgramMeasureNext(ApiView):
    """The measurements that are expected to narrow the interval of a program on a platform most: of the part whose
    interval adds most to it."""

    query_parameters: ClassVar[tuple[str, ...]] = (
        "target",
        *(parameter.name for parameter in PROGRAM_PARAMETERS),
    )

    @extend_schema(
        operation_id="programs_measure_next",
        summary="What to measure next for a program",
        parameters=described(TARGET, *PROGRAM_PARAMETERS),
        responses={200: ProgramMeasureNextSerializer, 202: ComputationSerializer, 404: None, 422: None},
    )
    def get(self, request: Request, id: UUID, slug: str) -> HttpResponseBase:
        program = program_or_404(id, slug, request.user)
        target = TARGET.read(request)
        try:
            asked = question_of_program(program, request.user, **read_parameters(request))
            viewer = None if PUBLIC_ONLY.read(request) else request.user
            question = narrowing_question(asked, target, viewer)
        except RequestError as error:
            raise problem_of(error) from error

        def respond(document: Mapping[str, Any]) -> HttpResponseBase:
            document = {"workload": question.request.workload} | dict(document)
            return respond_unless_unchanged(request, database_etag(request), lambda: Response(document))

        return answer_or_progress(request, question, respond, request.user)
