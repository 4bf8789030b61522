"""Signing a program in by the browser (RFC 8628, device authorization grant).

The program shows a short code. A signed-in person types it on a page and agrees. The program, which polls meanwhile,
then gets a token. Its device code proves that the program is the one that started the login: 256 random bits that are
only sent in bodies. The short code only finds the login on the page, for ten minutes, and is not sufficient to get the
token.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import ApiToken, DeviceLogin, digest_of
from mpet_site.web.invisible import INVISIBLE

CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels, which could form words, and no digits, which look like letters
CODE_LENGTH = 8
LOGIN_LIFETIME = timedelta(minutes=10)
POLL_S = 5
MOST_CODES_TRIED = 5  # attempts to find an unused code


class LoginNotKnown(Exception):
    """There is no such login: it has expired, was already used, or never existed."""


class LoginDenied(Exception):
    """The person refused the login."""


def begin_login(program: str, address: str) -> tuple[DeviceLogin, str]:
    """Create a login that waits for an answer, and return it and its device code. Delete expired logins.

    Only the digest of the device code is stored.
    """
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
    """Return the login that waits for an answer to this code, ignoring case and separators.

    Raise LoginNotKnown if there is none.
    """
    plain = "".join(letter for letter in code.upper() if letter.isalnum())
    login = DeviceLogin.objects.unended().filter(code=plain, answer="").first()
    if login is None:
        raise LoginNotKnown
    return login


def answer_login(code: str, user: Any, *, agreed: bool) -> DeviceLogin:
    """Store the user's answer to a login. Of two concurrent answers only one is stored; the other raises
    LoginNotKnown."""
    login = waiting_login(code)
    answer = DeviceLogin.Answer.AGREED if agreed else DeviceLogin.Answer.DENIED
    if not DeviceLogin.objects.filter(pk=login.pk, answer="").update(answer=answer, user=user):
        raise LoginNotKnown
    login.answer, login.user = answer, user
    return login


def hand_out_token(device_code: str) -> tuple[ApiToken, str] | None:
    """Return the token and its secret, or None if there is no answer yet. Raise LoginNotKnown or LoginDenied.

    An answered login is deleted, so the token is only returned once.
    """
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
    # Raise outside the transaction, which would otherwise roll back the deletion.
    raise LoginDenied
