"""Sources of profiles, their visibility and descriptions, revision counters, and deliveries that are being stored."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from profiles.measurements import ORIGINS
from profiles.models.base import LeasedWork, Owned
from profiles.models.platforms import Platform
from profiles.models.querysets import DescriptionQuerySet, SourceQuerySet
from profiles.models.workloads import Workload

OPERATOR = "operator"  # a value of `Source.deliverer`


class Source(Owned, LeasedWork):
    """The origin of profiles: one tarball, one import of a dataset folder or of files of another tool, or one simulator
    run.

    A source is leased until other applications are notified (profiles.ingest.service).
    """

    class Kind(models.TextChoices):
        TARBALL = "tarball"
        DATASET = "dataset"
        SIMULATOR = "simulator"
        FILES = "files", "files of another tool"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=16, choices=Kind)
    origin = models.CharField(max_length=16, choices=[(o, o) for o in ORIGINS])
    label = models.CharField(max_length=200, help_text="file or folder name")
    sha256 = models.CharField(max_length=64)
    fingerprint = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_index=True,
        help_text="fingerprint of the hardware; empty: not in the tarball",
    )
    licence = models.TextField(blank=True)
    citation = models.TextField(blank=True, help_text="origin of the data as the dataset states it")
    note = models.TextField(blank=True)
    generator = models.CharField(max_length=200, blank=True)
    environment = models.JSONField(null=True, blank=True)
    log = models.TextField(blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="sources"
    )
    deliverer = models.CharField(
        max_length=40,
        blank=True,
        default="",
        editable=False,
        help_text="operator, or user:<id> of the owner; kept when the account is deleted",
    )
    is_established = models.BooleanField(
        db_default=True,
        editable=False,
        help_text="the owner's account was not new at the upload: its measurements may replace those of other owners",
    )
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    published_at = models.DateTimeField(
        null=True, editable=False, help_text="when its owner made it public; null: visibility unchanged"
    )

    objects = SourceQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["sha256", "owner"], name="source_once_per_owner"),
            models.UniqueConstraint(fields=["sha256"], condition=Q(owner=None), name="source_once_without_owner"),
            models.CheckConstraint(
                condition=~Q(origin="emulated") | Q(private_to__isnull=False), name="source_emulated_is_private"
            ),
        ]

    def __str__(self) -> str:
        return self.label


def deliverer_of(owner: Any, *, private: bool) -> str:
    """Return the deliverer of a delivery: the operator or the owner.

    The operator delivers if there is no owner, or if the owner is a moderator and the delivery is public.
    """
    if owner is None:
        return OPERATOR
    moderates = not private and owner.is_staff and owner.has_perm("profiles.change_platform")
    return OPERATOR if moderates else f"user:{owner.pk}"


class FormerSlug(models.Model):
    """The slug of a private row that was published. Its URL leads to the public row."""

    noun = models.CharField(max_length=10, choices=[("platform", "platform"), ("workload", "workload")])
    slug = models.CharField(max_length=200, unique=True)
    leads_to = models.CharField(max_length=200, help_text="slug of the public row")

    def __str__(self) -> str:
        return f"{self.noun} {self.slug}, now {self.leads_to}"


class WithdrawnSource(models.Model):
    """A public delivery that was withdrawn. Its uid is kept, so that predictions stored with this uid can be marked."""

    uid = models.UUIDField(unique=True, editable=False)
    withdrawn_at = models.DateTimeField(auto_now_add=True)
    key = models.BigIntegerField(
        null=True, db_index=True, editable=False, help_text="primary key of a source that was replaced"
    )
    replaced_by = models.ForeignKey(
        Source,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="replaced",
        help_text="a later delivery of the same measurements: cited instead until snapshots contain it",
    )

    def __str__(self) -> str:
        return f"{self.uid}, withdrawn {self.withdrawn_at:%Y-%m-%d}"


class VerdictChange(models.Model):
    """Public profiles that entered or left predictions by a new verdict, in order, within one generation.

    An earlier snapshot is up to date once these profiles are read again.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    profiles = models.JSONField(help_text="primary keys")

    def __str__(self) -> str:
        return f"{len(self.profiles)} profiles"


