"""Platforms: the measured machines."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q

from profiles.measurements import DEVICE_CLASSES
from profiles.models.base import Described, bounds_constraint
from profiles.models.querysets import PlatformQuerySet


def count_field() -> models.PositiveIntegerField:
    return models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])


def size_field() -> models.PositiveBigIntegerField:
    return models.PositiveBigIntegerField(null=True, blank=True)


BOUNDED_COLUMNS = (
    *("word_bits", "sockets", "numa_nodes", "physical_cores", "threads", "n_nu", "n_ht", "n_max"),
    *("base_mhz", "max_mhz", "l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes"),
)


class Platform(Described):
    """One machine with its processor and topology.

    `n_nu` and `n_ht` are the thread counts beyond which a second NUMA node and SMT threads are used. They are null if
    the machine has no such effect.
    """

    slug = models.SlugField(max_length=200, unique=True)
    identity = models.CharField(max_length=64, db_index=True, editable=False, help_text="cpu_model + topology + name")
    spelling = models.CharField(
        max_length=64, db_index=True, editable=False, help_text="identity without case, spaces and punctuation"
    )
    name = models.CharField(max_length=200)
    cpu_model = models.CharField(max_length=200, blank=True)
    vendor = models.CharField(max_length=100, null=True, blank=True)
    architecture = models.CharField(max_length=50, null=True, blank=True)
    microarchitecture = models.CharField(max_length=100, null=True, blank=True)
    word_bits = count_field()
    device_class = models.CharField(max_length=20, null=True, blank=True, choices=[(c, c) for c in DEVICE_CLASSES])
    sockets = count_field()
    numa_nodes = count_field()
    physical_cores = count_field()
    threads = count_field()
    n_nu = count_field()
    n_ht = count_field()
    n_max = models.PositiveIntegerField(validators=[MinValueValidator(1)], help_text="threads a program may use here")
    placement = models.JSONField(null=True, blank=True, help_text="CPU numbers in the order in which threads fill them")
    base_mhz = models.FloatField(null=True, blank=True)
    max_mhz = models.FloatField(null=True, blank=True)
    l1d_bytes = size_field()
    l2_bytes = size_field()
    l3_bytes = size_field()
    memory_bytes = size_field()
    virtualised = models.BooleanField(null=True, blank=True)
    kernel = models.CharField(max_length=200, null=True, blank=True)
    compiler = models.CharField(max_length=200, null=True, blank=True)
    compiler_flags = models.TextField(null=True, blank=True)
    merged_into = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.RESTRICT,
        related_name="+",
        help_text="platform into which this one was merged; this row stays, hidden, for its URL and later deliveries",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = PlatformQuerySet.as_manager()

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["identity"], condition=Q(private_to=None), name="platform_public_identity"),
            models.UniqueConstraint(fields=["identity", "private_to"], name="platform_private_identity"),
            models.CheckConstraint(
                condition=Q(sockets__isnull=True) | Q(sockets__gte=1), name="platform_sockets_positive"
            ),
            models.CheckConstraint(
                condition=Q(numa_nodes__isnull=True) | Q(numa_nodes__gte=1), name="platform_numa_nodes_positive"
            ),
            models.CheckConstraint(
                condition=Q(physical_cores__isnull=True) | Q(physical_cores__gte=1), name="platform_cores_positive"
            ),
            models.CheckConstraint(condition=Q(n_max__gte=1), name="platform_n_max_positive"),
            models.CheckConstraint(
                condition=Q(physical_cores__isnull=True)
                | Q(threads__isnull=True)
                | Q(physical_cores__lte=F("threads")),
                name="platform_cores_at_most_threads",
            ),
            models.CheckConstraint(
                condition=Q(n_nu__isnull=True) | Q(n_ht__isnull=True) | Q(n_nu__lt=F("n_ht")),
                name="platform_numa_before_hyperthreads",
            ),
            bounds_constraint("platform_in_bounds", *BOUNDED_COLUMNS),
        ]

    def __str__(self) -> str:
        return self.name
