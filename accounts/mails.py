"""Mail addresses of accounts, and mail to them.

An address is verified by opening a link that was sent to it, as django-allauth keeps it. One address gets so many mails
a day. They are sent beside the answer, whose time then tells nothing.
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
    """Sends it, in a thread; False where too many mails went to its address lately, whoever asked for them."""
    (address,) = message.to
    if seconds_to_wait("mail", address.casefold()):
        logger.warning("Too many mails to one address: this one is not sent")
        return False
    threading.Thread(target=send_or_log, args=(message,), name=MAIL_THREAD).start()
    return True


def send_or_log(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception:  # whatever a mail server says
        logger.exception("A mail about an account could not be sent")


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


@receiver(post_save, sender=get_user_model())
def confirm_address_of_operator(instance: Any, created: bool, raw: bool, **_: Any) -> None:
    """`manage.py createsuperuser` asks an operator for the address, and no stranger."""
    if created and instance.is_superuser and instance.email and not raw:
        confirm_address(instance)
