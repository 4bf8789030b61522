"""What stands around every page: menu, search, footer; and the small addresses that browsers and crawlers ask for."""

import pytest
from django.urls import reverse

from tests.pages import store_private, store_public, text_of, user
from tests.predictor.conftest import store
from tests.programs import program_measurements

pytestmark = pytest.mark.django_db


def test_the_footer_says_who_runs_the_server_and_where_its_source_is(client, settings):
    settings.OPERATOR, settings.OPERATOR_URL = "An institute", "https://institute.example.org/"
    settings.SOURCE_URL = "https://source.example.org/mpet"
    page = client.get(reverse("status")).content.decode()
    footer = page.split("<footer")[1]
    assert "Run by" in footer
    for address in (settings.OPERATOR_URL, settings.SOURCE_URL):
        assert f'href="{address}"' in footer
    for name in ("Download the data", "How to cite", "Licence", "Privacy", "Status"):
        assert name in footer
    assert "An institute" in page.split("<main")[1].split("</main")[0]


SENT = ("email_verification_sent", "reset_password_done", "reset_password_from_key_done")


@pytest.mark.parametrize("name", ["login", "signup", "password_reset", *(f"account_{page}" for page in SENT)])
def test_pages_about_accounts_have_the_same_frame(client, settings, name):
    settings.OPERATOR = "An institute"
    page = client.get(reverse(name)).content.decode()
    assert "An institute" in page.split("<footer")[1]
    assert reverse("signup") in page.split('aria-label="Account"')[1].split("</nav>")[0]
    assert "contact us" not in page


def test_every_link_of_the_footer_leads_somewhere(client):
    footer = client.get(reverse("home")).content.decode().split("<footer")[1]
    addresses = [part.split('"')[0] for part in footer.split('href="')[1:]]
    assert len(addresses) > 6
    for address in addresses:
        assert client.get(address.partition("#")[0]).status_code == 200, address


def test_signed_out_the_user_menu_is_two_links_and_without_sign_up_one(client, settings):
    menu = client.get(reverse("home")).content.decode().split('aria-label="Account"')[1].split("</nav>")[0]
    assert menu.count("<a ") == 2
    settings.SIGNUP = False
    menu = client.get(reverse("status")).content.decode().split('aria-label="Account"')[1].split("</nav>")[0]
    assert reverse("signup") not in menu


def test_one_search_finds_machines_workloads_programs_and_docs(client):
    store_public()
    store(program_measurements(), label="program")
    found = {
        result["name"]: result for result in client.get(reverse("api-search"), {"q": "machine-1"}).json()["results"]
    }
    assert found["machine-1"]["kind"] == "machine"
    assert found["machine-1"]["url"] == "/platforms/machine-1/"
    kinds = [result["kind"] for text in ("app0", "sort") for result in results_of(client, text)]
    assert {"workload", "program"} <= set(kinds)
    docs = [result for result in results_of(client, "public dump") if result["kind"] == "docs"]
    assert docs[0]["url"].startswith("/docs/dump.md")
    for result in [*found.values(), *results_of(client, "sort"), *docs[:1]]:
        assert client.get(result["url"].partition("#")[0]).status_code == 200, result


def results_of(client, text: str) -> list[dict]:
    return client.get(reverse("api-search"), {"q": text}).json()["results"]


def test_the_search_works_without_scripts_as_a_page(client):
    store_public()
    assert client.get(reverse("search"), {"q": "Machine-1"}).url == reverse("platform", args=["machine-1"])
    page = client.get(reverse("search"), {"q": "machine"})
    assert 'href="/platforms/machine-1/"' in page.content.decode()
    assert "Nothing has all of these words" in text_of(client.get(reverse("search"), {"q": "zebra unicorn"}))
    assert "at most 10 words" in text_of(client.get(reverse("search"), {"q": "a " * 11}))
    assert client.get(reverse("api-search"), {"q": "a " * 11}).status_code == 400
    assert client.get(reverse("api-search"), {"q": "machine", "most": 1}).json()["results"][0]["kind"] == "machine"


def test_private_names_are_found_by_their_owner_only(client):
    ada = user("ada")
    store_private(ada)
    assert results_of(client, "secret-machine") == []
    client.force_login(ada)
    assert [result["kind"] for result in results_of(client, "secret-machine")] == ["machine"]


def test_small_addresses_answer(client):
    assert client.get("/favicon.ico").status_code == 302
    robots = client.get("/robots.txt")
    assert "Disallow: /accounts/" in robots.content.decode()
    assert robots["Content-Type"].startswith("text/plain")
    assert client.get("/tokens/").url == reverse("tokens")
    assert client.get("/tokens/").status_code == 301
    assert client.get(reverse("components")).status_code == 200


def test_the_status_page_says_what_is_wrong(client, monkeypatch):
    assert "Everything works" in text_of(client.get(reverse("status")))
    monkeypatch.setattr("mpet_site.web.health.storage_fault", lambda: "has 3 MiB left")
    assert "the state folder has 3 MiB left" in text_of(client.get(reverse("status")))


def test_one_link_leads_to_a_forgotten_password(client):
    page = client.get(reverse("login")).content.decode()
    assert page.count(f'href="{reverse("password_reset")}"') == 1
