"""Rankings of all platforms for a program or a workload, as JSON or CSV, and the measurements that would narrow a
program's interval on one platform."""

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
from mpet_site.web.fields import KnownFieldsSerializer, Text, fields_of, serializer_of
from mpet_site.web.parameters import Flag, Number, OneOf, described
from mpet_site.web.problems import Conflict
from mpet_site.web.renderers import CSVRenderer, JSONRenderer, csv_lines
from predictor.api.predictions import problem_of
from predictor.api.previews import METHOD, MIXING, PUBLIC_ONLY, SIMULATED_TOO, TARGET, WORKLOAD, MeasureNextSerializer
from predictor.computations.responses import ComputationSerializer, answer_or_progress
from predictor.core.mpet.method import HIGHEST_INTERVAL_LEVEL, LOWEST_INTERVAL_LEVEL
from predictor.predictions.feasibility import described_ranking
from predictor.predictions.programs import (
    ProgramFacts,
    kept_answer,
    narrowing_question,
    program_facts,
    question_of_program,
)
from predictor.predictions.question import RequestError
from predictor.predictions.ranking_choice import (
    AT_THREAD_COUNT,
    EXACT,
    RANKING_FILTERS,
    RANKING_ORDER,
    RANKING_PAGE,
    RankingChoice,
)
from predictor.predictions.rankings import (
    PROGRAM_COLUMNS,
    RANKING_COLUMNS,
    RankedPlatformDocument,
    Ranking,
    RankingQuestion,
    UnrankedPlatform,
    UnrankedPlatforms,
)
from profiles.identity.programs import LONGEST_LABEL, ProfiledProgram, RegionLabelError, program_or_404, rename_regions
from profiles.models import Platform
from profiles.pages.page_cache import database_etag, kept_for_visitors


def ranking_fields() -> dict[str, Any]:
    """Return the serializer fields of a `Ranking`: its rows, and the unranked platforms with reasons and remedies."""
    summary_help = "Number of refused platforms per missing item, most frequent first."
    return fields_of(Ranking) | {
        "results": serializer_of(RankedPlatformDocument)(many=True),
        "refused": serializer_of(UnrankedPlatform)(many=True),
        "refused_summary": serializer_of(UnrankedPlatforms)(many=True, help_text=summary_help),
        "advice": Text(allow_null=True, help_text="Suggestion that would add platforms to the ranking."),
    }


RankingSerializer = inline_serializer("Ranking", ranking_fields())
ProgramSerializer = inline_serializer("Program", fields_of(ProgramFacts) | ranking_fields())


class RegionLabelText(serializers.CharField):
    """A text field like PlainText, but without its pattern.

    The schema would describe a text field with a pattern that may be blank as two alternatives.
    """

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class RegionLabelsSerializer(KnownFieldsSerializer):
    """The new labels of regions."""

    labels = serializers.DictField(
        child=RegionLabelText(allow_blank=True, max_length=LONGEST_LABEL),
        allow_empty=False,
        help_text="Label per workload of a region; empty: the measured name.",
    )


class ProgramMeasureNextSerializer(MeasureNextSerializer):
    workload = Text(help_text="Part whose interval contributes most to the program's interval.")


ASKED_PARAMETERS = (
    METHOD,
    Number("level", "Probability of the intervals.", low=LOWEST_INTERVAL_LEVEL, high=HIGHEST_INTERVAL_LEVEL),
    MIXING,
    SIMULATED_TOO,
    AT_THREAD_COUNT,
    PUBLIC_ONLY,
)
CHOSEN_PARAMETERS = (*RANKING_FILTERS, RANKING_ORDER)
RANKING_PARAMETERS = (WORKLOAD, *ASKED_PARAMETERS, *CHOSEN_PARAMETERS, RANKING_PAGE, EXACT)
# By default, all rows are computed for a program, but only one page for a workload.
PROGRAM_EXACT = Flag(EXACT.name, EXACT.description, default=True)
TODAY = Flag(
    "today",
    (
        "Compute the answer from the current database. By default, a request without filters for a "
        "program that was uploaded again later returns the answer from before that upload."
    ),
    default=False,
)
PROGRAM_PARAMETERS = (*ASKED_PARAMETERS, *CHOSEN_PARAMETERS, RANKING_PAGE, PROGRAM_EXACT, TODAY)
FORMAT = OneOf("format", choices=("json", "csv"))


