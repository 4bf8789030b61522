"""Mail goes to addresses that were confirmed, and little of it: trust 8."""

import re
import threading
import time

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts.mails import MAIL_THREAD, confirm_address, has_confirmed_address
from accounts.models import ApiToken
from tests.accounts.test_second_factor import is_signed_in, sign_in
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


def sign_up(client, email=ADDRESS, **more):
    fields = {"email": email, "password1": PASSWORD, "password2": PASSWORD}
    return client.post(reverse("signup"), fields, **more)


def forget(client, email=ADDRESS, **more):
    return client.post(reverse("password_reset"), {"email": email}, **more)


def confirm(letter: EmailMessage, client: Client | None = None):
    """What its reader does: opens the link, and presses the button there."""
    return (client or Client()).post(link_in(letter), follow=True)


def test_signing_up_sends_one_link_which_confirms_the_address(client):
    page = client.get(sign_up(client).url)
    assert "email sent to" in text_of(page)
    (letter,) = outbox()
    assert letter.to == [ADDRESS]
    ada = User.objects.get()
    assert letter.body.count(ada.username) == 1
    assert letter.subject == "[MPET] Your account is ready: confirm your mail address"
    for step in ("measure", "tokens", "home"):
        assert f"http://testserver{reverse(step)}" in letter.body, "the product is named, and the next step"
    assert "example.com" not in letter.body
    for look in (client.head, client.get):
        assert look(link_in(letter)).status_code == 200
        assert not has_confirmed_address(ada), "a program that follows links confirms nothing"
    assert f"You have confirmed {ADDRESS}" in text_of(confirm(letter))
    assert has_confirmed_address(ada)


def test_no_further_verification_is_sent_when_somebody_signs_in_or_claims_the_address_again(client, limit_rates):
    limit_rates(verification="1/day")
    sign_up(client)
    ada = User.objects.get()
    for _ in range(3):
        assert Client().post(reverse("login"), {"login": ada.username, "password": PASSWORD}).status_code == 302
    sign_up(Client())
    sign_up(Client(), email=ADDRESS.upper())
    again = Client()
    again.post(reverse("login"), {"login": ada.username, "password": PASSWORD})
    again.post(reverse("address"), {"action_send": "", "email": ADDRESS})
    assert len(outbox()) == 1


def test_signing_up_says_the_same_whether_an_account_has_the_address_or_not(client):
    """And so does signing in, with a wrong password."""
    with_address("ada")
    pages = [sign_up(Client(), email=email, follow=True) for email in (ADDRESS, "new@example.org")]
    assert pages[0].redirect_chain == pages[1].redirect_chain
    named = re.compile(rf"{ADDRESS}|new@example.org|user-\w{{10}}")
    texts = [named.sub("", text_of(page)) for page in pages]
    assert texts[0] == texts[1]
    for known, unknown in (("ada", "nobody"), (ADDRESS, "nobody@example.org")):
        answers = [Client().post(reverse("login"), {"login": login, "password": "x"}) for login in (known, unknown)]
        assert "are not correct" in text_of(answers[0])
        assert text_of(answers[0]) == text_of(answers[1])


def test_an_address_is_verified_by_one_account_only(client):
    """Whoever claims it later, and reads its mail, is told."""
    with_address("ada")
    sign_up(client)
    (letter,) = outbox()
    assert "already" in text_of(confirm(letter)) or "Unable to confirm" in text_of(confirm(letter))
    assert EmailAddress.objects.filter(verified=True).count() == 1


def test_trust_8_no_reset_mail_goes_to_an_address_that_was_never_confirmed(client):
    for number in range(21):
        with_address(f"ada{number}", confirmed=False)
    assert forget(client).url == reverse("account_reset_password_done")
    assert outbox() == []


def test_trust_8_one_request_sends_one_mail_however_many_accounts_have_the_address(client):
    for number in range(21):
        with_address(f"ada{number}", confirmed=number == 7)
    forget(client, email="ADA@Example.ORG")
    (letter,) = outbox()
    assert letter.to == [ADDRESS]
    assert re.findall(r"ada\d+(?=: http)", letter.body) == ["ada7"]


def set_new_password(client: Client, letter: EmailMessage, **fields: str):
    page = client.get(link_in(letter), follow=True)
    new = {"password1": NEW, "password2": NEW}
    return client.post(page.redirect_chain[-1][0], new | fields, follow=True)


def test_a_forgotten_password_is_set_anew_by_mail_and_the_link_counts_once(client):
    ada = with_address("ada")
    forget(client)
    (letter,) = outbox()
    assert "Your password is changed" in text_of(set_new_password(client, letter))
    ada.refresh_from_db()
    assert ada.check_password(NEW)
    assert "It was used already, or it has expired" in text_of(Client().get(link_in(letter), follow=True))


