"""Whether a prediction is possible, without making it; and what would make it possible."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.fields import Integer, Text
from mpet_site.web.parameters import Flag, Name, OneOf, described
from mpet_site.web.problems import invalid_request
from predictor.api.predictions import problem_of
from predictor.api.previews import MIXING, PUBLIC_ONLY
from predictor.core.methods import METHODS
from predictor.core.scenarios import SCENARIOS
from predictor.core.scenarios.scenario import NO_PARALLEL_STRATEGY
from predictor.predictions.feasibility import feasibility, feasible_targets
from predictor.predictions.question import DEFAULT_METHOD, InvalidSettings, PredictionRequest, RequestError
from profiles.measurements import STRATEGIES

RemedySerializer: Any = inline_serializer(
    "Remedy",
    {
        "kind": Text(help_text="kit, measure, or the part of the request that would have to be another"),
        "platform": Text(allow_null=True, help_text="where to run the command"),
        "command": Text(allow_null=True, help_text="in the folder of the benchmark kit"),
        "shares_with": Text(allow_null=True, help_text="the platform that it then shares workloads with"),
        "shared_workloads": Integer(allow_null=True),
    },
    allow_null=True,
)
FeasibilitySerializer = inline_serializer(
    "Feasibility",
    {
        "workload": Text(),
        "target": Text(allow_null=True, help_text="null: none was named, `targets` counts all"),
        "method": Text(),
        "scenario": Text(),
        "possible": serializers.BooleanField(help_text="Without a target: on one platform at least."),
        "reason": Text(allow_null=True, help_text="of the refusal, as the prediction would say it"),
        "lacks": Text(allow_null=True, help_text="the same as a word"),
        "evidence": inline_serializer(
            "ConnectingProfiles",
            {
                "references": Integer(help_text="platforms that have the workload"),
                "benchmarks": Integer(help_text="other workloads that the target has"),
                "shared": Integer(help_text="of these, how many a reference has, too"),
                "connecting": Integer(help_text="profiles of these on references"),
                "measured": Integer(help_text="profiles of the pair itself, which take no part"),
            },
            allow_null=True,
        ),
        "targets": inline_serializer(
            "FeasibleTargets",
            {
                "platforms": Integer(help_text="where the workload was not measured"),
                "feasible": Integer(help_text="of these, on how many it can be predicted"),
                "measured": Integer(help_text="platforms where the workload was measured"),
                "lacks": serializers.DictField(child=Integer(), help_text="of the others, what is missing how often"),
            },
            allow_null=True,
        ),
        "advice": Text(allow_null=True, help_text="what would help, a sentence without its full stop"),
        "remedy": RemedySerializer,
    },
)
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
        responses={200: FeasibilitySerializer},
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
        return feasible_targets(values["workload"], viewer, **chosen).document()
    mixing = values.pop("mix_runtimes")
    settings = {} if mixing is None else {"mix_runtimes": mixing}
    return feasibility(PredictionRequest(**values, settings=settings), user).document()
