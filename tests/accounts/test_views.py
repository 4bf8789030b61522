import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from accounts.models import ApiToken, digest_of
from tests.pages import PASSWORD, text_of, user

pytestmark = pytest.mark.django_db


def issue(client, **fields):
    return client.post(reverse("tokens"), {"name": "laptop", "scope": "predict", "lifetime": "30"} | fields)


@pytest.mark.parametrize(("asked", "shown"), [("/uploads/", "/uploads/"), ("https://example.org/", "/")])
def test_signing_in_leads_to_the_page_that_was_asked_for_but_to_no_other_site(client, ada, asked, shown):
    fields = {"login": "ada", "password": PASSWORD, "next": asked}
    assert client.post(reverse("login"), fields).url == shown


def test_signing_in_names_an_account_without_a_mail_address_by_its_user_name(client, ada):
    page = client.post(reverse("login"), {"login": "ada", "password": PASSWORD}, follow=True)
    assert "Signed in as ada." in text_of(page)


def sign_up(client, address="127.0.0.1", **fields):
    given = {"email": "grace@example.org", "password1": PASSWORD, "password2": PASSWORD} | fields
    return client.post(reverse("signup"), given, REMOTE_ADDR=address)


def test_an_account_is_made_and_signed_in_with(client):
    answer = sign_up(client, next=reverse("upload"))
    assert answer.url == reverse("upload")
    page = text_of(client.get(reverse("uploads")))
    assert "Signed in as grace@example.org." in page and "Successfully" not in page
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


def test_attempts_to_sign_up_are_counted_by_address(client, limit_rates):
    limit_rates(signup="2/min")
    assert [sign_up(client, email="").status_code for _ in range(3)] == [200, 200, 429]
    answer = sign_up(client)
    assert 0 < int(answer["Retry-After"]) <= 60
    assert "Too many requests" in text_of(answer)
    assert sign_up(client, "192.0.2.7").status_code == 302


def test_signing_out_takes_a_post_and_leads_home(client, ada):
    client.force_login(ada)
    assert client.get(reverse("logout")).status_code == 200
    assert client.get(reverse("uploads")).status_code == 200
    assert client.post(reverse("logout")).url == reverse("home")


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


def test_an_unknown_scope_issues_nothing(client, ada):
    client.force_login(ada)
    assert issue(client, scope="admin").status_code == 422
    assert not ApiToken.objects.exists()


def test_tokens_need_an_account(client):
    assert client.get(reverse("tokens")).url.startswith(reverse("login"))


def test_tokens_take_a_fixed_number_of_queries(client, ada, django_assert_num_queries):
    client.force_login(ada)
    assert "You have none yet" in text_of(client.get(reverse("tokens")))
    for _ in range(3):
        ApiToken.issue(ada)
    # session, user, tokens
    with django_assert_num_queries(3):
        client.get(reverse("tokens"))
