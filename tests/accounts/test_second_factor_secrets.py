"""Secrets of second factors: encrypted in the database, readable after the key was changed and from before."""

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse

from accounts.second_factors import SecondFactorAdapter, unreadable_second_factors
from tests.accounts.test_second_factor import activate, code_of, is_signed_in, sign_in

pytestmark = pytest.mark.django_db
PLAIN_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
PLAIN_SEED = "0123456789abcdef" * 5


@pytest.fixture(autouse=True)
def unused_codes():
    """A code counts once."""
    cache.clear()


def stored() -> str:
    """The rows as the database has them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT data FROM mfa_authenticator")
        return str(cursor.fetchall())


def test_the_database_has_neither_the_secret_nor_the_seed(ada):
    secret = activate(sign_in())
    codes = RecoveryCodes(Authenticator.objects.get(user=ada, type="recovery_codes"))
    seed = SecondFactorAdapter().decrypt(codes.instance.data["seed"])
    assert len(seed) == 80
    assert secret not in stored()
    assert seed not in stored()
    assert stored().count("fernet:") == 2
    assert codes.validate_code(codes.get_unused_codes()[0])


def make_plain(ada) -> None:
    """As they were stored before they were encrypted."""
    Authenticator.objects.create(user=ada, type="totp", data={"secret": PLAIN_SECRET})
    Authenticator.objects.create(user=ada, type="recovery_codes", data={"seed": PLAIN_SEED, "used_mask": 1})


def test_plain_secrets_keep_working(ada):
    make_plain(ada)
    client = sign_in()
    assert client.landed == reverse("mfa_authenticate")
    client.post(reverse("mfa_authenticate"), {"code": code_of(PLAIN_SECRET)})
    assert is_signed_in(client)
    codes = RecoveryCodes(Authenticator.objects.get(user=ada, type="recovery_codes"))
    assert len(codes.get_unused_codes()) == 9


def test_the_command_encrypts_plain_ones(ada):
    make_plain(ada)
    codes = RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes()
    call_command("encrypt_second_factors")
    assert PLAIN_SECRET not in stored()
    assert PLAIN_SEED not in stored()
    assert TOTP(Authenticator.objects.get(type="totp")).validate_code(code_of(PLAIN_SECRET))
    assert RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes() == codes


def test_the_key_is_changed(settings, ada):
    secret = activate(sign_in())
    former = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [former]
    assert not list(unreadable_second_factors())
    call_command("encrypt_second_factors")
    settings.SECRET_KEY_FALLBACKS = []
    assert not list(unreadable_second_factors())
    cache.clear()
    assert TOTP(Authenticator.objects.get(user=ada, type="totp")).validate_code(code_of(secret))


def test_without_the_key_no_code_is_right(settings, ada):
    secret = activate(sign_in())
    before = stored()
    settings.SECRET_KEY = "another"
    with pytest.raises(ImproperlyConfigured, match="MPET_SECRET_KEY_FALLBACKS"):
        TOTP(Authenticator.objects.get(user=ada, type="totp")).validate_code(code_of(secret))
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("encrypt_second_factors")
    assert stored() == before
    assert {one.user for one in unreadable_second_factors()} == {ada}
