import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from predictor.querysets import EvaluationQuerySet, PredictionQuerySet
from profiles.models import Profile
from profiles.models.fields import ArrayField


class Prediction(models.Model):
    """One answer, kept as it was given: it never changes, whatever the database learns later.

    How right it was stands beside it once the pair has been measured (predictor.settlement).
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    private_to = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    request_key = models.CharField(
        max_length=64, db_index=True, help_text="sha256 of request, method version, revision, viewer"
    )
    workload = models.CharField(max_length=200, db_index=True, help_text="slug")
    target = models.CharField(max_length=200, db_index=True, help_text="slug")
    method = models.CharField(max_length=50)
    method_version = models.CharField(max_length=20)
    revision = models.PositiveBigIntegerField()
    answer = models.JSONField(help_text="the whole answer of the API, less id and url")
    created_at = models.DateTimeField(auto_now_add=True)
    settled_at = models.DateTimeField(null=True, editable=False, help_text="when the pair was measured; null: not yet")
    settled_by = models.ForeignKey(
        Profile, null=True, editable=False, on_delete=models.SET_NULL, related_name="+", help_text="what measured it"
    )
    settled_origin = models.CharField(max_length=16, blank=True, default="", editable=False, help_text="of that")
    is_blind = models.BooleanField(
        default=False, editable=False, help_text="nobody had measured the pair before: it counts towards the score"
    )
    error_full = models.FloatField(null=True, editable=False, help_text="mean relative error over the measured n")
    error_t1 = models.FloatField(null=True, editable=False)
    error_scaling = models.FloatField(null=True, editable=False)
    points = models.PositiveIntegerField(null=True, editable=False, help_text="measured n that have an interval")
    points_inside = models.PositiveIntegerField(null=True, editable=False)

    objects = PredictionQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(fields=["workload", "target"], name="prediction_pair"),
            models.Index(
                fields=["settled_origin", "method"], condition=Q(settled_at__isnull=False), name="prediction_settled"
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["request_key"], name="prediction_once_per_request"),
        ]

    def __str__(self) -> str:
        return f"{self.workload} on {self.target} by {self.method}"

    @property
    def is_settled(self) -> bool:
        """The pair was measured later, and that was not found to be an outlier, or hidden, since."""
        by = self.settled_by
        return self.settled_at is not None and not (by and (by.hidden or by.outlier_reason))


class Evaluation(models.Model):
    """How wrong methods were on the public profiles of one revision. Pairs and errors are kept, not just statistics."""

    class Origin(models.TextChoices):
        MEASURED = "measured"
        SIMULATED = "simulated"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    revision = models.PositiveBigIntegerField(db_index=True)
    origin = models.CharField(max_length=16, choices=Origin, help_text="of the profiles: never both in one evaluation")
    holdout = models.CharField(max_length=20)
    probes = models.PositiveIntegerField(null=True, help_text="workloads by which the target was known; null = all")
    sample = models.PositiveIntegerField(null=True, help_text="random profiles predicted at most; null = all")
    seed = models.BigIntegerField()
    targets = models.JSONField(null=True, help_text="slugs of the platforms predicted; null = all")
    profiles = models.PositiveIntegerField(help_text="how many the database held")
    pairs = models.JSONField(help_text="platforms and workloads by slug, and the pairs predicted as positions in them")
    noise_floor = models.JSONField(null=True, help_text="statistics of repeated runs of the same pairs")
    code_version = models.CharField(max_length=20)
    seconds = models.FloatField(help_text="from start to end, with all processes")
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
    """One method in one evaluation. `errors`: by part, one relative error for each pair, NaN where it was refused."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="methods")
    position = models.PositiveIntegerField(help_text="order in which the methods were named")
    name = models.CharField(max_length=50, db_index=True)
    version = models.CharField(max_length=20)
    is_baseline = models.BooleanField()
    settings = models.JSONField(default=dict)
    statistics = models.JSONField(help_text="the report of the command: full, t1, scaling, coverage, seconds")
    errors_full = ArrayField(dtype="<f4")
    errors_t1 = ArrayField(dtype="<f4")
    errors_scaling = ArrayField(dtype="<f4")

    class Meta:
        ordering = ["evaluation", "position"]
        constraints = [models.UniqueConstraint(fields=["evaluation", "name"], name="method_once_per_evaluation")]

    def __str__(self) -> str:
        return f"{self.name}, version {self.version}"


class PaperReport(models.Model):
    """The paper's tables and figures on the public profiles of one revision, as `manage.py paper_figures` made them."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    revision = models.PositiveBigIntegerField()
    origin = models.CharField(max_length=16, choices=Evaluation.Origin)
    method_version = models.CharField(max_length=20, help_text="of mpet2020")
    sample = models.PositiveIntegerField(null=True)
    seed = models.BigIntegerField()
    results = models.JSONField(help_text="predictor.core.paper.PaperResults as plain values")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"the paper's tables at revision {self.revision}"
