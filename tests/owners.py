"""Accounts that are old and confirmed, so that their measurements count among those of others, and new accounts."""

from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.utils import timezone

from accounts.mails import confirm_address


def new_account(name: str) -> Any:
    return get_user_model().objects.create_user(name, f"{name}@example.org")


def old_account(name: str, days: float = 60) -> Any:
    """Create a user who signed up `days` ago and has confirmed the address."""
    joined = timezone.now() - timedelta(days=days)
    user = get_user_model().objects.create_user(name, f"{name}@example.org", date_joined=joined)
    confirm_address(user)
    return user
