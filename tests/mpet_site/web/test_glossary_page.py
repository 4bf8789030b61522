"""The page that shows the glossary."""

from django.urls import reverse

from mpet_site.web.glossary import TERMS
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
