"""Predictions in the API: requests and answers, creation, detail with reasons, deletion, and the list of own and
validated predictions."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import MayAsk, MayPredict
from mpet_site.web.api import ApiView, DetailView, ListView
from mpet_site.web.etags import etag_of
from mpet_site.web.fields import (
    Integer,
    KnownFieldsSerializer,
    PlainBoolean,
    PlainChoice,
    PlainInteger,
    PlainNumber,
    PlainText,
    Text,
    fields_of,
    numbers,
    row_url,
    serializer_of,
)
from mpet_site.web.parameters import OneOf, described
from mpet_site.web.problems import InvalidRequest, Problem, Unprocessable, invalid_request
from mpet_site.web.throttling import UnstoredPredictionThrottle
from predictor.api.settled import (
    ListedPredictions,
    SettlementSerializer,
    WithdrawnSerializer,
    settlement_document,
    withdrawn_document,
)
from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.core.methods import METHODS
from predictor.core.scenarios import SCENARIOS
from predictor.core.scenarios.scenario import (
    CHARACTERISTICS,
    FASTEST_MHZ,
    LARGEST_CHANGE_FACTOR,
    LARGEST_N_MAX,
    SLOWEST_MHZ,
    least_factor,
)
from predictor.models import Prediction
from predictor.predictions.document import AnswerDocument
from predictor.predictions.explanation import PredictionReasons
from predictor.predictions.feasibility import advice_members
from predictor.predictions.question import (
    DEFAULT_METHOD,
    MOST_THREAD_COUNTS,
    InvalidField,
    InvalidSettings,
    NoPrediction,
    PredictionRequest,
    RequestError,
    UnknownName,
)
from predictor.predictions.service import (
    predict,
    preview_answer,
    reasons_of_prediction,
    remove_predictions,
    stale_reasons,
    why_of_prediction,
)
from profiles.measurements import STRATEGIES
from profiles.scaling.names import CURVE_NAMES

CHANGED_COUNT = {"type": "integer", "minimum": 1, "maximum": LARGEST_N_MAX}
WORKLOAD_CHANGES = {
    name: {"type": "number", "minimum": least_factor(name), "maximum": LARGEST_CHANGE_FACTOR}
    for name in CHARACTERISTICS
}
PLATFORM_VALUES = {
    "n_nu": {**CHANGED_COUNT, "nullable": True},
    "n_ht": {**CHANGED_COUNT, "nullable": True},
    "n_max": CHANGED_COUNT,
    "base_mhz": {"type": "number", "minimum": SLOWEST_MHZ, "maximum": FASTEST_MHZ},
}
PUBLIC_ONLY_HELP = "Use only public data, so that everybody may read the answer."
EXPLAIN_HELP = "Include `why`, which takes longer to compute than the answer."
JSON_TYPE = {"int": "integer", "float": "number"}


def object_field(members: dict[str, Any], help_text: str, child: Any, **options: Any) -> Any:
    """Return a field for a dictionary with these members (name -> schema). The service validates the values."""
    schema = {"type": "object", "nullable": True, "properties": members, "additionalProperties": False}
    kind = extend_schema_field(schema | {"description": help_text})(type("Members", (serializers.DictField,), {}))
    return kind(child=child, allow_null=True, help_text=help_text, **options)


def setting_schemas() -> dict[str, Any]:
    """Return the schema of every setting of every method by name."""
    settings = {name: kind for method in METHODS.values() for name, kind in method.describe().settings.items()}
    return {name: {"type": JSON_TYPE.get(kind.type, "string")} for name, kind in settings.items()}


@extend_schema_field({"type": "string", "enum": list(METHODS), "nullable": True})
class MethodField(PlainText):
    """The name of a method. The service rejects unknown names, because it can suggest similar ones."""


class PredictionRequestSerializer(KnownFieldsSerializer):
    """A request to predict `workload` on `target`. Both are slugs, or names that belong to only one row."""

    workload = PlainText(max_length=200)
    target = PlainText(max_length=200)
    references = serializers.ListField(
        child=PlainText(max_length=200),
        allow_null=True,
        default=None,
        min_length=1,
        max_length=1000,
        help_text="Platforms whose profiles of the workload are used; null = all.",
    )
    method = MethodField(
        default=DEFAULT_METHOD, allow_null=True, help_text="Name of a prediction method, as listed by methods/."
    )
    n = serializers.ListField(
        child=PlainInteger(min_value=1, max_value=LARGEST_THREAD_COUNT),
        allow_null=True,
        default=None,
        min_length=1,
        max_length=MOST_THREAD_COUNTS,
        help_text="Thread counts; null = 1 to the target's n_max, at most 512 of them.",
    )
    settings = object_field(
        setting_schemas(),
        "Settings of the method; omitted ones have their defaults.",
        serializers.JSONField(),
        default=dict,
    )
    include_simulated = PlainBoolean(default=False, help_text="Include simulated profiles.")
    include_outliers = PlainBoolean(default=False, help_text="Include profiles that were found to be outliers.")
    public_only = PlainBoolean(default=False, help_text=PUBLIC_ONLY_HELP)
    explain = PlainBoolean(default=False, help_text=EXPLAIN_HELP)
    scenario = PlainChoice(SCENARIOS, default="migration", help_text="Scenario to predict (scenarios.md).")
    strategy = PlainChoice(
        STRATEGIES, allow_null=True, default=None, help_text="Parallelisation strategy of the scenario parallelisation."
    )
    workload_changes = object_field(
        WORKLOAD_CHANGES,
        "Factors on characteristics of the workload, which define a virtual workload.",
        PlainNumber(),
        default=None,
    )
    platform_changes = object_field(
        PLATFORM_VALUES,
        "New values of the target, which define a virtual platform; null = no such effect.",
        PlainNumber(allow_null=True),
        default=None,
    )

    def to_request(self) -> PredictionRequest:
        values = {name: value for name, value in self.validated_data.items() if name != "explain"}
        return PredictionRequest(
            **values | {"method": values["method"] or DEFAULT_METHOD, "settings": values["settings"] or {}}
        )


PredictedCurvesSerializer = type(
    inline_serializer(
        "PredictedCurves",
        {"n": serializers.ListField(child=Integer())} | {name: numbers() for name in (*CURVE_NAMES, "utilisation")},
    )
)


class StoredSerializer(serializers.ModelSerializer):
    """The fields that only stored answers have."""

    id = serializers.UUIDField(source="uid")
    url = row_url("api-prediction")

    class Meta:
        model = Prediction
        fields: tuple[str, ...] = ("id", "url", "created_at")
        read_only_fields = fields


class PredictionSerializer(StoredSerializer):
    """A stored answer, unchanged since it was given."""

    settlement = SettlementSerializer(
        allow_null=True, help_text="Errors of the prediction once the pair was measured; null until then."
    )
    withdrawn = WithdrawnSerializer(
        allow_null=True, help_text="Withdrawn sources that the answer is based on; null if there are none."
    )
    outdated = serializers.ListField(
        child=Text(),
        help_text="Why the answer is outdated, one sentence per reason: a newer version of the method or of the "
        "rules of `why`, or sources that were not recorded. The answer itself never changes.",
    )

    class Meta(StoredSerializer.Meta):
        asked = ("revision", "method", "method_version", "workload", "target")
        fields = (*StoredSerializer.Meta.fields, *asked, "settlement", "withdrawn", "outdated")
        read_only_fields = fields

    def get_fields(self) -> dict[str, Any]:
        """Return the fields of the answer and of the stored row, for the schema."""
        fields = super().get_fields()
        first = {name: fields[name] for name in StoredSerializer.Meta.fields}
        return first | fields_of(AnswerDocument) | {"scaling_curves": PredictedCurvesSerializer()} | fields

    def to_representation(self, prediction: Prediction) -> dict[str, Any]:
        state = {
            "settlement": settlement_document(prediction),
            "withdrawn": withdrawn_document(prediction),
            "outdated": stale_reasons(prediction),
        }
        answer = {name: value for name, value in prediction.answer.items() if name != "why"}
        why = {"why": self.context["why"]} if "why" in self.context else {}
        return {**StoredSerializer(prediction, context=self.context).data, **answer, **why, **state}


ONLY_STORED = (*StoredSerializer.Meta.fields, "settlement", "withdrawn", "outdated")
PreviewSerializer = inline_serializer(
    "PredictionPreview",
    {
        "id": serializers.UUIDField(allow_null=True, help_text="Always null, because the answer is not stored."),
        "url": serializers.URLField(allow_null=True, help_text="Always null."),
        **{name: field for name, field in PredictionSerializer().get_fields().items() if name not in ONLY_STORED},
    },
)


def preview_document(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the document of an answer that is not stored."""
    return {"id": None, "url": None} | answer


