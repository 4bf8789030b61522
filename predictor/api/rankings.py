"""A program or one workload over all platforms, as JSON or CSV, and what would narrow its interval on one of them."""

import copy
from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.http import Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import MayUpload
from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.fields import Integer, KnownFieldsSerializer, Text, number
from mpet_site.web.parameters import Flag, Name, Number, OneOf, described
from mpet_site.web.problems import Conflict
from mpet_site.web.renderers import CSVRenderer, JSONRenderer, csv_lines
from predictor.api.next_measurements import MeasureNextSerializer
from predictor.api.predictions import problem_of
from predictor.api.previews import MIXING, PUBLIC_ONLY
from predictor.computations.responses import ComputationSerializer, answer_or_progress
from predictor.core.methods import METHODS
from predictor.core.mpet.method import HIGHEST_INTERVAL_LEVEL, LOWEST_INTERVAL_LEVEL
from predictor.predictions.feasibility import described_ranking
from predictor.predictions.programs import kept_answer, narrowing_question, program_facts, question_of_program
from predictor.predictions.question import DEFAULT_METHOD, RequestError
from predictor.predictions.ranking_choice import (
    AT_THREAD_COUNT,
    EXACT,
    RANKING_FILTERS,
    RANKING_ORDER,
    RANKING_PAGE,
    RankingChoice,
)
from predictor.predictions.rankings import PROGRAM_COLUMNS, RANKING_COLUMNS, RankingQuestion
from profiles.models import Platform
from profiles.pages.page_cache import database_etag, kept_for_visitors
from profiles.programs import LONGEST_LABEL, ProfiledProgram, RegionLabelError, program_or_404, rename_regions

RANKED_PLATFORM: dict[str, serializers.Field[Any, Any, Any, Any]] = {
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
        help_text="A workload is its only region. Empty for an estimate.",
    ),
    "serial_rest_s": number(),
    "widest_part": Text(allow_null=True, help_text="the workload whose interval adds most to the program's"),
    "measured": serializers.BooleanField(help_text="All parts were measured there; the method did not see."),
    "measured_time_s": number(help_text="the smallest measured time, at whatever n or at the n asked for"),
    "measured_n": Integer(allow_null=True),
    "origin": Text(help_text="of the references' profiles: measured or simulated"),
    "warnings": serializers.ListField(child=Text()),
    "estimated": serializers.BooleanField(
        help_text="Not computed but estimated, without an interval: ask for its page."
    ),
    "limited": serializers.BooleanField(help_text="A gain by more than n_best threads is not credible (90 %)."),
    # What the order, the platform's cores and its price make of its time.
    "place": Integer(help_text="among all platforms, in the order asked for; those that tie share one"),
    "cores": Integer(allow_null=True, help_text="physical cores that n_best threads take"),
    "core_time_s": number(help_text="time_s multiplied by cores"),
    "relative": number(help_text="to the first of all platforms in the order asked for"),
    "price": number(help_text="per hour, as published; null: nobody did"),
    "currency": Text(allow_null=True),
    "price_region": Text(allow_null=True),
    "price_kind": Text(allow_null=True),
    "price_date": Text(allow_null=True, help_text="of which the price is"),
    "price_source": Text(allow_null=True, help_text="who says so: a list or an address"),
    "price_basis": Text(allow_null=True, help_text="published; own or factor: by the prices that you keep here"),
    "cost": number(help_text="of one run: price times time_s; relative where times are"),
    "pareto": serializers.BooleanField(
        allow_null=True,
        help_text="No other of the results is faster and no dearer, or cheaper and no slower.",
    ),
}
RANKING_FIELDS: dict[str, serializers.Field[Any, Any, Any, Any]] = {
    "workload": Text(help_text="the longest region of a program"),
    "regions": serializers.ListField(child=Text(), help_text="workloads, the longest first"),
    "serial_rest": Text(allow_null=True, help_text="a workload; null: not known, the regions alone are summed"),
    "method": Text(),
    "method_version": Text(),
    "settings": serializers.DictField(),
    "revision": Integer(),
    "time_kind": Text(),
    "results": inline_serializer("RankedPlatform", RANKED_PLATFORM, many=True),
    # Which platforms have no place, why, and what would give them one.
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
    "n": Integer(allow_null=True, help_text="as asked; null: the fastest of each platform"),
}
RankingSerializer = inline_serializer("Ranking", {**RANKING_FIELDS})  # the class takes the fields out of its dictionary
PROGRAM_FACTS: dict[str, serializers.Field[Any, Any, Any, Any]] = {
    "name": Text(),
    "platform": Text(help_text="where it was measured"),
    "parts": inline_serializer(
        "ProgramPart",
        {
            "workload": Text(),
            "section": Text(allow_null=True, help_text="as it was measured"),
            "label": Text(help_text="as its owner calls it, else the section"),
            "description": Text(allow_null=True, help_text="the file and line, where the profiler knew them"),
            "is_serial_rest": serializers.BooleanField(),
        },
        many=True,
    ),
    "measured_times": inline_serializer(
        "ProgramMeasuredTimes",
        {
            "n": serializers.ListField(child=Integer()),
            "time_s": serializers.ListField(child=number(), help_text="of the whole: the sum of its parts"),
            "parts": inline_serializer(
                "ProgramPartTimes", {"workload": Text(), "time_s": serializers.ListField(child=number())}, many=True
            ),
        },
        allow_null=True,
        help_text="null: no thread count was measured for all parts",
    ),
}
ProgramFactsSerializer = inline_serializer("ProgramFacts", copy.deepcopy(PROGRAM_FACTS))
ProgramSerializer = inline_serializer("Program", PROGRAM_FACTS | RANKING_FIELDS)


