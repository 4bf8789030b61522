"""Profiles with their runs and counter readings, and the curves and features derived from them."""

import uuid
from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce

from profiles.measurements import COUNTER_STATUSES, PART_COLUMNS
from profiles.measurements.bounds import RANGES
from profiles.models.base import ArrayField, Owned, bounds_constraint
from profiles.models.platforms import Platform
from profiles.models.querysets import ProfileQuerySet
from profiles.models.sources import Source
from profiles.models.workloads import Workload

# Name, columns and condition of the indexes with which lists count and select rows without reading the table.
LISTED_BY: tuple[tuple[Any, ...], ...] = (
    ("profile_by_key", ("private_to", "id"), Q()),
    ("profile_by_origin", ("private_to", "origin", "id"), Q()),
    ("profile_by_platform", ("platform", "private_to", "origin"), Q()),
    ("profile_by_workload", ("workload", "private_to", "origin"), Q()),
    ("profile_by_source", ("source", "private_to"), Q()),
    ("profile_outliers", ("private_to", "id"), ~Q(outlier_reason="")),
)


class Profile(Owned):
    """One workload on one platform, from one source. `manage.py refit` rebuilds everything except the runs."""

    class Judge(models.TextChoices):
        COMPUTED = "computed", "computed"
        MODERATOR = "moderator", "moderator"
        SECOND = "second", "computed: another owner's measurement is used"
        DIFFERS = "differs", "computed: differs from another owner's measurement"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    platform = models.ForeignKey(Platform, on_delete=models.RESTRICT, related_name="profiles")
    workload = models.ForeignKey(Workload, on_delete=models.RESTRICT, related_name="profiles")
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="profiles")
    origin = models.CharField(max_length=16, help_text="origin of the source, copied for filters")
    decomposed = models.BooleanField(help_text="true: with time breakdown; false: wall time only")
    t1_s = models.FloatField(null=True, help_text="t(1); null: unknown")
    t1_is_stand_in = models.BooleanField(default=False, help_text="t(n_min) * n_min, for a curve that starts later")
    n_measured = models.PositiveIntegerField(help_text="number of measured thread counts")
    n_min = models.PositiveIntegerField()
    n_largest = models.PositiveIntegerField()
    fit_error = models.FloatField(null=True, help_text="mean relative error of t(n) rebuilt from the fit")
    run_count = models.PositiveIntegerField(
        null=True,
        help_text="number of runs of the workload's own size, clean and profile; null: derived by an older version",
    )
    disturbed_count = models.PositiveIntegerField(
        null=True, help_text="number of these runs that other programs disturbed; null: not checked"
    )
    standard_error = models.FloatField(
        null=True, help_text="standard error of ln t(n), from the repeats; null: no repeats"
    )
    warnings = models.JSONField(default=list)
    outlier_reason = models.CharField(
        max_length=200, blank=True, default="", help_text="why predictions exclude it; empty: they do not"
    )
    outlier_judge = models.CharField(
        max_length=10,
        blank=True,
        default="",
        choices=Judge,
        help_text="who decided this; a moderator's decision is not recomputed",
    )
    outlier_checked_at = models.PositiveBigIntegerField(
        null=True, editable=False, help_text="revision at which it was last checked; null: not yet"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProfileQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        # The indexes are partial, over the rows that `visible_to` may select. SQLite uses a partial index only if the
        # query contains the condition literally.
        indexes = [
            models.Index(fields=["platform", "workload"]),
            *(
                models.Index(fields=columns, condition=Q(hidden=False) & condition, name=name)
                for name, columns, condition in LISTED_BY
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["source", "platform", "workload"], name="profile_once_per_source"),
            models.CheckConstraint(condition=Q(t1_s__isnull=True) | Q(t1_s__gt=0), name="profile_t1_positive"),
            models.CheckConstraint(
                condition=~Q(origin="emulated") | Q(private_to__isnull=False), name="profile_emulated_is_private"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workload} on {self.platform}"

    @property
    def is_doubtful(self) -> bool:
        """Return whether the profile is an outlier by itself, not because another owner's measurement of the pair
        counts."""
        return bool(self.outlier_reason) and self.outlier_judge != self.Judge.SECOND


# The foreign keys to profiles have no database constraint, because the rows of a profile are stored before the profile
# itself (profiles.ingest.staging). They have no index if a unique index begins with the same column.
class Run(models.Model):
    """One execution. Computations use `time_s`. A tarball also has nanoseconds, and the parts sum to n*time_ns.

    `size` is null for the workload's own size, and `clock_mhz` is null for the platform's own clocks. A run that has
    either is a variation, and no curve is computed from it.
    """

    class Pass(models.TextChoices):
        CLEAN = "clean"
        PROFILE = "profile"

    profile = models.ForeignKey(
        Profile, on_delete=models.CASCADE, related_name="runs", db_constraint=False, db_index=False
    )
    n = models.PositiveIntegerField()
    repeat = models.PositiveIntegerField()
    pass_kind = models.CharField(max_length=7, choices=Pass)
    time_s = models.FloatField()
    time_ns = models.BigIntegerField(null=True)
    use_ns = models.BigIntegerField(null=True)
    lock_ns = models.BigIntegerField(null=True)
    imbalance_ns = models.BigIntegerField(null=True)
    creation_ns = models.BigIntegerField(null=True)
    distribution_ns = models.BigIntegerField(null=True)
    switching_ns = models.BigIntegerField(null=True)
    join_ns = models.BigIntegerField(null=True)
    output_checksum = models.CharField(max_length=128, blank=True)
    size = models.FloatField(null=True, help_text="size of the input, in the workload's unit")
    clock_mhz = models.FloatField(null=True, help_text="clock to which all cores were fixed")
    tasks = models.BigIntegerField(null=True, help_text="number of spawned tasks")
    waits = models.BigIntegerField(null=True, help_text="number of waits for a group of tasks")
    disturbed = models.BooleanField(null=True, help_text="true: other programs took processor time; null: not checked")

    class Meta:
        ordering = ["n", "pass_kind", "repeat"]
        constraints = [
            models.UniqueConstraint(
                "profile",
                "n",
                "pass_kind",
                "repeat",
                Coalesce("size", 0.0),
                Coalesce("clock_mhz", 0.0),
                name="run_once",
            ),
            models.CheckConstraint(condition=Q(n__gte=1), name="run_n_positive"),
            models.CheckConstraint(condition=Q(size__isnull=True) | Q(size__gt=0), name="run_size_positive"),
            models.CheckConstraint(condition=Q(clock_mhz__isnull=True) | Q(clock_mhz__gt=0), name="run_clock_positive"),
            models.CheckConstraint(condition=Q(time_s__gt=0), name="run_time_positive"),
            bounds_constraint(
                "run_in_bounds",
                *("n", "repeat", "time_ns", *PART_COLUMNS, "size", "clock_mhz", "tasks", "waits"),
                time_s=RANGES["relative time_s"],
            ),
        ]

    def __str__(self) -> str:
        return f"n={self.n} repeat={self.repeat} {self.pass_kind}"


class CounterReading(models.Model):
    """One hardware counter in one run, summed over threads. `value` is null unless the status is ok or multiplexed."""

    profile = models.ForeignKey(
        Profile, on_delete=models.CASCADE, related_name="counter_readings", db_constraint=False, db_index=False
    )
    n = models.PositiveIntegerField()
    repeat = models.PositiveIntegerField()
    counter = models.CharField(max_length=40)
    value = models.FloatField(null=True)
    status = models.CharField(max_length=20, default="ok", choices=[(s, s) for s in COUNTER_STATUSES])

    class Meta:
        ordering = ["counter", "n", "repeat"]
        constraints = [
            models.UniqueConstraint(fields=["profile", "n", "repeat", "counter"], name="counter_reading_once"),
            bounds_constraint("counter_reading_in_bounds", "n", "repeat", "value"),
        ]

    def __str__(self) -> str:
        return f"{self.counter} n={self.n}"


class ScalingCurves(models.Model):
    """The derived curves of a profile over its thread counts (profiles.scaling.runs.CurveTable)."""

    profile = models.OneToOneField(
        Profile, on_delete=models.CASCADE, primary_key=True, related_name="curves", db_constraint=False
    )
    n = ArrayField(dtype="<i4", help_text="the N thread counts, ascending")
    values = ArrayField(
        dtype="<f8", help_text="15 x N, row by row: time_s, then the 14 curves of CURVE_NAMES; NaN = invalid"
    )
    code_version = models.CharField(max_length=20)

    def __str__(self) -> str:
        return f"curves of {self.profile_id}"


class FeatureVector(models.Model):
    """The 84 fitted elements of a profile (Eq. 8-9), with NaN for invalid ones, and the residual of each curve."""

    profile = models.OneToOneField(
        Profile, on_delete=models.CASCADE, primary_key=True, related_name="feature_vector", db_constraint=False
    )
    values = ArrayField(dtype="<f8", help_text="84 elements in the order of FEATURE_NAMES")
    rms = ArrayField(dtype="<f8", help_text="root mean square residual of the 14 curves")
    code_version = models.CharField(max_length=20)

    def __str__(self) -> str:
        return f"features of {self.profile_id}"
