"""Administrators look at tokens and revoke them."""

import pytest
from django.test import Client

from accounts.models import ApiToken
from tests.accounts.test_authentication import get
from tests.mpet_site.api_samples import make_user
from tests.mpet_site.web.test_problems import problem_in

pytestmark = pytest.mark.django_db


def test_no_two_applications_of_the_admin_have_one_name(admin_client):
    names = [app["name"] for app in admin_client.get("/admin/").context["app_list"]]
    assert len(names) == len(set(names)) and "API tokens" in names


def test_admin_lists_and_revokes_without_showing_secrets(ada):
    staff = make_user("root", is_staff=True, is_superuser=True)
    token, secret = ApiToken.issue(ada, name="laptop")
    browser = Client()
    browser.force_login(staff)
    page = browser.get("/admin/accounts/apitoken/").content.decode()
    assert token.prefix in page
    assert token.digest not in page
    assert browser.get("/admin/accounts/apitoken/add/").status_code == 403
    browser.post("/admin/accounts/apitoken/", {"action": "revoke", "_selected_action": [token.pk]})
    problem_in(get(secret), 401)
