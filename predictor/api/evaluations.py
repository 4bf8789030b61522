"""Evaluations in the API. They are read-only, because an evaluation takes minutes and is run with a command."""

from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_view, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView, DetailView, ListView
from mpet_site.web.etags import etag_of, respond_unless_unchanged
from mpet_site.web.fields import Text, fields_of, number, page_fields, row_url
from mpet_site.web.filters import ChoiceFilter, WholeNumberFilter
from mpet_site.web.lists import PAGE, PAGE_SIZE, Pagination, check_page
from mpet_site.web.parameters import OneOf, described
from mpet_site.web.renderers import CSVRenderer, JSONRenderer, csv_lines
from predictor.accuracy.evaluations import error_rows
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.core.evaluate import ERROR_PARTS, HOLDOUTS, ErrorStatistics
from predictor.models import Evaluation, PaperReport
from predictor.models.evaluations import PAPER_TABLES

ERROR_COLUMNS = ("platform", "workload", "method", *(f"{part}_error_percent" for part in ERROR_PARTS))
PartStatistics: Any = type(inline_serializer("PartStatistics", fields_of(ErrorStatistics)))


def statistics_serializer(name: str, **fields: Any) -> Any:
    return type(inline_serializer(name, {part: PartStatistics() for part in ERROR_PARTS} | fields))


MethodStatistics = statistics_serializer(
    "MethodStatistics",
    coverage=number(),
    interval_width=number(),
    interval_score=number(required=False, help_text="Mean interval score of ln t at 90 %; smaller is better."),
    constant_interval_score=number(
        required=False, help_text="Mean interval score of intervals with one constant width."
    ),
    refused_n=serializers.IntegerField(
        required=False, allow_null=True, help_text="Number of measured n without a predicted time."
    ),
    seconds=number(),
)
NoiseFloor = statistics_serializer("NoiseFloor")
EvaluatedMethodSerializer = type(
    inline_serializer(
        "EvaluatedMethod",
        {
            "name": Text(),
            "version": Text(),
            "baseline": serializers.BooleanField(source="is_baseline"),
            "settings": serializers.DictField(),
            "statistics": MethodStatistics(help_text="Errors in percent."),
        },
    )
)


class EvaluationSerializer(serializers.ModelSerializer):
    """An evaluation: the pairs that were hidden and predicted, and the errors of each method."""

    id = serializers.UUIDField(source="uid")
    url = row_url("api-evaluation")
    errors_url = row_url("api-evaluation-errors")
    targets = serializers.ListField(child=Text(), allow_null=True)
    noise_floor = NoiseFloor(
        allow_null=True, help_text="Errors of single runs relative to the other runs of the same pairs."
    )
    methods = EvaluatedMethodSerializer(many=True)

    class Meta:
        model = Evaluation
        fields = (
            *("id", "url", "errors_url", "created_at", "revision", "origin", "holdout", "probes", "sample", "seed"),
            *("targets", "profiles", "code_version", "seconds", "noise_floor", "methods"),
        )
        read_only_fields = fields


class EvaluationRowSerializer(serializers.ModelSerializer):
    """The columns of an evaluation without nested values, for CSV."""

    id = serializers.UUIDField(source="uid")
    methods = serializers.SerializerMethodField()

    class Meta:
        model = Evaluation
        fields = (
            *("id", "created_at", "revision", "origin", "holdout", "probes", "sample", "seed", "profiles"),
            *("code_version", "seconds", "methods"),
        )

    def get_methods(self, row: Evaluation) -> list[str]:
        return [method.name for method in row.methods.all()]


class EvaluationFilter(FilterSet):
    origin = ChoiceFilter(tuple(Evaluation.Origin.values))
    holdout = ChoiceFilter(tuple(HOLDOUTS))
    revision = WholeNumberFilter()

    class Meta:
        model = Evaluation
        fields: tuple[str, ...] = ()


class EvaluationRead(GenericAPIView):
    serializer_class = EvaluationSerializer
    lookup_field = "uid"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> Any:
        return Evaluation.objects.listed()


