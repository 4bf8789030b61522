"""Secrets of second factors are encrypted in the database: who reads a copy of it alone makes no codes of them.

The key is made of Django's secret key by HKDF (RFC 5869); those of SECRET_KEY_FALLBACKS still read what was written
with them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

ENCRYPTED = "fernet:"  # begins what is encrypted; secrets of before are base32 or hexadecimal, without a colon
PURPOSE = b"mpet: secrets of second factors"
KEY_BYTES = 32
SECRET_NAMES = ("secret", "seed")  # of TOTP, and of recovery codes


class SecondFactorAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return ENCRYPTED + fernet().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Raises ImproperlyConfigured where the key is another one: no code may be compared then."""
        if not encrypted_text.startswith(ENCRYPTED):
            return encrypted_text
        try:
            return fernet().decrypt(encrypted_text.removeprefix(ENCRYPTED)).decode()
        except InvalidToken as error:
            raise ImproperlyConfigured(
                "A second factor was encrypted with another secret key: name it in MPET_SECRET_KEY_FALLBACKS."
            ) from error


def fernet() -> MultiFernet:
    return MultiFernet(
        [Fernet(derived_key(secret)) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    )


def derived_key(secret: str) -> bytes:
    key = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=PURPOSE).derive(secret.encode())
    return base64.urlsafe_b64encode(key)


def encrypted_anew(stored: dict[str, Any]) -> dict[str, Any]:
    """What is stored of a second factor, its secrets encrypted with the present key. Raises ImproperlyConfigured."""
    adapter = SecondFactorAdapter()
    return stored | {name: adapter.encrypt(adapter.decrypt(stored[name])) for name in SECRET_NAMES if name in stored}


def unreadable_second_factors() -> Iterator[Authenticator]:
    for authenticator in Authenticator.objects.select_related("user").order_by("pk").iterator():
        try:
            encrypted_anew(authenticator.data)
        except ImproperlyConfigured:
            yield authenticator


def plain_second_factors() -> int:
    """How many are as they were stored before they were encrypted."""
    stored = Authenticator.objects.values_list("data", flat=True)
    return sum(
        any(not data[name].startswith(ENCRYPTED) for name in SECRET_NAMES if name in data) for data in stored.iterator()
    )
