import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from accounts.models import ApiToken, digest_of
from tests.pages import PASSWORD, text_of, user

pytestmark = pytest.mark.django_db


def issue(client, **fields):
    return client.post(reverse("tokens"), {"name": "laptop", "scope": "predict", "lifetime": "30"} | fields)


def test_signing_in_leads_to_the_page_that_was_asked_for(client, ada):
    fields = {"login": "ada", "password": PASSWORD, "next": reverse("uploads")}
    assert client.post(reverse("login"), fields).url == reverse("uploads")


def test_a_wrong_password_says_so_and_a_foreign_address_is_not_followed(client, ada):
    assert "are not correct" in text_of(client.post(reverse("login"), {"login": "ada", "password": "x"}))
    fields = {"login": "ada", "password": PASSWORD, "next": "https://example.org/"}
    assert client.post(reverse("login"), fields).url == reverse("home")


def sign_up(client, **fields):
    given = {"email": "grace@example.org", "password1": PASSWORD, "password2": PASSWORD} | fields
    return client.post(reverse("signup"), given)


def test_an_account_is_made_and_signed_in_with(client):
    answer = sign_up(client, next=reverse("upload"))
    assert answer.url == reverse("upload")
    assert client.get(reverse("uploads")).status_code == 200
    made = User.objects.get()
    assert (made.email, made.is_staff, made.is_superuser) == ("grace@example.org", False, False)
    assert re.fullmatch(r"user-\w{10}", made.username)
    assert made.check_password(PASSWORD)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"password2": "other words entirely"}, "must type the same password"),
        ({"password1": "12345678", "password2": "12345678"}, "too common"),
        ({"email": ""}, "required"),
        ({"email": "nowhere"}, "valid email"),
    ],
)
def test_an_account_that_cannot_be_says_why(client, ada, fields, words):
    assert words in text_of(sign_up(client, **fields))
    assert User.objects.count() == 1


def test_a_new_account_is_not_led_to_other_sites(client):
    assert sign_up(client, next="https://example.org/").url == reverse("home")


def test_where_sign_up_is_off_no_account_is_made_and_no_link_leads_there(client, settings):
    settings.SIGNUP = False
    answer = sign_up(client)
    assert not User.objects.exists()
    assert "only its operators create accounts" in text_of(answer)
    assert reverse("signup") not in client.get(reverse("login")).content.decode()


@pytest.mark.parametrize(("name", "scope"), [("login", "login"), ("signup", "signup")])
def test_attempts_are_counted_by_address(client, ada, limit_rates, name, scope):
    limit_rates(**{scope: "2/min"})
    right = {"login": "ada", "password": PASSWORD}
    for _ in range(2):
        assert client.post(reverse(name), {"login": "ada", "password": "wrong"}).status_code == 200
    answer = client.post(reverse(name), right)
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 60
    assert "Too many requests" in text_of(answer)
    assert client.post(reverse(name), right, REMOTE_ADDR="192.0.2.7").status_code != 429


def test_signing_out_takes_a_post_and_leads_home(client, ada):
    client.force_login(ada)
    assert client.get(reverse("logout")).status_code == 200
    assert client.get(reverse("uploads")).status_code == 200
    assert client.post(reverse("logout")).url == reverse("home")


@pytest.mark.parametrize(
    "name",
    ["login", "signup", "password_reset", "account_reset_password_done", "account_reset_password_from_key_done"],
)
def test_pages_about_passwords_are_ours(client, name):
    page = client.get(reverse(name))
    assert page.status_code == 200
    assert "mpet/site.css" in page.content.decode()


def test_the_password_can_be_changed(client, ada):
    client.force_login(ada)
    new = "another four words here"
    fields = {"oldpassword": PASSWORD, "password1": new, "password2": new}
    assert "successfully changed" in text_of(client.post(reverse("password_change"), fields, follow=True))
    ada.refresh_from_db()
    assert ada.check_password(new)


def test_an_old_reset_link_says_so(client):
    page = client.get(reverse("account_reset_password_from_key", args=["1", "bad-token"]))
    assert "It was used already, or it has expired" in text_of(page)


def test_a_new_token_is_shown_once(client, ada):
    client.force_login(ada)
    page = issue(client)
    token = ApiToken.objects.get()
    assert digest_of(page.context["secret"]) == token.digest
    assert page.context["secret"] in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert page.context["secret"] not in client.get(reverse("tokens")).content.decode()
    assert token.expires_at is not None


def test_a_token_is_revoked_by_its_owner_alone(client, ada):
    token, _ = ApiToken.issue(ada)
    address = reverse("revoke-token", args=[token.pk])
    client.force_login(user("eve"))
    assert client.post(address).status_code == 404
    client.force_login(ada)
    assert client.get(address).status_code == 405
    assert "is revoked" in text_of(client.post(address, follow=True))
    assert not ApiToken.objects.valid().exists()


def test_a_token_is_rotated_by_its_owner_while_it_is_valid(client, ada):
    token, _ = ApiToken.issue(ada)
    address = reverse("rotate-token", args=[token.pk])
    client.force_login(user("eve"))
    assert client.post(address).status_code == 404
    client.force_login(ada)
    assert client.get(address).status_code == 405
    page = client.post(address)
    assert ApiToken.objects.get(digest=digest_of(page.context["secret"])).pk != token.pk
    assert "no-store" in page["Cache-Control"]
    ApiToken.objects.filter(pk=token.pk).revoke()
    assert client.post(address).status_code == 404
    assert ApiToken.objects.count() == 2


def test_the_page_of_tokens_says_when_and_from_where_each_was_used(client, ada):
    token, _ = ApiToken.issue(ada)
    token.note_use("192.0.2.7")
    client.force_login(ada)
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d from 192\.0\.2\.7", text_of(client.get(reverse("tokens"))))


def test_without_tokens_the_page_says_so(client, ada):
    client.force_login(ada)
    assert "You have none yet" in text_of(client.get(reverse("tokens")))


def test_an_unknown_scope_issues_nothing(client, ada):
    client.force_login(ada)
    assert issue(client, scope="admin").status_code == 422
    assert not ApiToken.objects.exists()


def test_tokens_need_an_account(client):
    assert client.get(reverse("tokens")).url.startswith(reverse("login"))


def test_tokens_take_a_fixed_number_of_queries(client, ada, django_assert_num_queries):
    client.force_login(ada)
    for _ in range(3):
        ApiToken.issue(ada)
    # session, user, tokens
    with django_assert_num_queries(3):
        client.get(reverse("tokens"))
