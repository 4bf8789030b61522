"""The JSON form of the pages that predict without storing the answer: the front page and /what-if/."""

import typing
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.parameters import Flag, Name, Number, OneOf, QueryParameter, WholeNumber, described
from mpet_site.web.problems import invalid_request
from predictor.api.predictions import EXPLAIN_HELP, PUBLIC_ONLY_HELP, PreviewSerializer, preview_document, problem_of
from predictor.core.methods import METHODS
from predictor.core.references import MixRuntimes
from predictor.core.scenarios.scenario import (
    CHARACTERISTICS,
    FASTEST_MHZ,
    LARGEST_CHANGE_FACTOR,
    LARGEST_N_MAX,
    SLOWEST_MHZ,
    least_factor,
)
from predictor.predictions.question import DEFAULT_METHOD, InvalidSettings, RequestError
from predictor.predictions.service import preview_answer
from predictor.predictions.sliders import WHAT_IF_PARAMETERS, slider_request

MIXING = OneOf("mix_runtimes", "a setting of mpet2020", choices=typing.get_args(MixRuntimes))
QUESTION = (
    Name("workload", "slug, or a name that only one row has", required=True),
    Name("target", "slug, or a name that only one row has", required=True),
    OneOf("method", "a name from methods/", default=DEFAULT_METHOD, choices=tuple(METHODS)),
    MIXING,
)
EXPLAIN = Flag("explain", EXPLAIN_HELP, default=False)
PUBLIC_ONLY = Flag("public_only", PUBLIC_ONLY_HELP, default=False)
CHANGES: tuple[QueryParameter, ...] = (
    *(
        Number(name, "factor; 1 = the baseline", low=least_factor(name), high=LARGEST_CHANGE_FACTOR)
        for name in CHARACTERISTICS
    ),
    *(WholeNumber(name, "new value; 0 = none", high=LARGEST_N_MAX) for name in ("n_nu", "n_ht")),
    WholeNumber("n_max", "new value", low=1, high=LARGEST_N_MAX),
    Number("base_mhz", "new value", low=SLOWEST_MHZ, high=FASTEST_MHZ),
)


class PredictionPreview(ApiView):
    """The answer to a question without keeping it, as the pages show it while one plays with them."""

    query_parameters: ClassVar[tuple[str, ...]] = (*WHAT_IF_PARAMETERS, PUBLIC_ONLY.name, EXPLAIN.name)

    @extend_schema(
        operation_id="predictions_preview",
        summary="Predict without keeping the answer",
        parameters=described(*QUESTION, *CHANGES, PUBLIC_ONLY, EXPLAIN),
        responses={200: PreviewSerializer, 422: None},
    )
    def get(self, request: Request) -> Response:
        names = {parameter.name: parameter.read(request) for parameter in QUESTION}
        values = {parameter.name: parameter.read(request) for parameter in CHANGES}
        changes = {name: float(value) for name, value in values.items() if value is not None}
        try:
            question = slider_request(names, changes, public_only=PUBLIC_ONLY.read(request))
            answer = preview_answer(question, request.user, explained=bool(EXPLAIN.read(request)))
        except InvalidSettings as error:  # of a parameter, which is called like the setting
            raise invalid_request(error.name, error.reason) from error
        except RequestError as error:
            raise problem_of(error) from error
        return Response(preview_document(answer))
