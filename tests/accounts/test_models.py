"""What is kept of a token, and what it allows."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import ApiToken, digest_of

pytestmark = pytest.mark.django_db


def test_the_secret_is_not_kept(ada):
    token, secret = ApiToken.issue(ada)
    stored = ApiToken.objects.values().get(pk=token.pk)
    assert len(secret) >= 40
    assert secret.startswith(token.prefix)
    assert len(token.prefix) < 15
    assert all(secret not in str(value) and secret[len(token.prefix) :] not in str(value) for value in stored.values())


def test_revoking_twice_keeps_the_first_moment(ada):
    token, _ = ApiToken.issue(ada)
    assert ApiToken.objects.revoke() == 1
    token.refresh_from_db()
    first = token.revoked_at
    assert first is not None
    assert ApiToken.objects.revoke() == 0
    token.refresh_from_db()
    assert token.revoked_at == first


def test_a_token_is_valid_for_a_year_unless_another_time_is_given(ada):
    lifetimes = [
        ApiToken.issue(ada, **given)[0] for given in ({}, {"lifetime": timedelta(days=30)}, {"lifetime": None})
    ]
    ends = [token.expires_at and round((token.expires_at - timezone.now()) / timedelta(days=1)) for token in lifetimes]
    assert ends == [365, 30, None]


@pytest.mark.parametrize("days", [365, 0.5, None])
def test_rotating_makes_a_token_alike_and_ends_the_old_one_within_a_day(ada, days):
    old, _ = ApiToken.issue(ada, "upload", name="laptop", lifetime=days and timedelta(days=days))
    new, secret = old.rotate()
    old.refresh_from_db()
    assert (new.user, new.scope, new.name, new.digest) == (ada, "upload", "laptop", digest_of(secret))
    assert new.digest != old.digest
    assert set(ApiToken.objects.valid()) == {old, new}
    assert old.expires_at - timezone.now() <= timedelta(days=min(days or 1, 1))
    if days is None:
        assert new.expires_at is None
    else:
        assert abs(new.expires_at - timezone.now() - timedelta(days=days)) < timedelta(minutes=1)
