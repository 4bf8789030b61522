import uuid

from django.conf import settings
from django.db import models

from profiles.querysets import VisibleQuerySet


class Prediction(models.Model):
    """One answer, kept as it was given: it never changes, whatever the database learns later."""

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
    answer = models.JSONField(help_text="the whole answer of the API, less id and url")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = VisibleQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["request_key"], name="prediction_once_per_request"),
        ]

    def __str__(self) -> str:
        return f"{self.workload} on {self.target} by {self.method}"
