import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from profiles.models import Source


class Upload(models.Model):
    """One results tarball that somebody sent, from the moment it arrives; what came out of it is its `source`."""

    class Status(models.TextChoices):
        RECEIVED = "received"
        PROCESSING = "processing"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    class Visibility(models.TextChoices):
        PUBLIC = "public"
        PRIVATE = "private"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="uploads"
    )
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.PUBLIC)
    status = models.CharField(max_length=12, choices=Status, default=Status.RECEIVED)
    filename = models.CharField(max_length=255)
    file = models.FileField(upload_to="uploads/", blank=True)
    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField()
    report = models.JSONField(default=dict)
    source = models.OneToOneField(Source, null=True, blank=True, on_delete=models.SET_NULL, related_name="upload")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["sha256", "owner"], condition=~Q(status="rejected"), name="upload_once_per_owner"
            ),
            models.UniqueConstraint(
                fields=["sha256"], condition=Q(owner=None) & ~Q(status="rejected"), name="upload_once_without_owner"
            ),
        ]

    def __str__(self) -> str:
        return self.filename
