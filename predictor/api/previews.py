"""The twin of the pages that predict without keeping the answer: the front page and /what-if/."""

from typing import ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.problems import invalid_request
from predictor.api.prediction_serializers import PredictionSerializer
from predictor.api.predictions import problem_of
from predictor.core.scenarios.changes import CHARACTERISTICS, PLATFORM_CHANGES
from predictor.predictions.request import DEFAULT_METHOD, RequestError
from predictor.predictions.service import preview_answer
from predictor.predictions.sliders import WHAT_IF_PARAMETERS, InvalidParameter, slider_request, slider_values

ONLY_STORED = ("id", "url", "created_at", "settlement")
PreviewSerializer = inline_serializer(
    "PredictionPreview",
    {
        "id": serializers.UUIDField(allow_null=True, help_text="null: the answer is not kept"),
        "url": serializers.URLField(allow_null=True, help_text="null"),
        **{name: field for name, field in PredictionSerializer().get_fields().items() if name not in ONLY_STORED},
    },
)


def change_parameters() -> list[OpenApiParameter]:
    factors = [OpenApiParameter(name, float, description="factor; 1 = the baseline") for name in CHARACTERISTICS]
    values = [OpenApiParameter(name, float, description="new value; n_nu, n_ht: 0 = none") for name in PLATFORM_CHANGES]
    return [*factors, *values]


class PredictionPreview(ApiView):
    """The answer to a question without keeping it, as the pages show it while one plays with them."""

    query_parameters: ClassVar[tuple[str, ...]] = WHAT_IF_PARAMETERS

    @extend_schema(
        operation_id="predictions_preview",
        summary="Predict without keeping the answer",
        parameters=[
            OpenApiParameter("workload", str, required=True, description="slug, or a name that only one row has"),
            OpenApiParameter("target", str, required=True, description="slug, or a name that only one row has"),
            OpenApiParameter("method", str, description="a name from methods/", default=DEFAULT_METHOD),
            *change_parameters(),
        ],
        responses=PreviewSerializer,
    )
    def get(self, request: Request) -> Response:
        parameters = request.query_params.dict()
        try:
            question = slider_request(parameters, slider_values(parameters))
            answer = preview_answer(question, request.user)
        except InvalidParameter as error:
            raise invalid_request(error.name, "A number.") from error
        except RequestError as error:
            raise problem_of(error) from error
        return Response({"id": None, "url": None} | answer)
