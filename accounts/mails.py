"""Mail addresses of accounts, and mails to them.

An address is verified when the user opens a link that was sent to it (django-allauth stores this). The number of mails
to one address per day is limited. Mails are sent in a thread, so that the response time does not reveal whether one is
sent.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from allauth.account.models import EmailAddress
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage
from django.db.models import QuerySet
from django.db.models.signals import post_save
from django.dispatch import receiver

from mpet_site.web.throttling import seconds_to_wait

logger = logging.getLogger(__name__)

MAIL_THREAD = "accounts-mail"


def send_message(message: EmailMessage) -> bool:
    """Send a message in a thread. Return False if too many mails were sent to its address recently, by any user."""
    (address,) = message.to
    if seconds_to_wait("mail", address.casefold()):
        logger.warning("Too many mails to one address: this one is not sent")
        return False
    threading.Thread(target=send_or_log, args=(message,), name=MAIL_THREAD).start()
    return True


def send_or_log(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception:  # mail servers raise many kinds of errors
        logger.exception("A mail about an account could not be sent")


def confirm_address(user: Any) -> None:
    """Mark the user's current address as verified, unless another account has already verified it."""
    address, _ = EmailAddress.objects.get_or_create(user=user, email=user.email.lower())
    address.set_as_primary()
    address.set_verified()


def has_confirmed_address(user: Any) -> bool:
    """Return whether the user's address is verified, so that mails may be sent to it."""
    confirmed = EmailAddress.objects.filter(user_id=user.pk, verified=True, email=user.email.lower())
    return bool(user.email) and confirmed.exists()


def users_of_address(email: str) -> QuerySet[Any]:
    """Return the active users who have verified this address."""
    verified = EmailAddress.objects.filter(email=email.lower(), verified=True)
    return get_user_model()._default_manager.filter(is_active=True, pk__in=verified.values("user")).order_by("pk")


@receiver(post_save, sender=get_user_model())
def confirm_address_of_operator(instance: Any, created: bool, raw: bool, **_: Any) -> None:
    """Verify the address of a new superuser, because only an operator can run `manage.py createsuperuser`."""
    if created and instance.is_superuser and instance.email and not raw:
        confirm_address(instance)
