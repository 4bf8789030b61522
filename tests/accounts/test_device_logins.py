"""A program is signed in by the browser: one code on the page, another in the program, and a token once."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.device_logins import LOGIN_LIFETIME, LoginNotKnown, answer_login, begin_login, hand_out_token
from accounts.models import ApiToken, DeviceLogin
from tests.mpet_site.api_samples import API, client_of
from tests.mpet_site.web.test_problems import problem_in
from tests.pages import text_of, user

pytestmark = pytest.mark.django_db
PAGE = "/accounts/device/"


@pytest.fixture
def begun():
    return client_of().post(API + "login/", {"program": "mpet on laptop"}, format="json").json()


def ask(begun, **others):
    return client_of().post(API + "login/token/", {"device_code": begun["device_code"]} | others, format="json")


def is_waiting(begun):
    answer = ask(begun)
    return answer.status_code == 200 and answer.json() == {"token": None, "username": None, "expires_at": None}


def agree(client, begun, answer="agree"):
    return client.post(PAGE, {"code": begun["code"], "answer": answer})


def test_the_code_is_typed_the_person_agrees_and_the_program_gets_a_token_once(client, ada, begun):
    assert begun["url"] == f"http://testserver{PAGE}" and "?" not in begun["url"]
    waiting = ask(begun)
    assert (waiting.status_code, waiting.json()["token"]) == (200, None)
    client.force_login(ada)
    shown = text_of(client.post(PAGE, {"code": begun["code"].lower().replace("-", " ")}))
    assert "mpet on laptop" in shown and "127.0.0.1" in shown and "ada" in shown
    assert is_waiting(begun), "looking a code up is no consent"
    said = agree(client, begun)
    assert "mpet on laptop is signed in as ada" in text_of(said)

    handed = ask(begun)
    assert (handed.status_code, handed["Cache-Control"]) == (200, "no-store")
    token = handed.json()["token"]
    assert handed.json()["username"] == "ada" and token not in said.content.decode()
    kept = ApiToken.objects.get()
    assert (kept.user, kept.scope, kept.name) == (ada, "upload", "mpet on laptop")
    account = client_of().get(API + "account/", HTTP_AUTHORIZATION=f"Bearer {token}")
    assert account.json()["username"] == "ada"

    problem_in(ask(begun), 404)
    assert "No program waits for this code" in text_of(agree(client, begun))
    assert ApiToken.objects.count() == 1 and not DeviceLogin.objects.exists()


def test_who_refuses_gives_nothing(client, ada, begun):
    client.force_login(ada)
    assert "You refused" in text_of(agree(client, begun, "deny"))
    problem_in(ask(begun), 403)
    problem_in(ask(begun), 404)
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("answer", ["agree", "deny"])
def test_one_answer_counts(client, ada, begun, answer):
    client.force_login(ada)
    agree(client, begun, answer)
    other = user("bob")
    with pytest.raises(LoginNotKnown):
        answer_login(begun["code"], other, agreed=True)
    assert DeviceLogin.objects.get().user == ada


def test_a_code_ends_after_ten_minutes(client, ada, begun):
    client.force_login(ada)
    assert begun["expires_in"] == LOGIN_LIFETIME.total_seconds() == 600
    agree(client, begun)
    DeviceLogin.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert ask(begun).status_code == 404
    assert not ApiToken.objects.exists()
    begin_login("another", "192.0.2.1")
    assert DeviceLogin.objects.count() == 1, "what has ended goes with the next one"


def test_an_ended_code_is_not_found_on_the_page(client, ada, begun):
    DeviceLogin.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    client.force_login(ada)
    answer = agree(client, begun)
    assert answer.status_code == 422 and "No program waits" in text_of(answer)


@pytest.mark.parametrize("code", ["BBBB-BBBB", "", "<script>alert(1)</script>", "x" * 500])
def test_a_wrong_code_finds_nothing(client, ada, begun, code):
    client.force_login(ada)
    answer = client.post(PAGE, {"code": code, "answer": "agree"})
    assert answer.status_code == 422
    assert "<script>alert" not in answer.content.decode()
    assert DeviceLogin.objects.get().answer == ""


@pytest.mark.parametrize("device_code", ["", "x", "x" * 101, None, 7, "\0"])
def test_a_wrong_device_code_gets_nothing(begun, device_code):
    assert ask(begun, device_code=device_code).status_code in (400, 404)
    assert is_waiting(begun)


def test_the_code_on_the_page_is_not_what_fetches_the_token(client, ada, begun):
    client.force_login(ada)
    agree(client, begun)
    for code in (begun["code"], begun["code"].replace("-", "")):
        assert ask(begun, device_code=code).status_code == 404


def test_the_page_is_for_who_is_signed_in_and_needs_its_own_form(begun, ada):
    stranger = client_of()
    assert stranger.get(PAGE).url == f"{reverse('login')}?next={PAGE}"
    assert agree(stranger, begun).status_code == 302
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(ada)
    assert careful.post(PAGE, {"code": begun["code"], "answer": "agree"}).status_code == 403
    assert is_waiting(begun)


def test_nothing_of_a_login_is_taken_from_an_address(client, ada, begun):
    client.force_login(ada)
    page = client.get(PAGE, {"code": begun["code"], "answer": "agree"})
    assert begun["code"] not in page.content.decode()
    for path in ("login/", "login/token/"):
        assert client.get(API + path).status_code == 405
        answer = client_of().post(f"{API}{path}?device_code={begun['device_code']}", {}, format="json")
        assert answer.status_code == 400
    assert is_waiting(begun)


def test_a_name_is_shown_as_text(client, ada):
    begun = client_of().post(API + "login/", {"program": "<b>you</b>"}, format="json").json()
    client.force_login(ada)
    page = client.post(PAGE, {"code": begun["code"]}).content.decode()
    assert "&lt;b&gt;you&lt;/b&gt;" in page and "<b>you</b>" not in page
    problem_in(client_of().post(API + "login/", {"program": "p", "scope": "admin"}, format="json"), 400)
    for program in ("", "x" * 101, 7, None):
        body = json.dumps({"program": program})
        assert client_of().post(API + "login/", body, content_type="application/json").status_code == 400


def test_an_account_that_was_closed_gets_no_token(client, ada, begun):
    client.force_login(ada)
    agree(client, begun)
    ada.is_active = False
    ada.save()
    assert ask(begun).status_code == 404
    ada.delete()
    assert not DeviceLogin.objects.exists()


def test_of_two_questions_at_once_one_gets_the_token(ada, monkeypatch):
    _, device_code = begin_login("mpet", "192.0.2.1")
    answer_login(DeviceLogin.objects.get().code, ada, agreed=True)
    issue = ApiToken.issue

    def issue_late(*words, **options):
        with pytest.raises(LoginNotKnown):
            hand_out_token(device_code)
        return issue(*words, **options)

    monkeypatch.setattr(ApiToken, "issue", issue_late)
    hand_out_token(device_code)
    assert ApiToken.objects.count() == 1


def test_who_asks_and_who_guesses_too_often_waits(client, ada, limit_rates):
    limit_rates(device="2/hour", login="3/min")
    answers = [client_of().post(API + "login/", {"program": "p"}, format="json") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[-1]["Retry-After"]) > 0
    client.force_login(ada)
    assert [client.post(PAGE, {"code": "BBBB-BBBB"}).status_code for _ in range(4)] == [422, 422, 422, 429]
    right = answers[0].json()["code"]
    assert client.post(PAGE, {"code": right, "answer": "agree"}).status_code == 429
