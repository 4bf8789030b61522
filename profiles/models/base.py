"""Base classes of models: visibility of rows, work leased by one process at a time, and columns of numpy arrays.

The lease of a killed process expires.
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
MOST_ATTEMPTS = 5  # work is given up when more processes than this have ended during it


class Owned(models.Model):
    """A row that is public (private_to is null) or private to one user.

    Only this user sees a private row, and only this user's predictions use it.
    """

    private_to = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=True
    )
    hidden = models.BooleanField(default=False, help_text="hidden by a moderator: not shown, not used in predictions")

    class Meta:
        abstract = True


class Described(Owned):
    """A row with facts from the deliveries of one deliverer and from moderators (profiles.identity.descriptions)."""

    facts_by = models.CharField(
        max_length=40,
        blank=True,
        default="",
        editable=False,
        help_text="the deliverer (as in Source) that is authoritative for the facts; empty: no visible delivery",
    )
    decided = models.JSONField(
        default=dict, blank=True, editable=False, help_text="facts set by a moderator, which override all deliveries"
    )

    class Meta:
        abstract = True


class ArrayField(models.BinaryField):
    """A one-dimensional numpy array stored as little-endian bytes.

    The values are exact, including NaN, and millions of them are read without parsing.
    """

    def __init__(self, dtype: str = "<f8", **kwargs: Any) -> None:
        self.dtype = np.dtype(dtype)
        super().__init__(**kwargs)

    def deconstruct(self) -> tuple:
        name, path, args, kwargs = super().deconstruct()
        kwargs["dtype"] = self.dtype.str
        return name, path, args, kwargs

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> np.ndarray | None:
        """Return the stored array without an incomplete last element. The caller has to check the length."""
        if value is None:
            return None
        stored = bytes(value)
        return np.frombuffer(stored, self.dtype, count=len(stored) // self.dtype.itemsize)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if isinstance(value, np.ndarray):
            value = np.ascontiguousarray(value, self.dtype).tobytes()
        return super().get_db_prep_value(value, connection, prepared)


def bounds_constraint(name: str, *columns: str, **bounds: Range) -> models.CheckConstraint:
    """Return a constraint: each column is null or inside its bounds, from `bounds` if given there, else from RANGES.

    One constraint covers all columns of a table, because SQLite copies the table for each constraint.
    """
    condition = Q()
    for column, bound in ({column: RANGES[column] for column in columns} | bounds).items():
        inside = Q(**{f"{column}__gte": bound.least, f"{column}__lte": bound.most})
        zero = Q(**{column: 0}) if bound.or_zero else Q()
        condition &= Q(**{f"{column}__isnull": True}) | inside | zero
    return models.CheckConstraint(condition=condition, name=name)


def is_lapsed() -> Q:
    """Return the condition that the lease expired because its holder ended without releasing it."""
    return Q(lease_until__lt=timezone.now())


def is_unheld() -> Q:
    """Return the condition that the work has no holder: it was never claimed, or was released, or the lease expired."""
    return Q(lease_until=None) | is_lapsed()


class LeasedQuerySet(models.QuerySet):
    def unheld(self) -> Self:
        return self.filter(is_unheld())


class LeasedWork(models.Model):
    """A row that represents work for one process at a time.

    `attempts` counts the claims and distinguishes the holders: after another process has claimed the row, `while_held`
    of the earlier holder selects no row.
    """

    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        abstract = True

    def claim(self, only: Q | None = None, **changes: Any) -> bool:
        """Claim the row and set the columns `changes`, in one UPDATE.

        Returns False if another process holds it, has held it since this instance was read, or the row does not match
        `only`.
        """
        claimed = {"attempts": self.attempts + 1, "lease_until": lease_end()} | changes
        rows = type(self)._default_manager.filter(is_unheld(), only or Q(), pk=self.pk, attempts=self.attempts)
        return self._set_where(rows, claimed)

    def while_held(self) -> models.QuerySet:
        """Return a queryset of this row if this instance's claim is valid, even after the lease expired, else an empty
        one."""
        rows = type(self)._default_manager
        return rows.filter(pk=self.pk, attempts=self.attempts, lease_until__isnull=False)

    def renew(self) -> bool:
        """Renew the lease. Returns False if another process took it over."""
        return self._set_where(self.while_held(), {"lease_until": lease_end()})

    def release(self, **changes: Any) -> bool:
        """Set the columns `changes` and release the lease. Returns False if another process took it over."""
        return self._set_where(self.while_held(), {"lease_until": None} | changes)

    def _set_where(self, rows: models.QuerySet, values: dict[str, Any]) -> bool:
        if not rows.update(**values):
            return False
        for name, value in values.items():
            setattr(self, name, value)
        return True


def lease_end() -> datetime:
    """Return the end of a lease that is taken or renewed now."""
    return timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)


@contextmanager
def held(work: LeasedWork) -> Iterator[None]:
    """Renew the lease of claimed work in a thread while the block runs, several times per lease.

    The lease may still be lost, for example if the machine was suspended. The block notices this where it writes
    through `while_held`.
    """
    name, done = f"lease of {work._meta.label} {work.pk}", threading.Event()
    thread = threading.Thread(target=_renew_until, args=(work, done), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=1)  # the timeout is needed because the thread may wait for the caller's transaction


def _renew_until(work: LeasedWork, done: threading.Event) -> None:
    failures = 0
    try:
        while not done.wait(settings.LEASE_SECONDS / RENEWALS_PER_LEASE):
            try:
                work.while_held().update(lease_until=lease_end())
                failures = 0
            except DatabaseError as error:
                # A lease ends only after several failures, so the first ones are no reason for a warning.
                failures += 1
                level = logging.WARNING if failures >= RENEWALS_PER_LEASE - 1 else logging.DEBUG
                logger.log(level, "the %s was not renewed: %s", threading.current_thread().name, error)
    finally:
        connections.close_all()
