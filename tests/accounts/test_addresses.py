"""Mail goes to addresses that were confirmed, and little of it: trust 8."""

import re
import threading
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core import mail, signing
from django.core.mail import EmailMessage
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts import addresses
from accounts.addresses import confirm_address, has_confirmed_address
from accounts.mails import MAIL_THREAD
from accounts.models import ApiToken, ConfirmedAddress
from tests.pages import PASSWORD, text_of, user

pytestmark = pytest.mark.django_db
ADDRESS = "ada@example.org"
NEW = "another four words here"
DAY_S = 24 * 3600


def outbox() -> list[EmailMessage]:
    """The mails, once all have been sent."""
    for thread in threading.enumerate():
        if thread.name == MAIL_THREAD:
            thread.join()
    return mail.outbox


def link_in(letter: EmailMessage) -> str:
    return re.search(r"http://testserver(\S+)", letter.body)[1]


def with_address(name: str, email: str = ADDRESS, confirmed: bool = True) -> User:
    made = user(name)
    made.email = email
    made.save()
    if confirmed:
        confirm_address(made)
    return made


def sign_up(client, name="ada", email=ADDRESS, **more):
    fields = {"username": name, "email": email, "password1": PASSWORD, "password2": PASSWORD}
    return client.post(reverse("signup"), fields, **more)


def forget(client, email=ADDRESS, **more):
    return client.post(reverse("password_reset"), {"email": email}, **more)


@pytest.fixture
def limit(settings, tmp_path):
    """limit(scope=rate): these alone are limited."""
    settings.RATES_FILE = tmp_path / "rates.sqlite3"

    def limit_rates(**rates: str) -> None:
        settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}

    return limit_rates


def test_signing_up_sends_one_link_which_confirms_the_address(client):
    page = client.get(sign_up(client).url)
    assert "on its way" in text_of(page)
    (letter,) = outbox()
    assert letter.to == [ADDRESS]
    assert "ada" in letter.body
    ada = User.objects.get()
    assert not has_confirmed_address(ada)
    assert client.head(link_in(letter)).status_code == 302
    assert not has_confirmed_address(ada)
    page = Client().get(link_in(letter), follow=True)
    assert f"{ADDRESS} is confirmed" in text_of(page)
    assert has_confirmed_address(ada)


def test_signing_up_without_an_address_sends_nothing(client):
    assert "on its way" not in text_of(client.get(sign_up(client, email="").url))
    assert outbox() == []


def test_trust_8_no_reset_mail_goes_to_an_address_that_was_never_confirmed(client):
    for number in range(21):
        with_address(f"ada{number}", confirmed=False)
    assert forget(client).url == reverse("password_reset_done")
    assert outbox() == []


def test_trust_8_one_request_sends_one_mail_however_many_accounts_have_the_address(client):
    for number in range(21):
        with_address(f"ada{number}", confirmed=number < 3)
    forget(client, email="ADA@Example.ORG")
    (letter,) = outbox()
    assert letter.to == [ADDRESS]
    assert len(set(re.findall(r"ada\d+(?=: http)", letter.body))) == 3


def test_a_forgotten_password_is_set_anew_by_mail(client):
    ada = with_address("ada")
    forget(client)
    page = client.get(link_in(*outbox()), follow=True)
    new = {"new_password1": NEW, "new_password2": NEW}
    assert "Sign in" in text_of(client.post(page.redirect_chain[-1][0], new, follow=True))
    ada.refresh_from_db()
    assert ada.check_password(NEW)


def test_whether_an_account_exists_is_told_to_nobody(client):
    with_address("ada")
    known, unknown = forget(client, follow=True), forget(client, "nobody@example.org", follow=True)
    assert known.redirect_chain == unknown.redirect_chain
    assert text_of(known) == text_of(unknown)


def test_a_mail_server_that_fails_fails_no_request(client, settings, caplog):
    settings.EMAIL_BACKEND = "nowhere.Backend"
    with_address("ada")
    assert forget(client).status_code == 302
    outbox()
    assert "could not be sent" in caplog.text


def test_one_address_gets_few_mails_whoever_asks_for_them(client, limit):
    limit(mail="2/day")
    ada = with_address("ada")
    for number in range(4):
        answer = forget(client, REMOTE_ADDR=f"192.0.2.{number}")
        assert answer.url == reverse("password_reset_done")
    assert len(outbox()) == 2
    page = client.get(sign_up(client, "eve", ada.email.upper()).url)
    assert "Too many mails went to this address" in text_of(page)
    assert len(outbox()) == 2
    assert User.objects.filter(username="eve").exists()


