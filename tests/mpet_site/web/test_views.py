"""Links to the documentation lead somewhere: the types of problem documents, and the index."""

import re
from functools import cache
from urllib.parse import urlsplit

import pytest
from django.urls import reverse

from mpet_site.web import documents
from mpet_site.web.documents import document_names
from mpet_site.web.glossary import READING, TERM_BY_SLUG, TERM_GROUPS, TERMS
from mpet_site.web.problems import DOCS, Problem, problem_response
from tests.pages import text_of

pytestmark = pytest.mark.django_db


def test_each_type_has_a_name_of_its_own():
    names = sorted(problem.name for problem in Problem.__subclasses__())
    assert names == ["conflict", "invalid-request", "no-prediction", "payload-too-large"]


def test_each_type_is_the_address_of_its_explanation(client):
    for problem in Problem.__subclasses__():
        error = problem([]) if problem.name == "invalid-request" else problem("no")
        assert problem_response(error).status_code == problem.status_code
        address = urlsplit(DOCS + problem.name)
        page = client.get(address.path)
        assert page.status_code == 200
        anchor = f'<a id="{address.fragment}"'
        assert page.content.decode().count(anchor) == 1
        text = page.content.decode().split(anchor)[1][:200]
        assert problem.name in text and str(problem.status_code) in text


def test_every_page_is_there_and_each_of_its_links_leads_somewhere(client):
    broken, checked = [], 0

    @cache
    def read(path: str) -> str:
        """The page's text, a picture's name, or "" where nothing is."""
        answer = client.get(path)
        if answer.status_code != 200:
            return ""
        return path if answer.streaming else answer.content.decode()

    for name in document_names():
        page = read(reverse("document", args=[name]))
        assert page, name
        for address in set(re.findall(r'(?:href|src)="(/docs/[^"]*)"', page.split("<main")[1])):
            path, _, anchor = address.partition("#")
            checked += 1
            if not read(path) or (anchor and f'id="{anchor}"' not in read(path)):
                broken.append(f"{name} -> {address}")
    assert not broken
    assert checked > 200


@pytest.mark.parametrize("name", ["../manage.py", "nothing.md", "images/../api.md", "openapi.yaml", "images/none.png"])
def test_nothing_else_is_served(client, name):
    assert client.get(f"/docs/{name}").status_code == 404


def test_pictures_are_served(client):
    answer = client.get("/docs/images/front.png")
    assert answer["Content-Type"] == "image/png"
    assert b"".join(answer.streaming_content).startswith(b"\x89PNG")


@pytest.fixture
def docs_folder(monkeypatch, tmp_path):
    """An empty folder in the place of docs/."""
    monkeypatch.setattr(documents, "DOCUMENTS", tmp_path)
    documents.document_names.cache_clear()
    yield tmp_path
    documents.document_names.cache_clear()


def test_a_picture_follows_dark_mode_where_there_is_one_of_it(docs_folder):
    (docs_folder / "images").mkdir()
    for name in ("front.png", "front-dark.png", "light-only.png"):
        (docs_folder / "images" / name).write_bytes(b"")
    (docs_folder / "seen.md").write_text("# Seen\n\n![Front](images/front.png)\n\n![Light](images/light-only.png)\n")
    html = documents.read_document("seen.md").html
    assert html.count("<picture>") == 1
    assert 'srcset="/docs/images/front-dark.png" media="(prefers-color-scheme: dark)"' in html
    assert '<p><img alt="Light" src="/docs/images/light-only.png"></p>' in html


def test_html_in_a_page_is_sanitised(docs_folder):
    (docs_folder / "planted.md").write_text(
        "# Planted\n\n<script>alert(1)</script><b onclick='x()'>bold</b> [link](javascript:alert(1))\n\n"
        "<iframe src='https://evil.example'></iframe>\n"
    )
    html = documents.read_document("planted.md").html
    assert "<b>bold</b>" in html
    for planted in ("<script", "onclick", 'href="javascript', "<iframe"):
        assert planted not in html


def test_search_finds_sections_by_all_words_headlines_first(client):
    page = client.get("/docs/", {"q": "public dump"}).content.decode()
    first = re.search(r'<h2>\s*<a href="([^"]+)"', page)[1]
    assert first.startswith("/docs/dump.md#")
    assert "No section contains all of these words" in client.get("/docs/", {"q": "zebra unicorn"}).content.decode()
    assert "at most 10 words" in client.get("/docs/", {"q": "a " * 11}).content.decode()
    planted = client.get("/docs/", {"q": "<script>alert(1)"}).content.decode()
    assert "<script>alert" not in planted
    settings = documents.read_document("settings.md").sections
    assert "Every gunicorn process" in next(one.text for one in settings if one.title == "Chores")
    assert "there is nothing to schedule" in next(one.text for one in settings if one.title == "Chores")
    for found in documents.search_documents("lease"):
        assert "lease" in f"{found.section.title} {found.section.text} {found.document.title}".lower()


def test_the_index_names_the_pages_of_the_documentation(client):
    index = client.get(reverse("docs")).content.decode().split("<main")[1]
    own = [path.relative_to(documents.DOCUMENTS).as_posix() for path in documents.DOCUMENTS.glob("*.md")]
    own += ["tutorial/1-measure.md", "audiences/hpc.md", "decisions/README.md", "project/CONTRIBUTING.md"]
    missing = [name for name in own if f'href="{reverse("document", args=[name])}"' not in index]
    assert missing == ["README.md"]


def test_the_index_leads_on_and_is_linked_from_every_page(client):
    assert f'href="{reverse("docs")}"' in client.get(reverse("home")).content.decode()
    for address in re.findall(r'<li><a href="([^"]+)"', client.get(reverse("docs")).content.decode()):
        assert client.get(address).status_code == 200, address


def test_where_nothing_is_stored_a_visitor_reads_what_to_do(client):
    for name in ("platforms", "ranking", "predict", "what-if"):
        page = client.get(reverse(name)).content.decode()
        for step in ("measure", "signup", "upload"):
            assert f'href="{reverse(step)}"' in page.split("<main")[1], (name, step)
    assert "manage.py" not in client.get(reverse("accuracy")).content.decode()


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


def test_the_documentation_has_five_sections_and_internals_apart():
    sections = [chapter.title for chapter in documents.chapters()]
    assert sections == ["Start", "Measure", "Predict", "Run a server", "Reference", "Internals"]
    listed = [name for chapter in documents.chapters() for name, _ in chapter.pages]
    assert len(listed) == len(set(listed)) > 40
    assert set(listed) <= set(documents.document_names())


def test_a_page_has_the_side_bar_its_contents_and_its_neighbours(client, db):
    page = client.get(reverse("document", args=["install.md"])).content.decode()
    assert re.search(r"<h[1-6]\b", page).group() == "<h1"
    assert 'rel="prev">← In Python, without a server' in page
    assert 'rel="next">Backups, metrics' in page
    assert f'href="{reverse("document", args=["install.md"])}"' in page
    assert 'aria-current="page"' in page
    contents = page.split('class="contents"')[1]
    assert contents.index("#install") < contents.index("#upgrade")
    assert "code-map.md" not in page.split('aria-label="Documentation"')[1].split("</nav>")[0], "internals are apart"
    last = documents.place_of("simulator.md")
    assert last[2] is None, "users' pages do not lead on into internals"
    assert documents.place_of("decisions/privacy.md")[0].title == "Internals"
    assert documents.place_of("accuracy/gbm.md")[0].title == "Predict"
