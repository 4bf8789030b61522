"""Mail about accounts: so many a day to one address, and sent beside the answer, whose time then tells nothing."""

from __future__ import annotations

import logging
import threading

from django.core.mail import EmailMessage

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