def problem_of(error: RequestError) -> Problem:
    """Return the problem response for a request that has no answer."""
    if isinstance(error, NoPrediction):
        lacks = {"lacks": error.lacks or None, **advice_members(error.remedy)}
        return Unprocessable(str(error), found=error.found, needed=error.needed, **lacks)
    if isinstance(error, InvalidSettings):
        name = error.name if isinstance(error, InvalidField) else f"settings.{error.name}"
        return invalid_request(name, error.reason)
    name = error.request_field if isinstance(error, UnknownName) else ""
    return InvalidRequest([{"name": name, "reason": str(error)}])


MINE_ONLY = OneOf("mine", "Required, to prevent accidental deletion.", required=True, choices=("true",))


@extend_schema_view(get=extend_schema(operation_id="predictions_list", summary="Your own and validated predictions"))
class PredictionList(ListedPredictions, ListView):
    """List your own predictions, and the validated predictions with their errors. POST predicts how a workload would
    run on a platform. Each question has one stored answer per revision."""

    def get_permissions(self) -> list[Any]:
        """Return the permissions of the method. AllowAny marks the token as optional in the schema."""
        of_method: dict[str, list[Any]] = {"POST": [AllowAny(), MayAsk()], "DELETE": [MayPredict()]}
        return of_method.get(str(self.request.method)) or list(super().get_permissions())

    def get_throttles(self) -> list[Any]:
        throttles = list(super().get_throttles())
        return [*throttles, UnstoredPredictionThrottle()] if self.request.method == "POST" else throttles

    def known_parameters(self) -> tuple[str, ...]:
        return ("mine",) if self.request.method == "DELETE" else super().known_parameters()

    @extend_schema(
        operation_id="predictions_delete_all",
        summary="Delete all your own predictions",
        parameters=described(MINE_ONLY),
        responses={204: None},
    )
    def delete(self, request: Request) -> Response:
        """Delete all your own predictions, each as with `DELETE predictions/{id}/`."""
        MINE_ONLY.read(request)
        remove_predictions(Prediction.objects.all(), request.user)
        return Response(status=204)

    @extend_schema(
        operation_id="predictions_create",
        summary="Predict",
        request=PredictionRequestSerializer,
        responses={200: PreviewSerializer, 201: PredictionSerializer, 422: None},
    )
    def post(self, request: Request) -> Response:
        """Predict. With a token, the response is 201 with the stored answer. Without a token, it is 200 with the same
        answer, which is not stored. The answer contains `why` if `explain` is true."""
        serializer = PredictionRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        explained = serializer.validated_data["explain"]
        context: dict[str, Any] = {"request": request}
        try:
            if not request.user.is_authenticated:
                return Response(preview_document(preview_answer(serializer.to_request(), None, explained=explained)))
            prediction = predict(serializer.to_request(), request.user)
            if explained:
                context["why"] = why_of_prediction(prediction, request.user)
        except RequestError as error:
            raise problem_of(error) from error
        data = PredictionSerializer(prediction, context=context).data
        # The header is a plain string, because wsgiref rejects subclasses of str.
        return Response(data, status=201, headers={"Location": str(data["url"])})


