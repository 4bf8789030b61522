"""The page that shows the glossary."""

import re

from django.urls import reverse

from mpet_site.web.glossary import READING, TERM_BY_SLUG, TERM_GROUPS, TERMS
from tests.pages import text_of


def test_the_page_shows_every_term_and_is_reached_from_every_page(client, db):
    assert f'href="{reverse("glossary")}"' in client.get(reverse("login")).content.decode()
    page = client.get(reverse("glossary"))
    assert page.status_code == 200
    words, source = text_of(page), page.content.decode()
    for term in TERMS:
        assert f'id="{term.slug}"' in source
        assert term.summary[:20] in words.replace("&#x27;", "'")
    pictures = {term.picture for term in TERMS if term.picture}
    assert source.count('<svg class="picture"') == len(pictures)  # each once, though terms share some


def test_each_term_leads_to_the_section_that_says_more(client, db):
    source = client.get(reverse("glossary")).content.decode()
    assert source.count("More: <a") == len(TERMS)
    addresses = set(re.findall(r'More: <a href="(/docs/[^"]+)"', source))
    assert len(addresses) > 15
    for address in addresses:
        path, _, anchor = address.partition("#")
        page = client.get(path)
        assert page.status_code == 200, address
        assert not anchor or f'id="{anchor}"' in page.content.decode(), address
    assert set(READING) <= {*TERM_BY_SLUG, *(group.slug for group in TERM_GROUPS)}
