"""`manage.py api_token`"""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import ApiToken, digest_of
from tests.mpet_site.api_samples import make_user

pytestmark = pytest.mark.django_db


def issued(*arguments):
    out, err = StringIO(), StringIO()
    call_command("api_token", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_prints_the_secret_alone_and_makes_the_user():
    out, err = issued("ada")
    token = ApiToken.objects.get(digest=digest_of(out.strip()))
    assert out == out.strip() + "\n"
    assert (token.user.username, token.scope) == ("ada", "upload")
    assert timedelta(days=364) < token.expires_at - timezone.now() <= timedelta(days=365)
    assert not token.user.has_usable_password()
    assert not (token.user.is_staff or token.user.is_superuser)
    assert "Created user 'ada'" in err


def test_takes_the_user_that_is_there():
    ada = make_user("ada")
    first, err = issued("ada", "--scope", "predict", "--expires", "30", "--name", "laptop")
    second, _ = issued("ada", "--no-end")
    assert first != second
    assert "Created" not in err
    assert get_user_model().objects.count() == 1
    token = ApiToken.objects.get(digest=digest_of(first.strip()))
    assert (token.user, token.scope, token.name) == (ada, "predict", "laptop")
    assert timedelta(days=29) < token.expires_at - timezone.now() <= timedelta(days=30)
    assert ApiToken.objects.get(digest=digest_of(second.strip())).expires_at is None


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "username"),
        (("ada", "--scope", "everything"), "everything"),
        (("ada", "--expires", "0"), "days"),
        (("ada", "--expires", "-1"), "days"),
        (("ada", "--expires", "10000000000"), "days"),
        (("ada", "--expires", "30", "--no-end"), "not allowed with"),
        (("not a name",), "user name"),
        (("",), "user name"),
        (("x" * 200,), "user name"),
    ],
)
def test_wrong_arguments_leave_nothing(arguments, reason):
    with pytest.raises(CommandError, match=reason):
        issued(*arguments)
    assert not get_user_model().objects.exists()
    assert not ApiToken.objects.exists()


def test_an_inactive_user_gets_none():
    make_user("ada", is_active=False)
    with pytest.raises(CommandError, match="not active"):
        issued("ada")
