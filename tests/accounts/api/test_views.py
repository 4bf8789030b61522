from datetime import timedelta

import pytest

from accounts.models import ApiToken
from tests.mpet_site.api_samples import API, client_of, make_user
from tests.mpet_site.web.test_problems import problem_in

pytestmark = pytest.mark.django_db


def test_one_s_own_tokens_are_listed_without_their_secrets():
    ada = make_user("ada")
    client = client_of(ada, "predict")
    ApiToken.issue(ada, name="old", lifetime=timedelta(days=-1))
    _, secret = ApiToken.issue(make_user("eve"), name="of eve")
    answer = client.get(API + "tokens/?ordering=created_at")
    rows = answer.json()["results"]
    assert [(row["name"], row["scope"], row["valid"]) for row in rows] == [
        ("", "predict", True),
        ("old", "predict", False),
    ]
    assert not {"digest", "secret", "id"} & set(rows[0])
    assert secret[:12] not in answer.content.decode()


def test_a_revoked_token_is_listed_as_not_valid():
    ada = make_user("ada")
    client = client_of(ada)
    ApiToken.issue(ada, name="laptop")
    before = client.get(API + "tokens/")["ETag"]
    ApiToken.objects.filter(name="laptop").revoke()
    answer = client.get(API + "tokens/", HTTP_IF_NONE_MATCH=before)
    assert answer.status_code == 200
    assert {row["name"]: row["valid"] for row in answer.json()["results"]} == {"laptop": False, "": True}


def test_tokens_are_nobody_else_s(client, db):
    problem_in(client_of().get(API + "tokens/"), 401)