class Revision(models.Model):
    """A counter of changes to the data that predictions may use: one public counter, and one per owner of private
    profiles.

    Private changes raise the owner's counter only, so that other users cannot infer them from a number.
    """

    PUBLIC = "public"

    key = models.CharField(max_length=40, unique=True, help_text="public, or user:<id>")
    number = models.PositiveBigIntegerField(default=0)
    oldest_answering = models.PositiveBigIntegerField(
        default=0, help_text="number of the last removal: states before it must not answer requests"
    )
    generation = models.UUIDField(
        default=uuid.uuid4, editable=False, help_text="changes with every change that is not an addition"
    )

    def __str__(self) -> str:
        return f"{self.key} {self.number}"

    @classmethod
    def key_of(cls, owner: Any) -> str:
        return cls.PUBLIC if owner is None else f"user:{owner.pk}"

    @classmethod
    def hold(cls) -> None:
        """Lock the public counter until the caller's transaction ends, so that deliveries are stored one at a time."""
        cls.objects.select_for_update().get_or_create(key=cls.PUBLIC)

    @classmethod
    def raise_for(
        cls, owner: Any, *, only_adds: bool = False, judged: Sequence[int] = (), takes_away: bool = True
    ) -> int:
        """Add one to the public counter (owner None) or to an owner's, inside the caller's transaction, and return the
        new number.

        `only_adds` means that nothing was hidden, changed or removed. `judged` means that the only change is that these
        public profiles entered or left predictions. `takes_away` False means that everybody who saw the previous state
        may still see it. In these three cases the previous state remains in use until the new one is read.
        """
        row, _ = cls.objects.select_for_update().get_or_create(key=cls.key_of(owner))
        row.number += 1
        if judged:
            VerdictChange.objects.create(profiles=list(judged))
        elif not only_adds:
            row.begin_generation()
            row.oldest_answering = row.number if takes_away else row.oldest_answering
        row.save(update_fields=["number", "oldest_answering", "generation"])
        return row.number

    def begin_generation(self) -> None:
        """Start a new generation. Snapshots of earlier generations are not extended, and all rows are read again."""
        self.generation = uuid.uuid4()
        if self.key == self.PUBLIC:
            VerdictChange.objects.all().delete()

    @classmethod
    def current(cls, user: Any = None) -> tuple[int, int]:
        """Return (public number, number of the user's private changes), the key of all data that the user may see."""
        return cls._pair(user, "number")

    @classmethod
    def oldest(cls, user: Any = None) -> tuple[int, int]:
        """Return the oldest pair of `current` after which nothing that the user may see was taken away."""
        return cls._pair(user, "oldest_answering")

    @classmethod
    def public_generation(cls) -> str:
        """Return the public generation. Results from public rows remain valid within it, except for later
        deliveries."""
        return str(cls.objects.filter(key=cls.PUBLIC).values_list("generation", flat=True).first() or "")

    @classmethod
    def _pair(cls, user: Any, column: str) -> tuple[int, int]:
        key = cls.key_of(user) if user is not None and user.is_authenticated else ""
        numbers = dict(cls.objects.filter(key__in=[cls.PUBLIC, key]).values_list("key", column))
        return numbers.get(cls.PUBLIC, 0), numbers.get(key, 0)


class StagedDelivery(LeasedWork):
    """A delivery that is being stored or deleted.

    Its runs, readings, curves and features have ids of profiles that do not exist, so that no query selects them. The
    transaction that stores the profiles deletes this row. If the lease expires before, `profiles.ingest.staging`
    deletes the staged rows.
    """

    first_profile = models.PositiveBigIntegerField()
    last_profile = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"profiles {self.first_profile} to {self.last_profile}"


class Description(models.Model):
    """A delivery's description of a row, authoritative or not, from which the facts of the row can be recomputed.

    profiles.identity.descriptions does this.
    """

    facts = models.JSONField(default=dict, help_text="the values of all known columns in the delivery")
    differs = models.BooleanField(default=False, help_text="some values differ from the row")
    differences = models.JSONField(default=list, help_text="the columns that differ: [column, value in the delivery]")

    objects = DescriptionQuerySet.as_manager()

    class Meta:
        abstract = True


class PlatformDescription(Description):
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="platform_descriptions")
    platform = models.ForeignKey(Platform, on_delete=models.CASCADE, related_name="descriptions")

    class Meta:
        indexes = [models.Index(fields=["platform"], condition=Q(differs=True), name="platform_differences")]

    def __str__(self) -> str:
        return f"{self.platform} by {self.source}"


class WorkloadDescription(Description):
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="workload_descriptions")
    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="descriptions")

    class Meta:
        indexes = [models.Index(fields=["workload"], condition=Q(differs=True), name="workload_differences")]

    def __str__(self) -> str:
        return f"{self.workload} by {self.source}"
