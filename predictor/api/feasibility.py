"""Whether a prediction is possible, without making it; and what would make it possible."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.fields import serializer_of
from mpet_site.web.parameters import Flag, Name, OneOf, described
from mpet_site.web.problems import invalid_request
from predictor.api.predictions import problem_of
from predictor.api.previews import MIXING, PUBLIC_ONLY
from predictor.core.methods import METHODS
from predictor.core.scenarios import SCENARIOS
from predictor.core.scenarios.scenario import NO_PARALLEL_STRATEGY
from predictor.predictions.feasibility import FeasibilityDocument, feasibility, feasible_targets
from predictor.predictions.question import DEFAULT_METHOD, InvalidSettings, PredictionRequest, RequestError
from profiles.measurements import STRATEGIES

PARALLEL_STRATEGIES = tuple(strategy for strategy in STRATEGIES if strategy not in NO_PARALLEL_STRATEGY)
FEASIBILITY_PARAMETERS = (
    Name("workload", "slug, or a name that only one row has", required=True),
    Name("target", "slug, or a name that only one row has; without it all platforms are counted"),
    OneOf("method", "a name from methods/", default=DEFAULT_METHOD, choices=tuple(METHODS)),
    OneOf("scenario", "with a target", default="migration", choices=SCENARIOS),
    OneOf("strategy", "of the scenario parallelisation", choices=PARALLEL_STRATEGIES),
    MIXING,
    PUBLIC_ONLY,
    Flag("include_simulated", "Simulated profiles take part.", default=False),
)
ONLY_WITH_TARGET = ("strategy", "mix_runtimes")


class FeasibilityView(ApiView):
    """Whether `POST predictions/` answers the same question, why not, and what would help; on one target, or counted
    over all platforms."""

    query_parameters: ClassVar[tuple[str, ...]] = tuple(parameter.name for parameter in FEASIBILITY_PARAMETERS)

    @extend_schema(
        operation_id="predictions_possible",
        summary="Is a prediction possible?",
        parameters=described(*FEASIBILITY_PARAMETERS),
        responses={200: serializer_of(FeasibilityDocument)},
    )
    def get(self, request: Request) -> Response:
        values = {parameter.name: parameter.read(request) for parameter in FEASIBILITY_PARAMETERS}
        try:
            return Response(document_of_values(values, request.user))
        except InvalidSettings as error:  # of a parameter, which is called like the setting
            raise invalid_request(error.name, error.reason) from error
        except RequestError as error:
            raise problem_of(error) from error


def document_of_values(values: dict[str, Any], user: Any) -> dict[str, Any]:
    """For one target, or for all. Raises a RequestError."""
    if values["target"] is None:
        for name in ONLY_WITH_TARGET:
            if values[name] is not None:
                raise invalid_request(name, "only with a target")
        if values["scenario"] != "migration":
            raise invalid_request("scenario", "only with a target")
        chosen = {name: values[name] for name in ("method", "include_simulated")}
        viewer = None if values["public_only"] else user
        return feasible_targets(values["workload"], viewer, **chosen)
    mixing = values.pop("mix_runtimes")
    settings = {} if mixing is None else {"mix_runtimes": mixing}
    return feasibility(PredictionRequest(**values, settings=settings), user).document()
