"""Every page and every address of the API answers, on whatever database."""

from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import resolve, reverse

from mpet_site.web.api import ListView
from tests.browser.walk import CHARTS, pages_of
from tests.pages import figures_of, store_dataset, store_public

pytestmark = pytest.mark.django_db


def test_every_page_answers_and_lacks_no_figure(ada):
    """figures_of checks that each is as Plotly wants it."""
    store_dataset()
    walk = pages_of(store_public()[0], ada)
    anybody, owner = Client(), Client()
    owner.force_login(ada)
    pages = {
        name: (owner if is_own else anybody).get(address, follow=True) for name, address, is_own in walk.everywhere()
    }
    assert {name: page.status_code for name, page in pages.items() if page.status_code != 200} == {}
    counts = {
        name: sum("layout" in each for each in figures_of(pages[name]).values()) for name in CHARTS.keys() & walk.public
    }
    assert sum(counts.values()) > 60
    assert {name: count for name, count in counts.items() if count < CHARTS[name]} == {}


def test_every_list_of_the_api_is_searched_and_sorted_by_every_column(ada):
    pages_of(store_public()[0], ada)
    client = Client()
    client.force_login(ada)
    statuses = {
        address + query: client.get(address + query).status_code
        for address in client.get(reverse("api-root")).json().values()
        if issubclass(view := resolve(urlsplit(address).path).func.view_class, ListView)
        for query in (
            "",
            "?search=app",
            *(f"?ordering={sign}{name}" for name in view.ordering_fields for sign in ("", "-")),
        )
    }
    assert len(statuses) > 50
    assert {address: status for address, status in statuses.items() if status != 200} == {}