@method_decorator(kept_for_visitors(of="workload"), name="dispatch")
class RankingView(ApiView):
    """Predict one workload on all platforms, sorted by time. Each prediction ignores the measurements of the workload
    on its platform.

    With 200 platforms or more, `mpet` computes only the 25 rows of a `page` after filtering. The times of the other
    rows are `estimated` and only determine the order. `exact=true` computes all rows.

    While the ranking is being computed, the response is 202 with the `progress` and a Retry-After header.
    """

    renderer_classes = (JSONRenderer, CSVRenderer)
    query_parameters: ClassVar[tuple[str, ...]] = tuple(parameter.name for parameter in RANKING_PARAMETERS)

    @extend_schema(
        operation_id="rankings_read",
        summary="Rank platforms for a workload",
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
    """Predict a profiled program on all platforms, sorted by time. The time is the sum over its regions and the serial
    rest. Each prediction ignores the measurements of the program on its platform.

    All rows are computed for any number of platforms. `exact=false` computes only the rows of a `page`.

    While the ranking is being computed, the response is 202 with the `progress` and a Retry-After header.
    """

    query_parameters: ClassVar[tuple[str, ...]] = tuple(parameter.name for parameter in PROGRAM_PARAMETERS)

    def get_renderers(self) -> list[Any]:
        return [JSONRenderer()] if self.request.method == "PATCH" else [JSONRenderer(), CSVRenderer()]

    def get_permissions(self) -> list[Any]:
        """Return the permissions of the method. Reading is public, also in the schema, and renaming needs the upload
        scope."""
        return [MayUpload()] if self.request.method == "PATCH" else list(super().get_permissions())

    @extend_schema(
        operation_id="programs_read",
        summary="Rank platforms for a program",
        parameters=described(*PROGRAM_PARAMETERS, FORMAT),
        responses={200: ProgramSerializer, 202: ComputationSerializer, 404: None, 422: None},
    )
    def get(self, request: Request, id: UUID, slug: str) -> HttpResponseBase:
        program = program_or_404(id, slug, request.user)
        choice, arguments = read_ranking_question(request, PROGRAM_EXACT)
        try:
            question = question_of_program(program, request.user, choice=choice, **arguments)
            if EXACT.name not in request.query_params and question.is_too_large_for(request.user):
                arguments["page"] = RANKING_PAGE.read(request)
                question = question_of_program(program, request.user, choice=choice, **arguments)
        except RequestError as error:
            raise problem_of(error) from error
        return ranking_or_progress(request, question, choice, program)

    @extend_schema(
        operation_id="programs_rename_regions",
        summary="Rename regions of your own program",
        request=RegionLabelsSerializer,
        responses={200: serializer_of(ProgramFacts), 404: None, 409: None},
    )
    def patch(self, request: Request, id: UUID, slug: str) -> Response:
        """Rename regions in all uploads of the program. Only the displayed names change; workloads, slugs and times do
        not. Two parts of a program cannot have the same name. Either all regions are renamed or none."""
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
    """Return the measurements that are expected to narrow the interval of a program on a platform most. They concern
    the part whose interval contributes most to the program's interval."""

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
    """Return the filters with the order, and the other arguments of a RankingQuestion, which include `public_only`."""
    choice = RankingChoice.of_values({parameter.name: parameter.read(request) for parameter in CHOSEN_PARAMETERS})
    arguments = {parameter.name: parameter.read(request) for parameter in ASKED_PARAMETERS}
    return choice, arguments | {"page": None if every_row.read(request) else RANKING_PAGE.read(request)}


def ranking_or_progress(
    request: Request, question: RankingQuestion, choice: RankingChoice, program: ProfiledProgram | None = None
) -> HttpResponseBase:
    """Return the selected rows on the platforms that the user sees with the facts about the program, or 202 with the
    progress of the computation."""

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

    stored = kept_answer(program, question, request.user) if program and not TODAY.read(request) else None
    if stored:
        return respond(stored.document)
    try:
        question.check_size(request.user)
    except RequestError as error:
        raise problem_of(error) from error
    return answer_or_progress(request, question, respond, request.user)


def csv_response(ranking: Mapping[str, Any], program: ProfiledProgram | None) -> StreamingHttpResponse:
    """Return the rows as CSV. Programs have one column per region."""
    columns, rows = list(RANKING_COLUMNS), ranking["results"]
    if program is not None:
        columns += [*PROGRAM_COLUMNS, *(f"{slug}_time_s" for slug in ranking["regions"])]
        rows = [row | {f"{region['workload']}_time_s": region["time_s"] for region in row["regions"]} for row in rows]
    response = StreamingHttpResponse(csv_lines(columns, rows), content_type="text/csv; charset=utf-8; header=present")
    name = program.name.slug if program else ranking["workload"]
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
