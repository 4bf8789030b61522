"""Whose mail address is whose: it is confirmed by opening a signed link that was sent to it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core import signing
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from accounts.mails import send_mail_to
from accounts.models import ConfirmedAddress

SALT = "accounts.addresses"
LINK_VALID_S = 3 * 24 * 3600


def confirm_address(user: Any) -> None:
    """The user's present address is confirmed from now on."""
    ConfirmedAddress.objects.update_or_create(user=user, defaults={"email": user.email})


def has_confirmed_address(user: Any) -> bool:
    """Whether mail may be sent to the user's address."""
    return bool(user.email) and ConfirmedAddress.objects.filter(user_id=user.pk, email=user.email).exists()


def users_of_address(email: str) -> QuerySet[Any]:
    """The active users who confirmed this address, and have it still."""
    users = get_user_model()._default_manager.filter(is_active=True, email__iexact=email)
    return users.filter(confirmed_address__email=F("email")).order_by("pk")


def send_confirmation_link(request: HttpRequest, user: Any) -> bool:
    """Sends the link to the user's address; False where too many mails went there lately."""
    token = signing.dumps([user.pk, user.email], salt=SALT)
    link = request.build_absolute_uri(reverse("confirm-address", args=[token]))
    context = {"username": user.get_username(), "link": link, "site": request.get_host()}
    return send_mail_to(user.email, "Is this your address?", "accounts/confirm_mail.txt", context)


def user_of_link(token: str) -> Any:
    """The user whose address the link was sent to; None where it is forged, too old, or the address another by now."""
    try:
        key, email = signing.loads(token, salt=SALT, max_age=LINK_VALID_S)
    except signing.BadSignature:
        return None
    return get_user_model()._default_manager.filter(pk=key, email=email, is_active=True).first()
