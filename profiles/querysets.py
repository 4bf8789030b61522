"""Reads, named for the page that asks.

Every list, count and look-up that a person or a prediction sees starts at `visible_to`.
"""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.db.models import Q


class VisibleQuerySet(models.QuerySet):
    def visible_to(self, user: Any) -> Self:
        """Public rows, and the user's own private ones."""
        if user is None or not user.is_authenticated:
            return self.filter(private_to__isnull=True)
        return self.filter(Q(private_to__isnull=True) | Q(private_to=user))

    def public(self) -> Self:
        return self.filter(private_to__isnull=True)


class PlatformQuerySet(VisibleQuerySet):
    pass


class WorkloadQuerySet(VisibleQuerySet):
    pass


class ProfileQuerySet(VisibleQuerySet):
    def candidates_for(self, user: Any) -> Self:
        """What the user's predictions may use: all that the user sees, but nothing emulated."""
        return self.visible_to(user).exclude(origin="emulated")