@extend_schema_view(get=extend_schema(operation_id="predictions_read", summary="Read a prediction"))
class PredictionDetail(DetailView):
    """Return the answer as it was given, with the revision of its data. It never changes. Once the pair was measured,
    `settlement` contains its errors. `withdrawn` is set if sources of the answer were withdrawn. `outdated` lists what
    is outdated, such as the version of the method or the rules of the reasons, which why/ returns."""

    serializer_class = PredictionSerializer
    lookup_field = "uid"
    lookup_url_kwarg = "id"

    def get_permissions(self) -> list[Any]:
        return [MayPredict()] if self.request.method == "DELETE" else list(super().get_permissions())

    def get_queryset(self) -> Any:
        return Prediction.objects.visible_to(self.request.user).select_related("settled_by")

    @extend_schema(operation_id="predictions_delete", summary="Delete one of your predictions", responses={204: None})
    def delete(self, request: Request, id: Any) -> Response:
        """Remove the prediction from your own predictions. A private prediction is deleted. A public prediction is
        deleted unless another user asked for it or a measurement validated it."""
        if not remove_predictions(Prediction.objects.filter(uid=self.get_object().uid), request.user):
            raise PermissionDenied("This is not one of your own predictions.")
        return Response(status=204)

    def etag(self, prediction: Prediction) -> str:
        withdrawn, outdated = len(prediction.withdrawals), stale_reasons(prediction)
        state = prediction.settled_at, prediction.is_settled, withdrawn, *outdated
        return etag_of(self.request.build_absolute_uri(), prediction.uid, *state)


class PredictionWhy(ApiView):
    """Return what limits the workload on the target, and the data that the answer is based on. The reasons are computed
    on the first request, and stored if the database is still at the revision of the prediction. Otherwise `note` states
    that they refer to the current answer."""

    @extend_schema(
        operation_id="predictions_why",
        summary="Explain a prediction",
        responses={200: serializer_of(PredictionReasons), 422: None},
    )
    def get(self, request: Request, id: Any) -> Response:
        prediction = get_object_or_404(Prediction.objects.visible_to(request.user), uid=id)
        try:
            return Response(reasons_of_prediction(prediction, request.user))
        except RequestError as error:
            raise problem_of(error) from error
