"""Uploads: the files that users send, and what was stored from them."""

import uuid
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from benchmarks.archive import ArchiveError
from benchmarks.formats.deliveries import ForeignReading
from profiles.models import LeasedQuerySet, LeasedWork, Profile, Source

KNOWN_SUFFIXES = (".json", ".jsonl", ".csv", ".xml", ".txt")


def report_entry(reason: str, member: str | None = None, line: int | None = None) -> dict[str, Any]:
    """Return an error of an upload's report: the reason, and its place in the tarball."""
    return {"member": member, "line": line, "reason": reason}


def error_entries(error: ArchiveError) -> list[dict[str, Any]]:
    """Return the errors of a report on a refused file. If some problems are not listed, the last error is their
    number."""
    entries = [report_entry(problem.reason, problem.member, problem.line) for problem in error.problems]
    return [*entries, report_entry(f"and {error.more} more")] if error.more else entries


class LeaseLostError(Exception):
    """Another process claimed the upload, or it was deleted, so that nothing was written."""


class UploadQuerySet(LeasedQuerySet):
    def waiting(self) -> Self:
        return self.filter(status__in=Upload.WAITING)

    def readable_by(self, user: Any) -> Self:
        """Return the user's own uploads, and those of others that are accepted, public and not hidden."""
        published = Q(
            visibility=Upload.Visibility.PUBLIC,
            status=Upload.Status.ACCEPTED,
            source__isnull=False,
            source__private_to__isnull=True,
            source__hidden=False,
        )
        is_owner = Q(owner=user) if user.is_authenticated else Q()
        return self.filter(published | is_owner).select_related("source")

    def listed_for(self, user: Any) -> Self:
        """Return the user's own uploads, each annotated with its number of profiles."""
        profiles = Profile.objects.visible_to(user).filter(source=OuterRef("source")).order_by()
        counted = profiles.values("source").annotate(over=Count("pk")).values("over")
        return (
            self.filter(owner_id=user.pk)
            .select_related("source")
            .annotate(profile_count=Coalesce(Subquery(counted), 0))
        )


class Upload(LeasedWork):
    """A results tarball or a file of another tool that a user sent. The row exists as soon as the file has arrived.
    `source` is the delivery that was stored from it."""

    class Status(models.TextChoices):
        RECEIVED = "received"
        PROCESSING = "processing"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    WAITING = (Status.RECEIVED, Status.PROCESSING)

    class Visibility(models.TextChoices):
        PUBLIC = "public"
        PRIVATE = "private"

    class Licence(models.TextChoices):
        """The licence under which others may use the measurements. Pages and the API show these labels."""

        CC_BY = "CC BY 4.0", "CC BY 4.0: name the source"
        CC0 = "CC0", "CC0: no conditions"
        ODBL = "ODbL", "ODbL: name the source, share derived databases alike"
        AS_SOURCE = "as the source says", "As the source says"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="uploads"
    )
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.PUBLIC)
    licence = models.CharField(max_length=20, choices=Licence, default=Licence.AS_SOURCE)
    form = models.CharField(
        max_length=30, blank=True, default="", help_text="Key of benchmarks.formats.FORMATS; empty: a results tarball."
    )
    reading = models.JSONField(
        null=True, blank=True, help_text="For a file of another tool: its columns, and the platform or null."
    )
    status = models.CharField(max_length=12, choices=Status, default=Status.RECEIVED)
    filename = models.CharField(max_length=255)
    commit = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="Commit of the measured program in its own repository.",
    )
    branch = models.CharField(max_length=255, blank=True, default="", db_default="", help_text="Branch of the commit.")
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
        """Whether a moderator hid the delivery (profiles.moderation)."""
        return self.source is not None and self.source.hidden

    @property
    def file_is_there(self) -> bool:
        """Whether the file is stored. False also if the row names a file that is missing."""
        return bool(self.file) and self.file.storage.exists(str(self.file.name))

    @property
    def file_suffix(self) -> str:
        """The suffix of the file: that of a results tarball, of a file of another tool, or of an archive of several
        files."""
        if not self.form:
            return ".tar.gz"
        suffix = PurePath(self.filename).suffix.lower()
        return ".tar" if (self.reading or {}).get("packed") else suffix if suffix in KNOWN_SUFFIXES else ".txt"

    @property
    def foreign_reading(self) -> ForeignReading | None:
        """How to read a file of another tool, or None for a results tarball."""
        return None if self.reading is None else ForeignReading.of_document(self.form, self.reading)

    @property
    def waits(self) -> bool:
        return self.status in self.WAITING

    def claim_to_process(self) -> bool:
        """Claim the upload for processing. Return False if it is not waiting or another process has claimed it."""
        return self.claim(only=Q(status__in=self.WAITING), status=self.Status.PROCESSING)

    def reject(self, errors: list[dict[str, Any]]) -> Self:
        """Reject the upload and delete its file. If the process is killed before the deletion, the file is swept
        later."""
        name = self.file.name
        self.source, self.file = None, ""
        self.finish(self.Status.REJECTED, errors, [])
        if name:
            self.file.storage.delete(name)
        return self

    def finish(self, status: str, errors: list[dict[str, Any]], warnings: list[str]) -> Self:
        """Store the result and release the lease. Raises LeaseLostError if another process has claimed the upload."""
        self.status = status
        self.report = {"errors": errors, "warnings": warnings}
        self.finished_at = timezone.now()
        if self.pk is None:
            self.save()
            return self
        names = ("status", "report", "finished_at", "visibility", "source", "file")
        if not self.release(**{name: getattr(self, name) for name in names}):
            raise LeaseLostError
        return self


class FetchedFolder(models.Model):
    """A folder of a public source that `manage.py fetch_data` stored, and the delivery that contains it."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="fetched_folders")
    public_source = models.CharField(max_length=50, help_text="Key of benchmarks.public_data.SOURCES.")
    folder = models.CharField(max_length=300)
    sha256 = models.CharField(max_length=64, help_text="SHA-256 of the files and of the version of their reader.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["public_source", "folder"], name="fetched_folder_once")]

    def __str__(self) -> str:
        return f"{self.public_source} {self.folder}"


class Quarantine(LeasedWork):
    """An upload that was sent without an account. It belongs to `holder`, a user created for it who cannot sign in, so
    that it is as private as every private upload. Whoever has the secret can read and claim it.

    It ends once. Once `ended_at` is set, the upload is no longer available, and belongs to `claimed_by` if a user
    claimed it. The remaining steps take several transactions, during which a process holds the lease.
    """

    holder = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="quarantine")
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256 of the secret.")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    ended_at = models.DateTimeField(
        null=True, editable=False, db_index=True, help_text="Time of the claim, or at which the deletion began."
    )
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    # The previous release inserts rows without this column while both releases are serving.
    attempts = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    objects = LeasedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"of {self.created_at:%Y-%m-%d}"

    @property
    def upload(self) -> Upload | None:
        return Upload.objects.filter(owner=self.holder_id).select_related("source").first()

    @property
    def expires_at(self) -> datetime:
        return self.created_at + timedelta(days=settings.QUARANTINE_DAYS)
