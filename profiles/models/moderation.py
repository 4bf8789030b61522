"""Log of moderators' actions, and reports of visitors."""

from __future__ import annotations

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q

from profiles.models.platforms import Platform
from profiles.models.profiles import Profile

LONGEST_DECISION_REASON = 500
LONGEST_REPORT = 2_000


class ModerationEntryQuerySet(models.QuerySet):
    def standing(self) -> Self:
        """Return the entries that were not undone."""
        return self.filter(undone_by=None)


class ModerationEntry(models.Model):
    """One action of a moderator, written in the same transaction as the action and never changed.

    The subject is stored as a key only, so that nothing remains here when its owner deletes it.
    """

    class Action(models.TextChoices):
        HIDE = "hide", "hid"
        SHOW = "show", "showed again"
        MERGE = "merge", "merged into another"
        SEPARATE = "separate", "separated from another"
        FACTS = "facts", "decided on facts of"
        OUTLIER = "outlier", "decided whether predictions use"
        HANDLE = "handle", "took off the queue"
        REOPEN = "reopen", "put back into the queue"

    class Subject(models.TextChoices):
        SOURCE = "source", "delivery"
        PLATFORM = "platform", "platform"
        WORKLOAD = "workload", "workload"
        PROFILE = "profile", "profile"
        REPORT = "report", "report"

    at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="null: deleted account",
    )
    action = models.CharField(max_length=10, choices=Action)
    subject_kind = models.CharField(max_length=10, choices=Subject)
    subject_key = models.BigIntegerField()
    queue = models.CharField(
        max_length=20, blank=True, default="", help_text="part of the queue, for the action HANDLE"
    )
    reason = models.CharField(max_length=LONGEST_DECISION_REASON)
    before = models.JSONField(default=dict, help_text="data that undoing needs")
    after = models.JSONField(default=dict)
    undoes = models.OneToOneField(
        "self",
        null=True,
        on_delete=models.CASCADE,
        related_name="undone_by",
        help_text="the entry that this entry undoes",
    )

    objects = ModerationEntryQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["subject_kind", "subject_key"], name="moderation_of_subject")]
        constraints = [models.CheckConstraint(condition=~Q(reason=""), name="moderation_has_a_reason")]
        permissions = [("moderate", "Can see the moderators' queue and log, and undo")]

    def __str__(self) -> str:
        return f"{self.action} {self.subject_kind} {self.subject_key}"


class VisitorReportQuerySet(models.QuerySet):
    def with_subject(self) -> Self:
        """Return the reports with a platform or profile that still exists."""
        platform = Platform.objects.filter(pk=OuterRef("platform"))
        profile = Profile.objects.filter(pk=OuterRef("profile"))
        rows = self.filter(Exists(platform) | Exists(profile))
        return rows.select_related("platform", "profile__platform", "profile__workload")


class VisitorReport(models.Model):
    """A visitor's report of a fault in a public platform or profile. No data about the visitor is stored.

    The foreign keys have no database constraint, so that a version without this table can delete the rows that they
    reference.
    """

    platform = models.ForeignKey(
        Platform, null=True, on_delete=models.CASCADE, related_name="visitor_reports", db_constraint=False
    )
    profile = models.ForeignKey(
        Profile, null=True, on_delete=models.CASCADE, related_name="visitor_reports", db_constraint=False
    )
    text = models.CharField(max_length=LONGEST_REPORT)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = VisitorReportQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(platform__isnull=True) ^ Q(profile__isnull=True), name="visitor_report_of_one_row"
            )
        ]

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def subject(self) -> Any:
        return self.platform or self.profile
