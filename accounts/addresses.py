"""Whose mail address is whose, as django-allauth keeps it: verified by opening a link that was sent to it."""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from django.contrib.auth import get_user_model
from django.db.models import QuerySet


def confirm_address(user: Any) -> None:
    """The user's present address is verified from now on, unless another account has verified it before."""
    address, _ = EmailAddress.objects.get_or_create(user=user, email=user.email.lower())
    address.set_as_primary()
    address.set_verified()


def has_confirmed_address(user: Any) -> bool:
    """Whether mail may be sent to the user's address."""
    own = EmailAddress.objects.filter(user_id=user.pk, verified=True, email=user.email.lower())
    return bool(user.email) and own.exists()


def users_of_address(email: str) -> QuerySet[Any]:
    """The active users who verified this address, and have it still."""
    verified = EmailAddress.objects.filter(email=email.lower(), verified=True)
    return get_user_model()._default_manager.filter(is_active=True, pk__in=verified.values("user")).order_by("pk")