@extend_schema_view(get=extend_schema(operation_id="evaluations_list", summary="Evaluations"))
class EvaluationList(ListView, EvaluationRead):
    """List evaluations of the methods, newest first. CSV contains only the columns without nested values."""

    filterset_class = EvaluationFilter
    csv_serializer_class = EvaluationRowSerializer
    search_fields = ("methods__name", "holdout")
    ordering_fields: ClassVar = {name: name for name in ("created_at", "revision", "seconds")}

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        newest = Evaluation.objects.values_list("uid", flat=True).first()
        queryset = self.filter_queryset(self.get_queryset()).distinct()
        build = self.rows if self.wants_csv else self.page
        tag = etag_of(request.build_absolute_uri(), request.accepted_renderer.format, newest, queryset.count())
        return respond_unless_unchanged(request, tag, lambda: build(queryset))


@extend_schema_view(get=extend_schema(operation_id="evaluations_read", summary="Read an evaluation"))
class EvaluationDetail(DetailView, EvaluationRead):
    """Return the hidden and predicted pairs and the errors of each method. An evaluation never changes."""

    def etag(self, row: Evaluation) -> str:
        return etag_of(self.request.build_absolute_uri(), row.uid)


class EvaluationErrors(ApiView):
    """Return the errors of all predictions in percent, with one row per pair and method. They are null if the method
    refused to predict."""

    renderer_classes = (JSONRenderer, CSVRenderer)
    query_parameters: ClassVar = ("page", "page_size")

    @extend_schema(
        operation_id="evaluations_errors",
        summary="Errors of every prediction",
        parameters=described(PAGE, PAGE_SIZE),
        responses=inline_serializer(
            "PredictionErrors",
            page_fields(
                inline_serializer(
                    "PredictionError",
                    {name: Text() for name in ERROR_COLUMNS[:3]} | {name: number() for name in ERROR_COLUMNS[3:]},
                )
            ),
        ),
    )
    def get(self, request: Request, id: Any) -> HttpResponseBase:
        evaluation = get_object_or_404(Evaluation.objects.with_errors(), uid=id)
        check_page(request)
        tag = etag_of(request.build_absolute_uri(), request.accepted_renderer.format, evaluation.uid)
        return respond_unless_unchanged(request, tag, lambda: self.answer(request, evaluation))

    def answer(self, request: Request, evaluation: Evaluation) -> HttpResponseBase:
        rows = error_rows(evaluation)
        if request.accepted_renderer.format == "csv":
            return StreamingHttpResponse(csv_lines(ERROR_COLUMNS, rows), content_type="text/csv; charset=utf-8")
        pagination = Pagination()
        page = pagination.paginate_queryset(list(rows), request, view=self)
        return pagination.get_paginated_response(page)


PaperTablesSerializer = inline_serializer(
    "PaperTables",
    {
        "id": serializers.UUIDField(),
        "created_at": serializers.DateTimeField(),
        "revision": serializers.IntegerField(),
        "origin": Text(),
        "method_version": Text(),
        "sample": serializers.IntegerField(allow_null=True),
        "seed": serializers.IntegerField(),
        "results": inline_serializer(
            "PaperResults", {name: serializers.ListField(child=serializers.DictField()) for name in PAPER_TABLES}
        ),
    },
)
REPORTED_ORIGIN = OneOf(
    "origin", "Origin of the profiles; default: that of the newest report.", choices=PREDICTION_ORIGINS
)


class PaperTables(ApiView):
    """Return the paper's tables and figures for this database as they were last computed. The rows are grouped by
    table."""

    query_parameters: ClassVar = ("origin",)

    @extend_schema(
        operation_id="evaluations_paper",
        summary="The paper's tables and figures",
        parameters=described(REPORTED_ORIGIN),
        responses={200: PaperTablesSerializer, 404: None},
    )
    def get(self, request: Request) -> HttpResponseBase:
        origin = REPORTED_ORIGIN.read(request)
        report = PaperReport.objects.filter(**({"origin": origin} if origin else {})).first()
        if report is None:
            raise NotFound
        names = ("created_at", "revision", "origin", "method_version", "sample", "seed")
        # The database may not preserve the order of JSON members.
        results = {name: report.results[name] for name in PAPER_TABLES}
        data = {"id": report.uid} | {name: getattr(report, name) for name in names} | {"results": results}
        return respond_unless_unchanged(
            request, etag_of(request.build_absolute_uri(), report.uid), lambda: Response(data)
        )
