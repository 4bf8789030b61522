"""What moderators did and why, and what visitors say is wrong."""

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
        """Those that nobody took back."""
        return self.filter(undone_by=None)


class ModerationEntry(models.Model):
    """One thing that a moderator did: written with it in one transaction, and never changed. What it is about is named
    by its key alone, so that nothing is left here of what its owner deletes."""

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
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", help_text="null: gone since"
    )
    action = models.CharField(max_length=10, choices=Action)
    subject_kind = models.CharField(max_length=10, choices=Subject)
    subject_key = models.BigIntegerField()
    queue = models.CharField(max_length=20, blank=True, default="", help_text="which part of the queue, of HANDLE")
    reason = models.CharField(max_length=LONGEST_DECISION_REASON)
    before = models.JSONField(default=dict, help_text="what is needed to take it back")
    after = models.JSONField(default=dict)
    undoes = models.OneToOneField(
        "self",
        null=True,
        on_delete=models.CASCADE,
        related_name="undone_by",
        help_text="the entry that this takes back",
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
        """Those whose platform or profile is there still."""
        platform = Platform.objects.filter(pk=OuterRef("platform"))
        profile = Profile.objects.filter(pk=OuterRef("profile"))
        rows = self.filter(Exists(platform) | Exists(profile))
        return rows.select_related("platform", "profile__platform", "profile__workload")


class VisitorReport(models.Model):
    """What a visitor says is wrong with a public platform or profile. Nothing of the visitor is kept. The database
    holds nothing to these keys, so that a version which does not know this table may delete rows beside this one."""

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
