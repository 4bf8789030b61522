"""Evaluations: the errors of the methods on public profiles, which everybody may see."""

from __future__ import annotations

import uuid
from typing import Any, Self

from django.db import models
from django.db.models import Prefetch, Q, QuerySet

from profiles.models.base import ArrayField

PAPER_TABLES = ("table5", "figure10", "figure11", "influence", "ablation")


class EvaluationQuerySet(QuerySet):
    def listed(self) -> Self:
        """Return the rows of the list, without pairs and errors, which can be long."""
        return self._with_methods("errors_full", "errors_t1", "errors_scaling").defer("pairs")

    def newest_with_baselines(self) -> Any:
        """Return the newest evaluation that includes baselines, else the newest one; None if there is none."""
        return self.filter(methods__is_baseline=True).distinct().first() or self.first()

    def with_errors(self) -> Self:
        """Return evaluations with all errors, for the page and the CSV of one evaluation."""
        return self._with_methods()

    def history(self, origin: str, holdout: str, probes: int | None) -> list[dict[str, Any]]:
        """Return the statistics of every method in comparable evaluations, oldest first: revision, name, version,
        statistics and time."""
        rows = self.filter(origin=origin, holdout=holdout, probes=probes).order_by("revision", "created_at", "pk")
        columns = ("revision", "created_at", "uid", "methods__name", "methods__version", "methods__statistics")
        return list(rows.values(*columns))

    def _with_methods(self, *deferred: str) -> Self:
        methods = EvaluatedMethod.objects.defer(*deferred).order_by("position")
        return self.prefetch_related(Prefetch("methods", queryset=methods))


class Evaluation(models.Model):
    """The errors of methods on the public profiles of one revision, stored with their pairs and statistics."""

    class Origin(models.TextChoices):
        MEASURED = "measured"
        SIMULATED = "simulated"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    revision = models.PositiveBigIntegerField(db_index=True)
    origin = models.CharField(max_length=16, choices=Origin, help_text="origin of all profiles")
    holdout = models.CharField(max_length=20)
    probes = models.PositiveIntegerField(null=True, help_text="known workloads on the target; null: all")
    sample = models.PositiveIntegerField(null=True, help_text="maximum number of predicted profiles; null: all")
    seed = models.BigIntegerField()
    targets = models.JSONField(null=True, help_text="slugs of the predicted platforms; null: all")
    profiles = models.PositiveIntegerField(help_text="number of profiles in the database")
    pairs = models.JSONField(help_text="slugs of platforms and workloads, and the predicted pairs as positions in them")
    noise_floor = models.JSONField(null=True, help_text="statistics of repeated runs of the same pairs")
    code_version = models.CharField(max_length=20)
    seconds = models.FloatField(help_text="elapsed time")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = EvaluationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(condition=Q(origin__in=("measured", "simulated")), name="evaluation_one_origin"),
        ]

    def __str__(self) -> str:
        return f"{self.holdout} holdout at revision {self.revision}"


class EvaluatedMethod(models.Model):
    """One method in one evaluation. The `errors_...` columns have one relative error per pair, NaN if the method
    refused it."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="methods")
    position = models.PositiveIntegerField(help_text="position in the list of requested methods")
    name = models.CharField(max_length=50, db_index=True)
    version = models.CharField(max_length=20)
    is_baseline = models.BooleanField()
    settings = models.JSONField(default=dict)
    statistics = models.JSONField(help_text="report of the command: full, t1, scaling, coverage, seconds")
    errors_full = ArrayField(dtype="<f4")
    errors_t1 = ArrayField(dtype="<f4")
    errors_scaling = ArrayField(dtype="<f4")

    class Meta:
        ordering = ["evaluation", "position"]
        constraints = [models.UniqueConstraint(fields=["evaluation", "name"], name="method_once_per_evaluation")]

    def __str__(self) -> str:
        return f"{self.name}, version {self.version}"


class PaperReport(models.Model):
    """The paper's tables and figures on the public profiles of one revision (`python -m research paper_figures`)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    revision = models.PositiveBigIntegerField()
    origin = models.CharField(max_length=16, choices=Evaluation.Origin)
    method_version = models.CharField(max_length=20, help_text="version of mpet2020")
    sample = models.PositiveIntegerField(null=True)
    seed = models.BigIntegerField()
    results = models.JSONField(help_text="rows of each table of PAPER_TABLES")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"the paper's tables at revision {self.revision}"
