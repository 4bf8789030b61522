"""Validated predictions in the API, and the track record of the methods."""

from typing import Any, ClassVar

from django.db.models import Count, Max, QuerySet
from django.http.response import HttpResponseBase
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_field, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.fields import number, row_url, serializer_of
from mpet_site.web.filters import BooleanFilter, ChoiceFilter, TextFilter
from mpet_site.web.parameters import OneOf, described
from predictor.accuracy.settlement import SETTLED_ORDERINGS, Score, scores
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.models import Prediction
from profiles.pages.page_cache import database_etag


def in_percent(error: float | None) -> float | None:
    return None if error is None else 100 * error


SETTLEMENT_FIELDS: dict[str, serializers.Field] = {
    "settled_at": serializers.DateTimeField(),
    "origin": serializers.ChoiceField(PREDICTION_ORIGINS, help_text="Origin of the measurement."),
    "profile": serializers.UUIDField(
        allow_null=True, help_text="Profile that measured the pair; null if it was removed."
    ),
    "blind": serializers.BooleanField(
        help_text="Whether the prediction counts for the track record, because the pair had not been measured "
        "before. Otherwise, the pair was hidden from its own prediction (leave-one-out), or there is "
        "a `doubt`."
    ),
    "error_percent": number(help_text="Mean error over the measured thread counts."),
    "t1_error_percent": number(),
    "scaling_error_percent": number(),
    "points": serializers.IntegerField(help_text="Number of measured thread counts that have an interval."),
    "points_inside": serializers.IntegerField(help_text="Number of these whose measured time is inside the interval."),
    "doubt": serializers.CharField(
        allow_null=True,
        help_text="Why the measurement does not count for the track record although the pair had not been "
        "measured before. `asked`: its owner had requested the prediction; `new`: it came from a new "
        "account; `close`: it agrees with the prediction more closely than its repeats agree with "
        "each other. null: it counts, or the pair had been measured before.",
    ),
}
SettlementSerializer: Any = type(inline_serializer("Settlement", dict(SETTLEMENT_FIELDS)))


def settlement_document(prediction: Prediction) -> dict[str, Any] | None:
    """Return the settlement of a prediction, or None until its pair is measured."""
    if prediction.settled_at is None or not prediction.is_settled:
        return None
    measured = prediction.settled_by
    return {
        "settled_at": serializers.DateTimeField().to_representation(prediction.settled_at),
        "origin": prediction.settled_origin,
        "profile": str(measured.uid) if measured else None,
        "blind": prediction.is_blind,
        "error_percent": in_percent(prediction.error_full),
        "t1_error_percent": in_percent(prediction.error_t1),
        "scaling_error_percent": in_percent(prediction.error_scaling),
        "points": prediction.points,
        "points_inside": prediction.points_inside,
        "doubt": prediction.doubt or None,
    }


WithdrawnSerializer: Any = type(
    inline_serializer(
        "WithdrawnSources",
        {
            "sources": serializers.IntegerField(help_text="Number of withdrawn sources that the answer is based on."),
            "withdrawn_at": serializers.DateTimeField(help_text="Time of the latest withdrawal."),
        },
    )
)


def withdrawn_document(prediction: Prediction) -> dict[str, Any] | None:
    """Return the number and the latest date of withdrawn sources of the answer, or None if none was withdrawn."""
    if not prediction.withdrawals:
        return None
    latest = serializers.DateTimeField().to_representation(prediction.withdrawals[0])
    return {"sources": len(prediction.withdrawals), "withdrawn_at": latest}


class SettledPredictionSerializer(serializers.ModelSerializer):
    """A row of the list: the question, the method and its errors. The answer is at `url`."""

    id = serializers.UUIDField(source="uid")
    url = row_url("api-prediction")
    private = serializers.SerializerMethodField()
    settlement = serializers.SerializerMethodField()

    class Meta:
        model = Prediction
        fields = (
            *("id", "url", "created_at", "private", "workload", "target", "method", "method_version", "revision"),
            "settlement",
        )
        read_only_fields = fields

    def get_private(self, prediction: Prediction) -> bool:
        return prediction.private_to_id is not None

    @extend_schema_field(SettlementSerializer(allow_null=True))
    def get_settlement(self, prediction: Prediction) -> dict[str, Any] | None:
        return settlement_document(prediction)


