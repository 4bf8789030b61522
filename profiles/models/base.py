"""What several models are made of: who sees a row, work that one process at a time does, columns of numpy arrays.

The lease of a killed process lapses.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Self

import numpy as np
from django.conf import settings
from django.db import DatabaseError, connections, models
from django.db.models import Q
from django.utils import timezone

from profiles.measurements.bounds import RANGES, Range

logger = logging.getLogger(__name__)
RENEWALS_PER_LEASE = 4
MOST_ATTEMPTS = 5  # work may take so many processes along before nobody tries it again


class Owned(models.Model):
    """Public (private_to is null: everybody sees it) or private to one user, who alone sees it and predicts from it."""

    private_to = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=True
    )
    hidden = models.BooleanField(
        default=False, help_text="by a moderator: nobody sees it, nothing is predicted from it"
    )

    class Meta:
        abstract = True


class Described(Owned):
    """A row whose facts deliveries tell: those of one deliverer, and above them what a moderator decided
    (profiles.identity.descriptions)."""

    facts_by = models.CharField(
        max_length=40,
        blank=True,
        default="",
        editable=False,
        help_text="the deliverer whose deliveries give the facts, as in Source; empty: no delivery that can be seen",
    )
    decided = models.JSONField(
        default=dict, blank=True, editable=False, help_text="facts that a moderator decided on: above all deliveries"
    )

    class Meta:
        abstract = True


class ArrayField(models.BinaryField):
    """A one-dimensional numpy array as little-endian bytes: exact, NaN included, read by the million unparsed."""

    def __init__(self, dtype: str = "<f8", **kwargs: Any) -> None:
        self.dtype = np.dtype(dtype)
        super().__init__(**kwargs)

    def deconstruct(self) -> tuple:
        name, path, args, kwargs = super().deconstruct()
        kwargs["dtype"] = self.dtype.str
        return name, path, args, kwargs

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> np.ndarray | None:
        """What is no whole number of elements is read without its end: who reads checks the length."""
        if value is None:
            return None
        stored = bytes(value)
        return np.frombuffer(stored, self.dtype, count=len(stored) // self.dtype.itemsize)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if isinstance(value, np.ndarray):
            value = np.ascontiguousarray(value, self.dtype).tobytes()
        return super().get_db_prep_value(value, connection, prepared)


def bounds_constraint(name: str, *columns: str, **bounds: Range) -> models.CheckConstraint:
    """That the columns are inside the table of bounds, or null; those of `bounds` inside these. One constraint for all
    columns of a table: SQLite copies the table for each."""
    condition = Q()
    for column, bound in ({column: RANGES[column] for column in columns} | bounds).items():
        inside = Q(**{f"{column}__gte": bound.least, f"{column}__lte": bound.most})
        zero = Q(**{column: 0}) if bound.or_zero else Q()
        condition &= Q(**{f"{column}__isnull": True}) | inside | zero
    return models.CheckConstraint(condition=condition, name=name)


def is_lapsed() -> Q:
    """Its holder ended without releasing it."""
    return Q(lease_until__lt=timezone.now())


def is_unheld() -> Q:
    """It has no holder: it was never claimed, or released, or it lapsed."""
    return Q(lease_until=None) | is_lapsed()


class LeasedQuerySet(models.QuerySet):
    def unheld(self) -> Self:
        return self.filter(is_unheld())


class LeasedWork(models.Model):
    """A row that stands for work. `attempts` counts the claims, and tells one holder from the next: what an earlier
    holder still wants to write through `while_held` finds no row.
    """

    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        abstract = True

    def claim(self, only: Q | None = None, **changes: Any) -> bool:
        """Claim it and set the columns `changes`, in one UPDATE. False where another process has it, had it since this
        instance was read, or the row is not among `only`."""
        claimed = {"attempts": self.attempts + 1, "lease_until": lease_end()} | changes
        rows = type(self)._default_manager.filter(is_unheld(), only or Q(), pk=self.pk, attempts=self.attempts)
        return self._set_where(rows, claimed)

    def while_held(self) -> models.QuerySet:
        """This row as long as the claim of this instance stands, though its time be over; else no row."""
        rows = type(self)._default_manager
        return rows.filter(pk=self.pk, attempts=self.attempts, lease_until__isnull=False)

    def renew(self) -> bool:
        """Renew the lease; False where another process took it over."""
        return self._set_where(self.while_held(), {"lease_until": lease_end()})

    def release(self, **changes: Any) -> bool:
        """Set the columns `changes`, and leave it to whoever claims it next; False where another took it over."""
        return self._set_where(self.while_held(), {"lease_until": None} | changes)

    def _set_where(self, rows: models.QuerySet, values: dict[str, Any]) -> bool:
        if not rows.update(**values):
            return False
        for name, value in values.items():
            setattr(self, name, value)
        return True


def lease_end() -> datetime:
    """When a lease ends that is taken or renewed now."""
    return timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)


@contextmanager
def held(work: LeasedWork) -> Iterator[None]:
    """Renew the lease of claimed work several times a lease, in a thread, as long as the block runs. Whether it was
    lost nevertheless (the machine slept) is for the block to see, where it writes `while_held`."""
    name, done = f"lease of {work._meta.label} {work.pk}", threading.Event()
    thread = threading.Thread(target=_renew_until, args=(work, done), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=1)  # no longer: it may be waiting for the caller's own transaction


def _renew_until(work: LeasedWork, done: threading.Event) -> None:
    try:
        while not done.wait(settings.LEASE_SECONDS / RENEWALS_PER_LEASE):
            try:
                work.while_held().update(lease_until=lease_end())
            except DatabaseError as error:
                logger.warning("the %s was not renewed: %s", threading.current_thread().name, error)
    finally:
        connections.close_all()
