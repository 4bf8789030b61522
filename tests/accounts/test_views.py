import pytest
from django.urls import reverse

from accounts.models import ApiToken, digest_of
from tests.pages import PASSWORD, text_of, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return user("ada")


def issue(client, **fields):
    return client.post(reverse("tokens"), {"name": "laptop", "scope": "predict", "lifetime": "30"} | fields)


def test_signing_in_leads_to_the_page_that_was_asked_for(client, ada):
    fields = {"username": "ada", "password": PASSWORD, "next": reverse("uploads")}
    assert client.post(reverse("login"), fields).url == reverse("uploads")


def test_a_wrong_password_says_so_and_a_foreign_address_is_not_followed(client, ada):
    assert "correct username and password" in text_of(
        client.post(reverse("login"), {"username": "ada", "password": "x"})
    )
    fields = {"username": "ada", "password": PASSWORD, "next": "https://example.org/"}
    assert client.post(reverse("login"), fields).url == reverse("home")


def test_signing_out_takes_a_post_and_leads_home(client, ada):
    client.force_login(ada)
    assert client.get(reverse("logout")).status_code == 405
    assert client.post(reverse("logout")).url == reverse("home")


@pytest.mark.parametrize("name", ["login", "password_reset", "password_reset_done", "password_reset_complete"])
def test_pages_about_passwords_are_ours(client, name):
    page = client.get(reverse(name))
    assert page.status_code == 200
    assert "mpet/site.css" in page.content.decode()


def test_the_password_can_be_changed(client, ada):
    client.force_login(ada)
    new = "another four words here"
    fields = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert "counts from now on" in text_of(client.post(reverse("password_change"), fields, follow=True))
    ada.refresh_from_db()
    assert ada.check_password(new)


def test_an_old_reset_link_says_so(client):
    page = client.get(reverse("password_reset_confirm", args=["MQ", "bad-token"]))
    assert "used before or is too old" in text_of(page)


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
