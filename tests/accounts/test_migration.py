"""Accounts and tokens of the release before django-allauth, after `migrate`: nobody loses anything."""

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.urls import reverse

from accounts.models import ConfirmedAddress, digest_of
from tests.mpet_site.api_samples import API, client_of
from tests.pages import PASSWORD

BEFORE = [("accounts", "0002_confirmed_addresses"), ("account", None), ("mfa", None), ("usersessions", None)]
SECRET = "mpet_a-secret-of-the-former-release"


def migrate_to(targets) -> MigrationExecutor:
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection)


@pytest.fixture
def former(transactional_db):
    """The models of the release before; afterwards the database is migrated again."""
    yield migrate_to(BEFORE).loader.project_state([BEFORE[0], ("auth", "0012_alter_user_first_name_max_length")]).apps
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.mark.lab
def test_users_addresses_and_tokens_of_the_former_release_keep_working(former):
    models = [former.get_model(*name) for name in (("auth", "User"), ("accounts", "ConfirmedAddress"))]
    user_model, confirmed_model = models
    password = make_password(PASSWORD)
    users = {
        name: user_model.objects.create(username=name, email=email, password=password, last_login=login)
        for name, email, login in (
            ("ada", "Ada@Example.org", None),
            ("eve", "eve@example.org", None),
            ("grace", "", None),
            ("twin", "ada@example.org", "2026-01-01T00:00:00Z"),
        )
    }
    for name in ("ada", "twin"):
        confirmed_model.objects.create(user=users[name], email=users[name].email)
    former.get_model("accounts", "ApiToken").objects.create(
        user=users["ada"], prefix=SECRET[:12], digest=digest_of(SECRET), scope="upload"
    )
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())

    assert ConfirmedAddress.objects.count() == 2, "the former release may serve this database meanwhile"
    kept = {
        address.user.username: (address.email, address.verified, address.primary)
        for address in EmailAddress.objects.select_related("user")
    }
    assert kept == {
        "ada": ("ada@example.org", False, True),
        "eve": ("eve@example.org", False, True),
        "twin": ("ada@example.org", True, True),
    }
    for name in users:
        client = Client()
        assert client.post(reverse("login"), {"login": name, "password": PASSWORD}).status_code == 302
        assert client.get(reverse("tokens")).status_code == 200, name
    answer = client_of().get(f"{API}tokens/", HTTP_AUTHORIZATION=f"Bearer {SECRET}").json()["results"]
    assert [(token["valid"], token["expires_at"]) for token in answer] == [(True, None)]

    back = migrate_to([("accounts", "0002_confirmed_addresses")]).loader.project_state(
        [("accounts", "0002_confirmed_addresses"), ("auth", "0012_alter_user_first_name_max_length")]
    )
    again = back.apps.get_model("accounts", "ConfirmedAddress").objects.values_list("user__username", "email")
    assert set(again) == {("ada", "Ada@Example.org"), ("twin", "ada@example.org")}, "the former release reads them"
