"""Encryption of the secrets of second factors, so that a copy of the database is not enough to generate codes.

The key is derived from Django's secret key by HKDF (RFC 5869). The keys of SECRET_KEY_FALLBACKS can still decrypt.
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

# The prefix of encrypted secrets. Plain secrets of older versions are base32 or hexadecimal, without a colon.
ENCRYPTED = "fernet:"
PURPOSE = b"mpet: secrets of second factors"
KEY_BYTES = 32
SECRET_NAMES = ("secret", "seed")  # for TOTP and for recovery codes


class SecondFactorAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return ENCRYPTED + fernet().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return the plain secret. Raise ImproperlyConfigured for another key, so that no code is compared."""
        if not encrypted_text.startswith(ENCRYPTED):
            return encrypted_text
        try:
            return fernet().decrypt(encrypted_text.removeprefix(ENCRYPTED)).decode()
        except InvalidToken as error:
            raise ImproperlyConfigured(
                "A second factor was encrypted with another secret key: add that key to MPET_SECRET_KEY_FALLBACKS."
            ) from error


def fernet() -> MultiFernet:
    return MultiFernet(
        [Fernet(derived_key(secret)) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    )


def derived_key(secret: str) -> bytes:
    key = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=PURPOSE).derive(secret.encode())
    return base64.urlsafe_b64encode(key)


def reencrypted(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a second factor with its secrets encrypted with the current key.

    Raise ImproperlyConfigured if they were encrypted with an unknown key.
    """
    adapter = SecondFactorAdapter()
    return stored | {name: adapter.encrypt(adapter.decrypt(stored[name])) for name in SECRET_NAMES if name in stored}


def unreadable_second_factors() -> Iterator[Authenticator]:
    for authenticator in Authenticator.objects.select_related("user").order_by("pk").iterator():
        try:
            reencrypted(authenticator.data)
        except ImproperlyConfigured:
            yield authenticator


def plain_second_factors() -> int:
    """Return the number of second factors that are not encrypted yet."""
    stored = Authenticator.objects.values_list("data", flat=True)
    return sum(
        any(not data[name].startswith(ENCRYPTED) for name in SECRET_NAMES if name in data) for data in stored.iterator()
    )
