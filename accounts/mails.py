"""Mail about accounts: so many a day to one address, and sent beside the answer, whose time then tells nothing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any

from django.core.mail import EmailMessage
from django.template.loader import render_to_string

from mpet_site.web.throttling import seconds_to_wait

logger = logging.getLogger(__name__)

MAIL_THREAD = "accounts-mail"


def send_mail_to(address: str, subject: str, template: str, context: Mapping[str, Any]) -> bool:
    """Sends a text of our own; False where it was not sent."""
    return send_message(EmailMessage(subject, render_to_string(template, dict(context)), to=[address]))


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
