"""What is kept of a token, and what it allows."""

import pytest

from accounts.models import ApiToken
from tests.mpet_site.api_samples import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return make_user("ada")


def test_the_secret_is_not_kept(ada):
    token, secret = ApiToken.issue(ada)
    stored = ApiToken.objects.values().get(pk=token.pk)
    assert len(secret) >= 40
    assert secret.startswith(token.prefix)
    assert len(token.prefix) < 15
    assert all(secret not in str(value) and secret[len(token.prefix) :] not in str(value) for value in stored.values())


def test_secrets_differ(ada):
    assert len({ApiToken.issue(ada)[1] for _ in range(20)}) == 20


def test_scopes():
    assert ApiToken(scope="upload").allows("upload")
    assert ApiToken(scope="upload").allows("predict")
    assert ApiToken(scope="predict").allows("predict")
    assert not ApiToken(scope="predict").allows("upload")


def test_revoking_twice_keeps_the_first_moment(ada):
    token, _ = ApiToken.issue(ada)
    token.revoke()
    first = token.revoked_at
    token.revoke()
    assert token.revoked_at == first