class SettledRowSerializer(serializers.Serializer):
    """A row of the list with flat columns for CSV."""

    def get_fields(self) -> dict[str, Any]:
        plain = [name for name in SettledPredictionSerializer.Meta.fields if name != "settlement"]
        return {name: serializers.CharField() for name in (*plain, *SETTLEMENT_FIELDS)}

    def to_representation(self, prediction: Prediction) -> dict[str, Any]:
        row = dict(SettledPredictionSerializer(prediction, context=self.context).data)
        return row | (row.pop("settlement") or dict.fromkeys(SETTLEMENT_FIELDS))


class PredictionFilter(FilterSet):
    settled = ChoiceFilter(("true",), method="keep_settled", help_text="true: only validated predictions.")
    mine = ChoiceFilter(("true",), method="keep_own", help_text="true: only your own predictions, validated or not.")
    origin = ChoiceFilter(PREDICTION_ORIGINS, field_name="settled_origin")
    blind = BooleanFilter(field_name="is_blind", help_text="true: only predictions that count for the track record.")
    method = TextFilter()
    workload = TextFilter(help_text="Slug of the workload.")
    target = TextFilter(help_text="Slug of the target platform.")

    class Meta:
        model = Prediction
        fields: tuple[str, ...] = ()

    def keep_settled(self, rows: QuerySet, _name: str, _value: str) -> QuerySet:
        return Prediction.objects.settled_for(self.request.user).filter(pk__in=rows.order_by().values("pk"))

    def keep_own(self, rows: QuerySet, _name: str, _value: str) -> QuerySet:
        if not self.request.user.is_authenticated:
            raise NotAuthenticated
        return Prediction.objects.mine(self.request.user).filter(pk__in=rows.order_by().values("pk"))


class ListedPredictions(GenericAPIView):
    """The queryset and serializers of the list: validated predictions, most recently validated first, and the user's
    own."""

    serializer_class = SettledPredictionSerializer
    csv_serializer_class = SettledRowSerializer
    filterset_class = PredictionFilter
    search_fields = ("workload", "target", "method")
    ordering_fields: ClassVar = SETTLED_ORDERINGS

    def get_queryset(self) -> Any:
        return Prediction.objects.listed_for(self.request.user).select_related("settled_by")

    def etag(self, queryset: Any) -> str:
        """Return an ETag that depends on the listed rows, because own predictions change without a new revision."""
        listed = Prediction.objects.listed_for(self.request.user).order_by()
        counted = listed.aggregate(Count("pk"), Max("pk"), Max("settled_at"))
        return database_etag(self.request, self.request.user.pk, *counted.values())


ScoreSerializer = inline_serializer(
    "Scores", {"origin": serializers.ChoiceField(PREDICTION_ORIGINS), "results": serializer_of(Score)(many=True)}
)
SCORED_ORIGIN = OneOf("origin", default=PREDICTION_ORIGINS[0], choices=PREDICTION_ORIGINS)


class ScoreView(ApiView):
    """Return the track record of each method: its errors on pairs that were not measured when it predicted them."""

    query_parameters: ClassVar[tuple[str, ...]] = ("origin",)

    @extend_schema(
        operation_id="predictions_score",
        summary="The track record",
        parameters=described(SCORED_ORIGIN),
        responses=ScoreSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        origin = SCORED_ORIGIN.read(request)
        newest = Prediction.objects.settled_for(request.user).aggregate(newest=Max("settled_at"))
        etag = database_etag(request, newest["newest"])
        return respond_unless_unchanged(
            request,
            etag,
            lambda: Response({"origin": origin, "results": [vars(score) for score in scores(request.user, origin)]}),
        )
