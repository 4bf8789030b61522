"""The request of a prediction and its answer, as the API reads and writes them."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, inline_serializer
from rest_framework import serializers

from mpet_site.web.fields import (
    Integer,
    KnownFieldsSerializer,
    PlainBoolean,
    PlainInteger,
    PlainNumber,
    PlainText,
    Text,
    fields_of,
    numbers,
)
from predictor.api.settled import SettlementSerializer, WithdrawnSerializer, settlement_document, withdrawn_document
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
from predictor.predictions.question import DEFAULT_METHOD, MOST_THREAD_COUNTS, PredictionRequest
from predictor.predictions.service import stale_reasons
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
PUBLIC_ONLY_HELP = "Nothing private takes part, whoever asks: everybody may read the answer."
EXPLAIN_HELP = "With `why`, which takes longer than the answer."
JSON_TYPE = {"int": "integer", "float": "number", "bool": "boolean"}


def object_field(members: dict[str, Any], help_text: str, child: Any, **options: Any) -> Any:
    """A dictionary with these members (name -> its schema). What their values may be is for the service to say."""
    schema = {"type": "object", "nullable": True, "properties": members, "additionalProperties": False}
    kind = extend_schema_field(schema | {"description": help_text})(type("Members", (serializers.DictField,), {}))
    return kind(child=child, allow_null=True, help_text=help_text, **options)


def setting_schemas() -> dict[str, Any]:
    """Every setting of every method, with its type."""
    settings = {name: kind for method in METHODS.values() for name, kind in method.describe().settings.items()}
    return {name: {"type": JSON_TYPE.get(kind.type, "string")} for name, kind in settings.items()}


@extend_schema_field({"type": "string", "enum": list(METHODS), "nullable": True})
class MethodField(PlainText):
    """Which there are is for the service to say, with what was meant."""


class PredictionRequestSerializer(KnownFieldsSerializer):
    """How would `workload` run on `target`? Slugs, or names that only one row has."""

    workload = PlainText(max_length=200)
    target = PlainText(max_length=200)
    references = serializers.ListField(
        child=PlainText(max_length=200),
        allow_null=True,
        default=None,
        min_length=1,
        max_length=1000,
        help_text="Platforms whose profiles of the workload may be used; null = all.",
    )
    method = MethodField(default=DEFAULT_METHOD, allow_null=True, help_text="A name from methods/.")
    n = serializers.ListField(
        child=PlainInteger(min_value=1, max_value=LARGEST_THREAD_COUNT),
        allow_null=True,
        default=None,
        min_length=1,
        max_length=MOST_THREAD_COUNTS,
        help_text="Thread counts; null = 1 to the target's n_max, at most 512 of them.",
    )
    settings = object_field(
        setting_schemas(), "Of the method; the rest is its default.", serializers.JSONField(), default=dict
    )
    include_simulated = PlainBoolean(default=False, help_text="Simulated profiles may take part.")
    include_outliers = PlainBoolean(default=False, help_text="Profiles that were found to be outliers may take part.")
    public_only = PlainBoolean(default=False, help_text=PUBLIC_ONLY_HELP)
    explain = PlainBoolean(default=False, help_text=EXPLAIN_HELP)
    scenario = serializers.ChoiceField(SCENARIOS, default="migration", help_text="What is predicted (scenarios.md).")
    strategy = serializers.ChoiceField(
        STRATEGIES, allow_null=True, default=None, help_text="Of the scenario parallelisation: how it is to be done."
    )
    workload_changes = object_field(
        WORKLOAD_CHANGES,
        "Factors on characteristics of the workload: a virtual workload.",
        PlainNumber(),
        default=None,
    )
    platform_changes = object_field(
        PLATFORM_VALUES,
        "New values of the target: a virtual platform. Null: no such effect.",
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
    """What a stored answer has and one that is not kept has not."""

    id = serializers.UUIDField(source="uid")
    url = serializers.HyperlinkedIdentityField("api-prediction", lookup_field="uid", lookup_url_kwarg="id")

    class Meta:
        model = Prediction
        fields: tuple[str, ...] = ("id", "url", "created_at")
        read_only_fields = fields


class PredictionSerializer(StoredSerializer):
    """The stored answer, as it was given."""

    settlement = SettlementSerializer(
        allow_null=True, help_text="How wrong it was, once the pair was measured; null until then."
    )
    withdrawn = WithdrawnSerializer(
        allow_null=True, help_text="That owners took deliveries back that the answer rests on; null: none was."
    )
    outdated = serializers.ListField(
        child=Text(),
        help_text="What of it is from before, a sentence each: a newer version of the method, of the rules of `why`; "
        "that it was not noted what it rests on. The answer itself never changes.",
    )

    class Meta(StoredSerializer.Meta):
        asked = ("revision", "method", "method_version", "workload", "target")
        fields = (*StoredSerializer.Meta.fields, *asked, "settlement", "withdrawn", "outdated")
        read_only_fields = fields

    def get_fields(self) -> dict[str, Any]:
        """For the schema: those of the answer, and what the row has beside it."""
        own = super().get_fields()
        first = {name: own[name] for name in StoredSerializer.Meta.fields}
        return first | fields_of(AnswerDocument) | {"scaling_curves": PredictedCurvesSerializer()} | own

    def to_representation(self, prediction: Prediction) -> dict[str, Any]:
        beside = {
            "settlement": settlement_document(prediction),
            "withdrawn": withdrawn_document(prediction),
            "outdated": stale_reasons(prediction),
        }
        # The answer is sent as it was stored.
        answer = {name: value for name, value in prediction.answer.items() if name != "why"}
        why = {"why": self.context["why"]} if "why" in self.context else {}
        return {**StoredSerializer(prediction, context=self.context).data, **answer, **why, **beside}


ONLY_STORED = (*StoredSerializer.Meta.fields, "settlement", "withdrawn", "outdated")
PreviewSerializer = inline_serializer(
    "PredictionPreview",
    {
        "id": serializers.UUIDField(allow_null=True, help_text="null: the answer is not kept"),
        "url": serializers.URLField(allow_null=True, help_text="null"),
        **{name: field for name, field in PredictionSerializer().get_fields().items() if name not in ONLY_STORED},
    },
)


def preview_document(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer that is not kept."""
    return {"id": None, "url": None} | answer