def test_requests_for_mail_are_limited_by_address(client, limit):
    limit(reset="2/hour")
    with_address("ada")
    statuses = [forget(client).status_code for _ in range(3)]
    assert statuses == [302, 302, 429]
    page = forget(client)
    assert 0 < int(page["Retry-After"]) <= 3600
    assert "Too many attempts" in text_of(page)
    assert len(outbox()) == 2


def test_an_address_is_changed_with_the_password_and_counts_once_it_is_confirmed(client):
    ada = with_address("ada")
    client.force_login(ada)
    assert "is confirmed" in text_of(client.get(reverse("address")))
    assert "not your password" in text_of(client.post(reverse("address"), {"email": "n@example.org", "password": "x"}))
    page = client.post(reverse("address"), {"email": "n@example.org", "password": PASSWORD}, follow=True)
    assert "n@example.org is not confirmed" in text_of(page)
    forget(client)
    forget(client, "n@example.org")
    (letter,) = outbox()
    assert letter.to == ["n@example.org"]
    assert "is confirmed: a forgotten" in text_of(client.get(link_in(letter), follow=True))
    client.post(reverse("address"), {"email": "n@example.org", "password": PASSWORD})
    assert len(outbox()) == 1, "what is confirmed is not asked about again"


def test_a_link_counts_for_its_address_for_three_days_and_unforged(client, monkeypatch):
    sign_up(client)
    link = link_in(*outbox())
    for broken in (link.replace(":", "x", 1), link[:-2] + "/"):
        page = client.get(broken)
        assert (page.status_code, "confirms nothing" in text_of(page)) == (400, True)
    with monkeypatch.context() as patched:
        patched.setattr(addresses, "LINK_VALID_S", -1)
        assert client.get(link).status_code == 400
    User.objects.update(email="other@example.org")
    assert client.get(link).status_code == 400
    assert not ConfirmedAddress.objects.exists()


def test_a_link_of_another_kind_confirms_nothing(client):
    ada = with_address("ada", confirmed=False)
    token = signing.dumps([ada.pk, ada.email], salt="something else")
    assert client.get(reverse("confirm-address", args=[token])).status_code == 400


def test_who_was_made_by_a_command_can_set_a_forgotten_password(client, monkeypatch):
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", username="root", email="root@example.org", interactive=False, verbosity=0)
    forget(client, "root@example.org")
    assert len(outbox()) == 1


def test_of_the_accounts_from_before_those_of_operators_are_confirmed():
    ada, root = with_address("ada", confirmed=False), with_address("root", "root@example.org", confirmed=False)
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    migration = import_module("accounts.migrations.0002_confirmed_addresses")
    migration.confirm_addresses_of_operators(apps, None)
    assert has_confirmed_address(root)
    assert not has_confirmed_address(ada)


def signed_in(person: User) -> Client:
    client = Client()
    assert client.login(username=person.get_username(), password=PASSWORD)
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("tokens")).status_code == 200


@pytest.mark.parametrize("revoke", [True, False])
def test_trust_17_a_changed_password_ends_other_sessions_and_on_request_tokens(revoke):
    ada = user("ada")
    here, elsewhere = signed_in(ada), signed_in(ada)
    ApiToken.issue(ada)
    ApiToken.issue(user("eve"))
    fields = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    here.post(reverse("password_change"), fields | ({"revoke_tokens": "on"} if revoke else {}))
    assert (is_signed_in(here), is_signed_in(elsewhere)) == (True, False)
    valid = ApiToken.objects.valid().values_list("user__username", flat=True)
    assert set(valid) == ({"eve"} if revoke else {"ada", "eve"})


def test_trust_17_a_password_that_is_set_by_mail_ends_all_sessions_and_on_request_tokens(client):
    ada = with_address("ada")
    elsewhere = signed_in(ada)
    ApiToken.issue(ada)
    forget(client)
    page = client.get(link_in(*outbox()), follow=True)
    client.post(page.redirect_chain[-1][0], {"new_password1": NEW, "new_password2": NEW, "revoke_tokens": "on"})
    assert not is_signed_in(elsewhere)
    assert not ApiToken.objects.valid().exists()


def test_a_password_that_a_moderator_sets_ends_all_sessions(admin_client):
    ada = user("ada")
    elsewhere = signed_in(ada)
    fields = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    admin_client.post(reverse("admin:auth_user_password_change", args=[ada.pk]), fields)
    assert not is_signed_in(elsewhere)


def test_the_admin_s_own_password_is_changed_on_the_same_page(admin_client):
    assert admin_client.get(reverse("admin:password_change")).url == reverse("password_change")
