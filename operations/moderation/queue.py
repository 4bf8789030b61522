"""The moderators' queue: reports of visitors, and findings in the database.

A row stays in its part of the queue until a moderator removes or hides it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.urls import reverse
from django.utils.html import format_html

from mpet_site.web.tables import text_link
from predictor.models import Prediction
from profiles.judgement.usability import newest_unusable, set_why_unusable
from profiles.models import ModerationEntry, Platform, Profile, Source, VisitorReport

CONTRADICTED = (Profile.Judge.COMPUTED, Profile.Judge.DIFFERS)
# An upload is in the queue if at least one in this many runs was disturbed, or one in this many profiles is an outlier.
ODD_SHARE = 4
AGREES_TOO_WELL = "It is closer to a prediction of its pair than its repeats are to each other."


@dataclass(frozen=True)
class QueueItem:
    """A row of the queue: its key, what it is about, why it is in the queue, and the possible actions."""

    key: int
    title: str
    why: str
    at: datetime
    steps: Sequence[tuple[str, str]]  # label, address


@dataclass(frozen=True)
class QueuePart:
    """A part of the queue.

    `find` returns the rows that no moderator has removed. `is_counted` is false where counting needs more than a query.
    """

    name: str
    title: str
    hint: str
    model: Any
    find_all: Callable[[], QuerySet[Any]]
    show: Callable[[Any], QueueItem]
    is_counted: bool = True
    prepare: Callable[[Sequence[Any]], None] = lambda rows: None

    def find(self) -> QuerySet[Any]:
        handled = ModerationEntry.objects.standing().filter(action=ModerationEntry.Action.HANDLE, queue=self.name)
        return self.find_all().exclude(pk__in=handled.values("subject_key"))

    @property
    def count(self) -> int:
        return self.find().count()


def shown_profiles() -> QuerySet[Profile]:
    return Profile.objects.visible_to(None).select_related("platform", "workload", "source")


def odd_uploads() -> QuerySet[Source]:
    """Return public uploads with many runs disturbed by other programs, or many profiles that contradict the rest."""
    judged = Q(profiles__disturbed_count__isnull=False)
    counted = (
        Source.objects.visible_to(None)
        .filter(kind__in=(Source.Kind.TARBALL, Source.Kind.FILES))
        .annotate(
            all_profiles=Count("profiles"),
            outliers=Count("profiles", filter=Q(profiles__outlier_judge__in=CONTRADICTED)),
            judged_runs=Sum("profiles__run_count", filter=judged),
            disturbed_runs=Sum("profiles__disturbed_count"),
        )
    )
    is_disturbed = Q(disturbed_runs__gt=0, judged_runs__lte=ODD_SHARE * F("disturbed_runs"))
    is_implausible = Q(outliers__gt=0, all_profiles__lte=ODD_SHARE * F("outliers"))
    return counted.filter(is_disturbed | is_implausible).select_related("upload").order_by("-pk")


def agreeing_profiles() -> QuerySet[Profile]:
    close = Prediction.objects.public().filter(doubt=Prediction.Doubt.TOO_CLOSE)
    return shown_profiles().filter(pk__in=close.values("settled_by")).order_by("-pk")


def steps_of_platform(platform: Platform) -> list[tuple[str, str]]:
    return [
        ("Merge", reverse("moderate-merge", args=[platform.slug])),
        ("Change facts", reverse("admin:profiles_platform_change", args=[platform.pk])),
    ]


def steps_of_profile(profile: Profile) -> list[tuple[str, str]]:
    return [
        ("Judge", reverse("moderate-profile", args=[profile.uid])),
        ("Hide its delivery", reverse("moderate-delivery", args=[profile.source.uid])),
    ]


def name_profile(profile: Profile) -> str:
    name = f"{profile.workload.name} on {profile.platform.name}"
    return text_link(reverse("profile", args=[profile.uid]), name)


def name_platform(platform: Platform) -> str:
    return text_link(reverse("platform", args=[platform.slug]), platform.name)


def name_delivery(source: Source) -> str:
    upload = getattr(source, "upload", None)
    label = source.label or f"delivery {source.pk}"
    return text_link(reverse("upload-report", args=[upload.uid]), label) if upload else format_html("{}", label)


def show_report(report: VisitorReport) -> QueueItem:
    row = report.subject
    is_platform = isinstance(row, Platform)
    title = name_platform(row) if is_platform else name_profile(row)
    steps = steps_of_platform(row) if is_platform else steps_of_profile(row)
    return QueueItem(report.pk, title, report.text, report.created_at, steps)


def show_platform(platform: Platform) -> QueueItem:
    facts = (platform.vendor, platform.cpu_model, f"{platform.n_max} threads")
    why = ", ".join(text for text in facts if text)
    return QueueItem(platform.pk, name_platform(platform), why, platform.created_at, steps_of_platform(platform))


def show_profile(profile: Profile, why: str) -> QueueItem:
    return QueueItem(profile.pk, name_profile(profile), why, profile.created_at, steps_of_profile(profile))


def show_upload(source: Any) -> QueueItem:
    why = []
    if source.disturbed_runs:
        why.append(f"{source.disturbed_runs} of {source.judged_runs} runs were disturbed by other programs")
    if source.outliers:
        why.append(f"{source.outliers} of {source.all_profiles} profiles are outliers")
    steps = [("Hide it", reverse("moderate-delivery", args=[source.uid]))]
    return QueueItem(source.pk, name_delivery(source), "; ".join(why), source.created_at, steps)


QUEUE = (
    QueuePart(
        "reports",
        "Reports",
        "Errors that visitors reported.",
        VisitorReport,
        lambda: VisitorReport.objects.with_subject().prefetch_related("profile__source"),
        show_report,
    ),
    QueuePart(
        "platforms",
        "New machines",
        "Machines that came with a user's upload. Merge those that are known under another name.",
        Platform,
        lambda: Platform.objects.visible_to(None).filter(facts_by__startswith="user:").order_by("-pk"),
        show_platform,
    ),
    QueuePart(
        "uploads",
        "Odd uploads",
        "At least a quarter of the runs were disturbed by other programs, or of the profiles are outliers.",
        Source,
        odd_uploads,
        show_upload,
    ),
    QueuePart(
        "outliers",
        "Outliers",
        "Profiles that contradict the rest, or another owner's measurement of the same pair. Predictions exclude "
        "them. Profiles that you accept are preferred to other owners' measurements.",
        Profile,
        lambda: shown_profiles().filter(outlier_judge__in=CONTRADICTED).order_by("-pk"),
        lambda profile: show_profile(profile, profile.outlier_reason),
    ),
    QueuePart(
        "agreeing",
        "Agree too well",
        "Measurements that are closer to a prediction than their repeats are to each other. The track record "
        "excludes them.",
        Profile,
        agreeing_profiles,
        lambda profile: show_profile(profile, AGREES_TOO_WELL),
    ),
    QueuePart(
        "refused",
        "Unusable profiles",
        "Profiles that predictions exclude because nothing can be computed from their stored numbers. This page reads "
        "all profiles, which takes a while if there are many.",
        Profile,
        lambda: newest_unusable(shown_profiles()).order_by("-pk"),
        lambda profile: show_profile(profile, profile.why_unusable),
        is_counted=False,
        prepare=set_why_unusable,
    ),
)
QUEUE_PARTS = {part.name: part for part in QUEUE}