class RegionLabelText(serializers.CharField):
    """As PlainText, without its pattern: the schema describes a text that has one and may be blank as two."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class RegionLabelsSerializer(KnownFieldsSerializer):
    """What is to be called otherwise."""

    labels = serializers.DictField(
        child=RegionLabelText(allow_blank=True, max_length=LONGEST_LABEL),
        allow_empty=False,
        help_text="by workload of a region; empty: as it was measured",
    )


class ProgramMeasureNextSerializer(MeasureNextSerializer):
    workload = Text(help_text="the part whose interval adds most to the program's")


WORKLOAD = Name("workload", "slug, or a name that only one row has", required=True)
TARGET = Name("target", "slug, or a name that only one row has", required=True)
ASKED_PARAMETERS = (
    OneOf("method", "a name from methods/", default=DEFAULT_METHOD, choices=tuple(METHODS)),
    Number("level", "of the intervals", low=LOWEST_INTERVAL_LEVEL, high=HIGHEST_INTERVAL_LEVEL),
    MIXING,
    Flag("include_simulated", "Simulated profiles take part.", default=False),
    AT_THREAD_COUNT,
    PUBLIC_ONLY,
)
CHOSEN_PARAMETERS = (*RANKING_FILTERS, RANKING_ORDER)
RANKING_PARAMETERS = (WORKLOAD, *ASKED_PARAMETERS, *CHOSEN_PARAMETERS, RANKING_PAGE, EXACT)
# A program has always had all its rows computed, unless a page of them is asked for.
PROGRAM_EXACT = Flag(EXACT.name, EXACT.description, default=True)
TODAY = Flag(
    "today",
    "Answered from the database as it is now. Without it, and without a choice, a program that was uploaded again "
    "later keeps the answer that it had before.",
    default=False,
)
PROGRAM_PARAMETERS = (*ASKED_PARAMETERS, *CHOSEN_PARAMETERS, RANKING_PAGE, PROGRAM_EXACT, TODAY)
FORMAT = OneOf("format", choices=("json", "csv"))


@method_decorator(kept_for_visitors(of="workload"), name="dispatch")
class RankingView(ApiView):
    """One workload predicted on every platform, by rising time; each as if it had not been measured there.

    Among 200 platforms and more, `mpet` and `mpet-log` compute the 25 rows of a `page` of what the filters leave; the
    others are `estimated`, about 10 % off, and only order. `exact=true` computes all.

    202 while it is computed: `progress`, and when to ask again.
    """

    renderer_classes = (JSONRenderer, CSVRenderer)
    query_parameters: ClassVar[tuple[str, ...]] = tuple(parameter.name for parameter in RANKING_PARAMETERS)

    @extend_schema(
        operation_id="rankings_read",
        summary="Where would a workload be the fastest?",
        parameters=described(*RANKING_PARAMETERS, FORMAT),
        responses={200: RankingSerializer, 202: ComputationSerializer, 422: None},
    )
    def get(self, request: Request) -> HttpResponseBase:
        choice, arguments = read_ranking_question(request, EXACT)
        viewer = None if arguments.pop(PUBLIC_ONLY.name) else request.user
        try:
            question = RankingQuestion.of(WORKLOAD.read(request), viewer, choice=choice, **arguments)
        except RequestError as error:
            raise problem_of(error) from error
        return ranking_or_progress(request, question, choice)


class ProgramView(ApiView):
    """A profiled program on every platform, by rising time: the sum of its regions and of the serial rest, each
    platform as if the program had never run there.

    All rows are computed, however many platforms there are; `exact=false` computes those of a `page`.

    202 while it is computed: `progress`, and when to ask again.
    """

    query_parameters: ClassVar[tuple[str, ...]] = tuple(parameter.name for parameter in PROGRAM_PARAMETERS)

    def get_renderers(self) -> list[Any]:
        return [JSONRenderer()] if self.request.method == "PATCH" else [JSONRenderer(), CSVRenderer()]

    def get_permissions(self) -> list[Any]:
        """Reading is public, also in the schema; renaming needs the scope."""
        return [MayUpload()] if self.request.method == "PATCH" else list(super().get_permissions())

    @extend_schema(
        operation_id="programs_read",
        summary="Where would a program be the fastest?",
        parameters=described(*PROGRAM_PARAMETERS, FORMAT),
        responses={200: ProgramSerializer, 202: ComputationSerializer, 404: None, 422: None},
    )
    def get(self, request: Request, id: UUID, slug: str) -> HttpResponseBase:
        program = program_or_404(id, slug, request.user)
        choice, arguments = read_ranking_question(request, PROGRAM_EXACT)
        try:
            question = question_of_program(program, request.user, choice=choice, **arguments)
        except RequestError as error:
            raise problem_of(error) from error
        return ranking_or_progress(request, question, choice, program)

    @extend_schema(
        operation_id="programs_rename_regions",
        summary="Rename regions of a program of yours",
        request=RegionLabelsSerializer,
        responses={200: ProgramFactsSerializer, 404: None, 409: None},
    )
    def patch(self, request: Request, id: UUID, slug: str) -> Response:
        """The shown names only, in all uploads of the program: workloads, slugs and times stay. Two parts of a program
        cannot have one name. Renames all, or none."""
        program = program_or_404(id, slug, request.user)
        if not program.is_owned_by(request.user):
            raise Http404
        sent = RegionLabelsSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        try:
            renamed = rename_regions(program, sent.validated_data["labels"])
        except RegionLabelError as error:
            raise Conflict(str(error)) from error
        return Response(program_facts(renamed))


class ProgramMeasureNext(ApiView):
    """The measurements that are expected to narrow the interval of a program on a platform most: of the part whose
    interval adds most to it."""

    query_parameters: ClassVar[tuple[str, ...]] = ("target", *(parameter.name for parameter in ASKED_PARAMETERS))

    @extend_schema(
        operation_id="programs_measure_next",
        summary="What to measure next for a program",
        parameters=described(TARGET, *ASKED_PARAMETERS),
        responses={200: ProgramMeasureNextSerializer, 202: ComputationSerializer, 404: None, 422: None},
    )
    def get(self, request: Request, id: UUID, slug: str) -> HttpResponseBase:
        program = program_or_404(id, slug, request.user)
        target = TARGET.read(request)
        arguments = {parameter.name: parameter.read(request) for parameter in ASKED_PARAMETERS}
        viewer = None if arguments[PUBLIC_ONLY.name] else request.user
        try:
            question = narrowing_question(question_of_program(program, request.user, **arguments), target, viewer)
        except RequestError as error:
            raise problem_of(error) from error

        def respond(document: Mapping[str, Any]) -> HttpResponseBase:
            document = {"workload": question.request.workload} | dict(document)
            return respond_unless_unchanged(request, database_etag(request), lambda: Response(document))

        return answer_or_progress(request, question, respond, request.user)


def read_ranking_question(request: Request, every_row: Flag) -> tuple[RankingChoice, dict[str, Any]]:
    """The filters and the order, and the further arguments of a RankingQuestion, with `public_only`."""
    choice = RankingChoice.of_values({parameter.name: parameter.read(request) for parameter in CHOSEN_PARAMETERS})
    arguments = {parameter.name: parameter.read(request) for parameter in ASKED_PARAMETERS}
    return choice, arguments | {"page": None if every_row.read(request) else RANKING_PAGE.read(request)}


def ranking_or_progress(
    request: Request, question: RankingQuestion, choice: RankingChoice, program: ProfiledProgram | None = None
) -> HttpResponseBase:
    """The chosen rows on platforms that the viewer sees, and what is known of the program; 202 while it is computed."""

    def ranking_response(document: Mapping[str, Any]) -> HttpResponseBase:
        named = {row["platform"] for row in (*document["results"], *document["refused"])}
        visible = Platform.objects.visible_to(request.user).filter(slug__in=named).defer("placement")
        platforms = {row.slug: row for row in visible}
        viewer = None if PUBLIC_ONLY.read(request) else request.user
        rows = choice.rows(document["results"], platforms, viewer)
        refused = choice.refused(document["refused"], platforms)
        ranking = described_ranking(question, {**document, "results": rows, "refused": refused}, request.user)
        if request.accepted_renderer.format == "csv":
            return csv_response(ranking, program)
        return Response((program_facts(program) if program else {}) | ranking)

    def respond(document: Mapping[str, Any]) -> HttpResponseBase:
        labels = sorted(program.labels.items()) if program else ()
        return respond_unless_unchanged(request, database_etag(request, *labels), lambda: ranking_response(document))

    kept = kept_answer(program, question, request.user) if program and not TODAY.read(request) else None
    return respond(kept.document) if kept else answer_or_progress(request, question, respond, request.user)


def csv_response(ranking: Mapping[str, Any], program: ProfiledProgram | None) -> StreamingHttpResponse:
    """The rows; of a program with a column for each region."""
    columns, rows = list(RANKING_COLUMNS), ranking["results"]
    if program is not None:
        columns += [*PROGRAM_COLUMNS, *(f"{slug}_time_s" for slug in ranking["regions"])]
        rows = [row | {f"{region['workload']}_time_s": region["time_s"] for region in row["regions"]} for row in rows]
    response = StreamingHttpResponse(csv_lines(columns, rows), content_type="text/csv; charset=utf-8; header=present")
    name = program.name.slug if program else ranking["workload"]
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
