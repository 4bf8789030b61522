"""Stored predictions, and their errors once their pairs are measured."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils.functional import cached_property

from profiles.models import Profile, WithdrawnSource
from profiles.models.querysets import VisibleQuerySet

# A profile that predictions leave out in favour of another owner's measurement may still validate a prediction.
OF_DOUBTFUL = Q(
    settled_by__outlier_reason__gt="",
    settled_by__outlier_judge__in=["", *(code for code in Profile.Judge if code != Profile.Judge.SECOND)],
)
TO_SETTLE = Q(settled_at=None) | Q(settled_by__hidden=True) | OF_DOUBTFUL


class PredictionQuerySet(VisibleQuerySet):
    def asked_by(self, user: Any) -> Self:
        """Return the user's own predictions: the user's private ones, and the public ones that the user asked for."""
        return self.filter(self._is_own(user))

    def _is_own(self, user: Any) -> Q:
        by_user = AskedPrediction.objects.filter(user_id=user.pk, prediction=OuterRef("pk"))
        return Q(private_to=user.pk) | Q(Exists(by_user))

    def mine(self, user: Any) -> Self:
        """Return the list of the user's own predictions, the newest first, without the long answers."""
        return self.asked_by(user).defer("answer").order_by("-created_at", "-pk")

    def listed_for(self, user: Any) -> Self:
        """Return the validated predictions that the user sees, the last validated first, and then the user's own."""
        if not user.is_authenticated:
            return self.settled_for(user)
        rows = self.visible_to(user).filter(self._is_own(user) | ~TO_SETTLE)
        return rows.defer("answer").order_by(F("settled_at").desc(nulls_last=True), "-pk")

    def settled(self) -> Self:
        """Return the validated predictions, as `Prediction.is_settled` defines them."""
        return self.exclude(TO_SETTLE)

    def to_settle(self) -> Self:
        """Return the predictions that are not validated, or no longer, and those validated by a measurement that does
        not count for the track record because of its owner."""
        return self.filter(TO_SETTLE | Q(doubt__gt=""))

    def settled_for(self, user: Any, origin: str = "") -> Self:
        """Return the validated predictions that the user sees, the last validated first, without the long answers."""
        rows = self.visible_to(user).settled()
        if origin:
            rows = rows.filter(settled_origin=origin)
        return rows.defer("answer").order_by("-settled_at", "-pk")

    def settled_origins(self, user: Any) -> set[str]:
        rows = self.visible_to(user).settled()
        return set(rows.order_by().values_list("settled_origin", flat=True).distinct())


class Prediction(models.Model):
    """One stored answer. It never changes, even if the database does.

    Its errors are added once the pair has been measured (predictor.accuracy.settlement).
    """

    class Doubt(models.TextChoices):
        ASKED = "asked", "its owner had asked for the prediction"
        NEW_ACCOUNT = "new", "it came from a new account"
        TOO_CLOSE = "close", "it agrees with the prediction more closely than its repeats with each other"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    private_to = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    request_key = models.CharField(
        max_length=64, db_index=True, help_text="sha256 of request, method version, revision, viewer"
    )
    workload = models.CharField(max_length=200, db_index=True, help_text="slug")
    target = models.CharField(max_length=200, db_index=True, help_text="slug")
    method = models.CharField(max_length=50)
    method_version = models.CharField(max_length=20)
    revision = models.PositiveBigIntegerField()
    answer = models.JSONField(help_text="answer of the API, without id and url")
    source_uids = models.JSONField(
        null=True, editable=False, help_text="UUIDs of the deliveries that it is based on; null: not recorded"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    settled_at = models.DateTimeField(
        null=True, editable=False, help_text="time of the validation; null: not validated"
    )
    settled_by = models.ForeignKey(
        Profile,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="profile that validated it",
    )
    settled_origin = models.CharField(
        max_length=16, blank=True, default="", editable=False, help_text="origin of that profile"
    )
    is_blind = models.BooleanField(
        default=False, editable=False, help_text="the pair had not been measured before: it counts for the track record"
    )
    doubt = models.CharField(
        max_length=10,
        choices=Doubt,
        blank=True,
        db_default="",
        editable=False,
        help_text="why the first measurement of the pair does not count for the track record",
    )
    error_full = models.FloatField(null=True, editable=False, help_text="mean relative error over the measured n")
    error_t1 = models.FloatField(null=True, editable=False)
    error_scaling = models.FloatField(null=True, editable=False)
    points = models.PositiveIntegerField(null=True, editable=False, help_text="number of measured n with an interval")
    points_inside = models.PositiveIntegerField(null=True, editable=False)

    objects = PredictionQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(fields=["workload", "target"], name="prediction_pair"),
            models.Index(
                fields=["settled_origin", "method"], condition=Q(settled_at__isnull=False), name="prediction_settled"
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["request_key"], name="prediction_once_per_request"),
        ]

    def __str__(self) -> str:
        return f"{self.workload} on {self.target} by {self.method}"

    @property
    def is_settled(self) -> bool:
        """Return whether the pair was measured later, and that measurement is neither hidden nor an outlier."""
        by = self.settled_by
        return self.settled_at is not None and not (by and (by.hidden or by.is_doubtful))

    @cached_property
    def withdrawals(self) -> list[datetime]:
        """Return when deliveries behind the prediction were withdrawn, the latest first."""
        withdrawn = WithdrawnSource.objects.filter(uid__in=self.source_uids or [])
        return list(withdrawn.order_by("-withdrawn_at").values_list("withdrawn_at", flat=True))


class AskedPrediction(models.Model):
    """A user's request for a stored prediction, which puts it on the list of the user's own predictions."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    prediction = models.ForeignKey(Prediction, on_delete=models.CASCADE, related_name="askers")
    is_first = models.BooleanField(help_text="whether the answer was computed for this user")
    asked_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "prediction"], name="asked_once_per_user")]

    def __str__(self) -> str:
        return f"{self.prediction} for {self.user}"
