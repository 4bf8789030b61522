"""Descriptions of platforms and workloads by deliveries (profiles.identity.descriptions)."""

from django.db import models
from django.db.models import Q

from profiles.models.platforms import Platform
from profiles.models.querysets import DescriptionQuerySet
from profiles.models.sources import Source
from profiles.models.workloads import Workload


class Description(models.Model):
    """A delivery's description of a row, authoritative or not, from which the facts of the row can be recomputed."""

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
