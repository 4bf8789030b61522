"""Workloads: the measured parallel sections."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from profiles.measurements import BOUNDS, STRATEGIES
from profiles.models.base import Described, bounds_constraint
from profiles.models.querysets import WorkloadQuerySet


class Workload(Described):
    """One parallel section of one program with one input, in one runtime.

    Times of a `relative` workload are in an unknown unit and can be compared only with each other.
    """

    class TimeKind(models.TextChoices):
        ABSOLUTE = "absolute"
        RELATIVE = "relative"

    slug = models.SlugField(max_length=200, unique=True)
    identity = models.CharField(
        max_length=64, db_index=True, editable=False, help_text="name + version + input + runtime"
    )
    spelling = models.CharField(
        max_length=64, db_index=True, editable=False, help_text="identity without case, spaces and punctuation"
    )
    name = models.CharField(max_length=200)
    application = models.CharField(max_length=200, null=True, blank=True, db_index=True)
    section = models.CharField(max_length=200, null=True, blank=True)
    strategy = models.CharField(max_length=30, default="unknown", choices=[(s, s) for s in STRATEGIES])
    runtime = models.CharField(max_length=50, null=True, blank=True)
    input = models.CharField(max_length=200, null=True, blank=True)
    version = models.CharField(max_length=50, null=True, blank=True)
    bound = models.CharField(max_length=20, null=True, blank=True, choices=[(b, b) for b in BOUNDS])
    description = models.TextField(null=True, blank=True)
    size = models.FloatField(null=True, blank=True, help_text="size of the input; runs of other sizes are variations")
    size_unit = models.CharField(max_length=50, null=True, blank=True)
    time_kind = models.CharField(max_length=10, choices=TimeKind, default=TimeKind.ABSOLUTE)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = WorkloadQuerySet.as_manager()

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["identity"], condition=Q(private_to=None), name="workload_public_identity"),
            models.UniqueConstraint(fields=["identity", "private_to"], name="workload_private_identity"),
            models.CheckConstraint(condition=Q(strategy__in=STRATEGIES), name="workload_known_strategy"),
            bounds_constraint("workload_in_bounds", "size"),
        ]

    def __str__(self) -> str:
        return self.name


class RegionLabel(models.Model):
    """A label that the owner of a program gave to one of its regions, for pages and API responses.

    The region is identified by application and section, as in uploads, so that the label also applies to later uploads
    and after publication. No identity depends on it.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="region_labels")
    application = models.CharField(max_length=200)
    section = models.CharField(max_length=200)
    label = models.CharField(max_length=80)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "application", "section"], name="region_one_label"),
            models.UniqueConstraint(fields=["owner", "application", "label"], name="region_label_once"),
        ]

    def __str__(self) -> str:
        return f"{self.application}/{self.section}: {self.label}"