def test_trust_third_12_links_in_mails_lead_to_the_site_whatever_host_their_asker_names(client, settings):
    """The link of a forgotten password was built from the header Host."""
    settings.ALLOWED_HOSTS, settings.SITE_URL = ["*"], "https://mpet.example.org"
    with_address("ada")
    forget(client, headers={"Host": "e.co"})
    sign_up(client, email="grace@example.org", headers={"Host": "e.co"})
    letters = outbox()
    assert len(letters) == 2
    for letter in letters:
        assert "https://mpet.example.org/accounts/" in letter.body
        assert "e.co" not in letter.subject + letter.body


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


def test_one_address_gets_few_mails_whoever_asks_for_them(client, limit_rates):
    limit_rates(mail="2/day")
    ada = with_address("ada")
    for number in range(4):
        answer = forget(client, REMOTE_ADDR=f"192.0.2.{number}")
        assert answer.url == reverse("account_reset_password_done")
    sign_up(client, ada.email.upper())
    assert len(outbox()) == 2
    assert User.objects.count() == 2


def test_requests_for_mail_are_limited_by_address(client, limit_rates):
    limit_rates(reset="2/hour")
    with_address("ada")
    statuses = [forget(client).status_code for _ in range(3)]
    assert statuses == [302, 302, 429]
    page = forget(client)
    assert 0 < int(page["Retry-After"]) <= 3600
    assert "Too many requests" in text_of(page)
    assert len(outbox()) == 2


def test_an_address_is_changed_with_the_password_and_counts_once_it_is_confirmed(client):
    ada = with_address("ada")
    client.force_login(ada)
    asked = client.post(reverse("address"), {"email": "n@example.org", "action_add": ""})
    assert asked.url.startswith(reverse("reauthenticate"))
    assert client.post(asked.url, {"password": "x"}).status_code == 200
    assert outbox() == []
    client.post(asked.url, {"password": PASSWORD}, follow=True)
    ada.refresh_from_db()
    assert ada.email == ADDRESS
    forget(client)
    forget(client, "n@example.org")
    assert sorted(letter.to for letter in outbox()) == [[ADDRESS], ["n@example.org"]]
    (letter,) = (letter for letter in outbox() if letter.to != [ADDRESS])
    assert "confirm" in letter.body
    confirm(letter)
    ada.refresh_from_db()
    assert ada.email == "n@example.org"
    forget(client)
    assert len(outbox()) == 2, "the former address is nobody's"


def test_a_link_counts_for_its_address_for_three_days_and_unforged(client, monkeypatch):
    sign_up(client)
    (letter,) = outbox()
    link = link_in(letter)
    for broken in (link.replace(":", "x", 1), link[:-2] + "/"):
        assert "expired or is invalid" in text_of(client.get(broken))
        client.post(broken)
    later = time.time() + 3 * DAY_S + 60
    with monkeypatch.context() as patched:
        patched.setattr("django.core.signing.time.time", lambda: later)
        assert "expired or is invalid" in text_of(Client().get(link))
    assert not EmailAddress.objects.filter(verified=True).exists()


def test_who_was_made_by_a_command_can_set_a_forgotten_password(client, monkeypatch):
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", username="root", email="root@example.org", interactive=False, verbosity=0)
    forget(client, "root@example.org")
    assert len(outbox()) == 1


@pytest.mark.parametrize("revoke", [True, False])
def test_trust_17_a_changed_password_ends_other_sessions_and_on_request_tokens(revoke):
    ada = user("ada")
    here, elsewhere = sign_in(), sign_in()
    ApiToken.issue(ada)
    ApiToken.issue(user("eve"))
    fields = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    page = here.post(reverse("password_change"), fields | ({"revoke_tokens": "on"} if revoke else {}), follow=True)
    assert "successfully changed" in text_of(page)
    ada.refresh_from_db()
    assert ada.check_password(NEW)
    assert (is_signed_in(here), is_signed_in(elsewhere)) == (True, False)
    valid = ApiToken.objects.valid().values_list("user__username", flat=True)
    assert set(valid) == ({"eve"} if revoke else {"ada", "eve"})


def test_trust_17_a_password_that_is_set_by_mail_ends_all_sessions_and_on_request_tokens(client):
    ada = with_address("ada")
    elsewhere = sign_in()
    ApiToken.issue(ada)
    forget(client)
    assert is_signed_in(elsewhere)
    set_new_password(client, *outbox(), revoke_tokens="on")
    assert not is_signed_in(elsewhere)
    assert not ApiToken.objects.valid().exists()


def test_a_password_that_a_moderator_sets_ends_all_sessions(admin_client):
    ada = user("ada")
    elsewhere = sign_in()
    assert is_signed_in(elsewhere)
    fields = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    admin_client.post(reverse("admin:auth_user_password_change", args=[ada.pk]), fields)
    assert not is_signed_in(elsewhere)


def test_the_admin_s_own_password_is_changed_on_the_same_page(admin_client):
    assert admin_client.get(reverse("admin:password_change")).url == reverse("password_change")
