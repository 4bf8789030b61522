"""Many predictions in one request, streamed as JSON lines."""

import json

from django.conf import settings
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request

from accounts.authentication import MayPredict
from mpet_site.web.api import StrictView
from mpet_site.web.fields import Integer, KnownFieldsSerializer, PlainBoolean, PlainInteger, PlainText, Text, number
from mpet_site.web.plain_json import nan_to_null
from mpet_site.web.renderers import JSONRenderer
from predictor.api.predictions import PUBLIC_ONLY_HELP, MethodField, object_field, problem_of, setting_schemas
from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.predictions.batches import MOST_BATCH_TARGETS, MOST_BATCH_WORKLOADS, Batch, BatchRequest
from predictor.predictions.question import DEFAULT_METHOD, RequestError

JSON_LINES = "application/jsonl"

BatchLineSerializer = inline_serializer(
    "BatchLine",
    {
        "workload": Text(required=False),
        "target": Text(required=False),
        "n_best": Integer(
            required=False, help_text="Thread count with the smallest predicted time, or the requested n."
        ),
        "time_s": number(required=False, help_text="Predicted time at n_best."),
        "low_s": number(required=False),
        "high_s": number(required=False),
        "measured": serializers.BooleanField(required=False),
        "measured_time_s": number(required=False),
        "measured_n": Integer(required=False, allow_null=True),
        "origin": Text(required=False),
        "warnings": serializers.ListField(child=Text(), required=False),
        "estimated": serializers.BooleanField(required=False),
        "limited": serializers.BooleanField(required=False),
        "reason": Text(required=False, help_text="Why the pair has no prediction."),
        "lacks": Text(required=False, allow_null=True),
        "pairs": Integer(required=False, help_text="In the last line: number of requested pairs."),
        "answered": Integer(
            required=False, help_text="In the last line: number of answered pairs, including skipped ones."
        ),
        "next": Integer(
            required=False,
            allow_null=True,
            help_text="In the last line: value of `skip` for the remaining pairs; null if there are none.",
        ),
        "method": Text(required=False),
        "method_version": Text(required=False),
        "revision": Integer(required=False),
    },
)


class JSONLinesRenderer(JSONRenderer):
    """A renderer for one JSON value per line."""

    media_type = JSON_LINES
    format = "jsonl"


class BatchRequestSerializer(KnownFieldsSerializer):
    """A request to predict all `workloads` on all `targets`. Both are slugs, or names that belong to only one row."""

    workloads = serializers.ListField(
        child=PlainText(max_length=200),
        min_length=1,
        max_length=MOST_BATCH_WORKLOADS,
        help_text="Workloads to predict.",
    )
    targets = serializers.ListField(
        child=PlainText(max_length=200),
        allow_null=True,
        default=None,
        min_length=1,
        max_length=MOST_BATCH_TARGETS,
        help_text="Target platforms; null = all platforms.",
    )
    method = MethodField(
        default=DEFAULT_METHOD, allow_null=True, help_text="Name of a prediction method, as listed by methods/."
    )
    n = PlainInteger(
        min_value=1,
        max_value=LARGEST_THREAD_COUNT,
        allow_null=True,
        default=None,
        help_text="Thread count; null = the fastest one of each target.",
    )
    settings = object_field(
        setting_schemas(),
        "Settings of the method; omitted ones have their defaults.",
        serializers.JSONField(),
        default=dict,
    )
    include_simulated = PlainBoolean(default=False, help_text="Include simulated profiles.")
    public_only = PlainBoolean(default=False, help_text=PUBLIC_ONLY_HELP)
    estimate = PlainBoolean(
        default=False, help_text="Estimate all pairs in one pass per workload. Not all methods support this."
    )
    skip = PlainInteger(
        min_value=0,
        max_value=MOST_BATCH_WORKLOADS * MOST_BATCH_TARGETS,
        default=0,
        help_text="Number of pairs to skip: `next` in the last line of an incomplete response.",
    )

    def to_request(self) -> BatchRequest:
        values = self.validated_data
        defaults = {"method": values["method"] or DEFAULT_METHOD, "settings": values["settings"] or {}}
        return BatchRequest(**values | defaults)


class PredictionBatch(StrictView):
    """Compute many predictions in one request without storing them. The response has one line of JSON per pair,
    workload after workload, each as soon as it is computed, and a last line with a summary.

    A line has the members of a row of a ranking, or `reason` and `lacks`. If the time limit of a request is exceeded,
    `next` in the last line is the value of `skip` for the remaining pairs.
    """

    permission_classes = (MayPredict,)
    renderer_classes = (JSONRenderer, JSONLinesRenderer)

    @extend_schema(
        operation_id="predictions_batch",
        summary="Predict many workloads on many targets",
        request=BatchRequestSerializer,
        responses={(200, JSON_LINES): BatchLineSerializer, 422: None},
    )
    def post(self, request: Request) -> HttpResponseBase:
        serializer = BatchRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        try:
            batch = Batch.of(serializer.to_request(), request.user)
        except RequestError as error:
            raise problem_of(error) from error
        documents = batch.lines(settings.BATCH_SECONDS)
        lines = (json.dumps(nan_to_null(document), allow_nan=False) + "\n" for document in documents)
        response = StreamingHttpResponse(lines, content_type=JSON_LINES)
        response["Cache-Control"] = "no-store"
        response["X-Accel-Buffering"] = "no"
        return response
