"""Uploads: what somebody sent, and what came of it."""

import uuid
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from profiles.models import Profile, Source


def report_entry(reason: str, member: str | None = None, line: int | None = None) -> dict[str, Any]:
    """An error of an upload's report: what is wrong, and where in the tarball."""
    return {"member": member, "line": line, "reason": reason}


class UploadQuerySet(models.QuerySet):
    def readable_by(self, user: Any) -> Self:
        """The user's own uploads; of others those that were accepted and are public."""
        published = Q(
            visibility=Upload.Visibility.PUBLIC,
            status=Upload.Status.ACCEPTED,
            source__isnull=False,
            source__private_to__isnull=True,
            source__hidden=False,
        )
        own = Q(owner=user) if user.is_authenticated else Q()
        return self.filter(published | own).select_related("source")

    def listed_for(self, user: Any) -> Self:
        """The user's own uploads, each with how many profiles came of it."""
        profiles = Profile.objects.visible_to(user).filter(source=OuterRef("source")).order_by()
        counted = profiles.values("source").annotate(over=Count("pk")).values("over")
        return (
            self.filter(owner_id=user.pk)
            .select_related("source")
            .annotate(profile_count=Coalesce(Subquery(counted), 0))
        )


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

    objects = UploadQuerySet.as_manager()

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

    @property
    def hidden(self) -> bool:
        """A moderator hid what came of it (profiles.moderation)."""
        return self.source is not None and self.source.hidden

    @property
    def waits(self) -> bool:
        return self.status in {self.Status.RECEIVED, self.Status.PROCESSING}

    def reject(self, errors: list[dict[str, Any]]) -> Self:
        """Nothing came of it; its file is not kept."""
        if self.file:
            self.file.delete(save=False)
        self.source = None
        return self.finish(self.Status.REJECTED, errors, [])

    def finish(self, status: str, errors: list[dict[str, Any]], warnings: list[str]) -> Self:
        self.status = status
        self.report = {"errors": errors, "warnings": warnings}
        self.finished_at = timezone.now()
        self.save()
        return self
