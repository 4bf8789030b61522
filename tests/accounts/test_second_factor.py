"""What django-allauth brings: a second factor, the list of sessions, signing in elsewhere; and the admin's door."""

import json
import re

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from accounts.models import ApiToken
from tests.mpet_site.api_samples import API, client_of
from tests.pages import PASSWORD, text_of
from tests.paths import ROOT
from tests.processes import environment_of, output_of

pytestmark = pytest.mark.django_db


def sign_in(name: str = "ada", **more) -> Client:
    client = Client()
    response = client.post(reverse("login"), {"login": name, "password": PASSWORD}, **more)
    client.landed = response.url
    return client


def code_of(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, next(yield_hotp_counters_from_time())))


def activate(client: Client) -> str:
    """The secret of the authenticator app that is now needed; the password is asked for again before."""
    asked = client.get(reverse("mfa_activate_totp"))
    assert asked.url.startswith(reverse("reauthenticate"))
    page = client.post(asked.url, {"password": PASSWORD}, follow=True)
    secret = re.search(r'value="([A-Z2-7]{32})"', page.content.decode())[1]
    client.post(reverse("mfa_activate_totp"), {"code": code_of(secret)})
    return secret


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("tokens")).status_code == 200


def test_with_a_second_factor_the_password_alone_opens_nothing(ada):
    secret = activate(sign_in())
    assert Authenticator.objects.filter(user=ada, type="totp").exists()
    client = sign_in()
    assert client.landed == reverse("mfa_authenticate")
    assert not is_signed_in(client)
    assert client.post(reverse("mfa_authenticate"), {"code": "000000"}).status_code == 200
    assert not is_signed_in(client)
    from django.core.cache import cache  # noqa: PLC0415

    cache.clear()  # a code counts once
    client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert is_signed_in(client)


def test_the_code_to_scan_is_on_white_in_the_dark_too(ada):
    client = sign_in()
    client.post(client.get(reverse("mfa_activate_totp")).url, {"password": PASSWORD})
    page = client.get(reverse("mfa_activate_totp")).content.decode()
    assert re.search(r'<img class="on-white" src="data:image/svg', page)
    styles = (ROOT / "mpet_site" / "static" / "mpet" / "site.css").read_text()
    assert ".on-white { background: #fff; }" in styles


def test_codes_are_guessed_so_often_only(ada, limit_rates):
    activate(sign_in())
    client = sign_in()
    limit_rates(login="2/hour")
    statuses = [client.post(reverse("mfa_authenticate"), {"code": f"00000{i}"}).status_code for i in range(3)]
    assert statuses == [200, 200, 429]


def test_a_token_is_not_asked_for_a_second_factor(ada):
    _, secret = ApiToken.issue(ada)
    activate(sign_in())
    assert client_of().get(f"{API}tokens/", HTTP_AUTHORIZATION=f"Bearer {secret}").status_code == 200


def test_the_sessions_are_listed_and_the_others_ended(ada):
    here, there = sign_in(REMOTE_ADDR="192.0.2.1"), sign_in(REMOTE_ADDR="192.0.2.2", HTTP_USER_AGENT="Lynx")
    page = text_of(here.get(reverse("usersessions_list")))
    assert "192.0.2.2" in page
    assert "Lynx" in page
    here.post(reverse("usersessions_list"))
    assert (is_signed_in(here), is_signed_in(there)) == (True, False)
    assert UserSession.objects.count() == 1


def test_the_admin_is_entered_by_the_same_door():
    root = User.objects.create_superuser("root", password=PASSWORD)
    activate(sign_in("root"))
    client = Client()
    door = client.post("/admin/login/", {"username": "root", "password": PASSWORD})
    assert door.url.startswith(reverse("login"))
    assert client.get("/admin/").status_code == 302
    client = sign_in("root")
    assert client.get("/admin/").status_code == 302, "the second factor is missing"
    client.force_login(root)
    assert client.get("/admin/").status_code == 200


def test_who_is_no_moderator_is_told_so_at_the_door_of_the_admin(ada):
    client = Client()
    client.force_login(ada)
    assert client.get("/admin/login/").status_code == 403


SIGN_IN_ELSEWHERE = """
import django, json; django.setup()
from django.test import Client
from django.urls import reverse
page = Client().get(reverse("login"))
github = Client().post(reverse("github_login"))
print(json.dumps([page.content.decode(), page["Content-Security-Policy"], github.status_code, github.url]))
"""


def test_github_and_any_openid_connect_provider_come_from_the_settings(migrated_folder):
    environment = environment_of(
        migrated_folder,
        DJANGO_SETTINGS_MODULE="mpet_site.settings_test",
        MPET_GITHUB_CLIENT_ID="the-id",
        MPET_GITHUB_CLIENT_SECRET="the-secret",
        MPET_OIDC_SERVER_URL="https://sso.example.org/realms/hpc",
        MPET_OIDC_CLIENT_ID="mpet",
        MPET_OIDC_CLIENT_SECRET="another",
        MPET_OIDC_NAME="Institute login",
    )
    output = output_of("-c", SIGN_IN_ELSEWHERE, environment=environment)
    page, policy, status, address = json.loads(output.splitlines()[-1])
    assert "GitHub" in page
    assert "Institute login" in page
    assert "form-action 'self' https://github.com https://sso.example.org;" in policy
    assert "the-secret" not in page
    assert status == 302
    assert address.startswith("https://github.com/login/oauth/authorize?client_id=the-id")


def test_without_settings_nobody_else_is_asked_who_somebody_is(client):
    page = client.get(reverse("login"))
    assert "GitHub" not in text_of(page)
    assert "form-action 'self';" in page["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("former", "name"),
    [
        ("password_reset/", "password_reset"),
        ("password_change/", "password_change"),
        ("address/", "address"),
        ("address/a:forged:token/", "address"),
        ("reset/MQ/a-token/", "password_reset"),
    ],
)
def test_addresses_that_people_know_lead_to_their_successors(client, former, name):
    assert client.get(f"/accounts/{former}").url == reverse(name)
