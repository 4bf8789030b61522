"""Signing a program in by the browser, as in RFC 8628: the program shows a short code, a signed-in person types it on a
page and agrees, and the program, which has asked again and again meanwhile, is handed a token.

The program proves that it is the one that asked by its device code, 256 random bits that travel in bodies alone. The
short code finds the request on the page, for ten minutes; it hands out nothing by itself.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import ApiToken, DeviceLogin, digest_of
from mpet_site.web.invisible import INVISIBLE

CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels: no words, and no digits that look like letters
CODE_LENGTH = 8
LOGIN_LIFETIME = timedelta(minutes=10)
POLL_S = 5
MOST_CODES_TRIED = 5  # to find a code that nobody else has now


class LoginNotKnown(Exception):
    """There is no such request: it ended, was used, or never was."""


class LoginDenied(Exception):
    """The person said no."""


def begin_login(program: str, address: str) -> tuple[DeviceLogin, str]:
    """A request that waits for somebody to agree, and its device code, of which only the digest is kept. Those that
    have ended are deleted."""
    DeviceLogin.objects.filter(expires_at__lte=timezone.now()).delete()
    device_code = secrets.token_urlsafe(32)
    for attempt in range(MOST_CODES_TRIED):
        code = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
        try:
            with transaction.atomic():
                login = DeviceLogin.objects.create(
                    digest=digest_of(device_code),
                    code=code,
                    program=INVISIBLE.sub("", program) or "a program",
                    address=address,
                    expires_at=timezone.now() + LOGIN_LIFETIME,
                )
            break
        except IntegrityError:
            if attempt == MOST_CODES_TRIED - 1:
                raise
    return login, device_code


def waiting_login(code: str) -> DeviceLogin:
    """The request that waits for an answer to this code, however it was typed. Raises LoginNotKnown."""
    plain = "".join(letter for letter in code.upper() if letter.isalnum())
    login = DeviceLogin.objects.unended().filter(code=plain, answer="").first()
    if login is None:
        raise LoginNotKnown
    return login


def answer_login(code: str, user: Any, *, agreed: bool) -> DeviceLogin:
    """Once: of two answers at the same moment one counts, and the other raises LoginNotKnown."""
    login = waiting_login(code)
    answer = DeviceLogin.Answer.AGREED if agreed else DeviceLogin.Answer.DENIED
    if not DeviceLogin.objects.filter(pk=login.pk, answer="").update(answer=answer, user=user):
        raise LoginNotKnown
    login.answer, login.user = answer, user
    return login


def hand_out_token(device_code: str) -> tuple[ApiToken, str] | None:
    """None while nobody has answered; else the token and its secret, once, as the request is deleted with that. Raises
    LoginNotKnown and LoginDenied."""
    login = DeviceLogin.objects.unended().select_related("user").filter(digest=digest_of(device_code)).first()
    if login is None or (login.user is not None and not login.user.is_active):
        raise LoginNotKnown
    if not login.answer:
        return None
    with transaction.atomic():
        deleted, _ = DeviceLogin.objects.filter(pk=login.pk).delete()
        if not deleted:
            raise LoginNotKnown
        if login.answer == DeviceLogin.Answer.AGREED:
            return ApiToken.issue(login.user, ApiToken.Scope.UPLOAD, name=login.program)
    raise LoginDenied  # outside the transaction: inside, it would undo the deletion
