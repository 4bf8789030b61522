"""The pages of docs/ as HTML, and the search in them. The HTML is sanitised, because the pages are not trusted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin

from mpet_site.web.lists import words_of_search

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = REPOSITORY / "docs"
PROJECT_PAGES = {name: f"project/{name}" for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")}
IMAGES = "images"
DARK = "-dark"  # suffix of the file name of a picture for dark mode
OVERVIEW = "README.md"
INTERNALS = "Internals"  # the section of docs/README.md for developers
HEADLINE_WEIGHT = 20
MOST_FOUND = 30
SNIPPET_CHARACTERS = 160
ATTRIBUTES = {name: {"id"} for name in ("h1", "h2", "h3", "h4", "h5", "h6")} | {
    "a": {"href", "id"},
    "img": {"src", "alt"},
    "source": {"srcset", "media"},
    "code": {"class"},
    "table": {"tabindex"},
}


@dataclass(frozen=True)
class Section:
    """A heading of a page, the text below it, its anchor and its level."""

    title: str
    anchor: str
    text: str
    level: int = 1


@dataclass(frozen=True)
class DocumentPage:
    """One page: its title, its HTML, and its sections."""

    name: str
    title: str
    html: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Chapter:
    """A section of the documentation with the names and short titles of its pages, in order.

    `is_internal` marks the section for developers of MPET.
    """

    title: str
    pages: tuple[tuple[str, str], ...]
    is_internal: bool


@dataclass(frozen=True)
class Found:
    """A search result: a section that contains every word of the search."""

    document: DocumentPage
    section: Section
    snippet: str
    weight: int


@cache
def document_names() -> tuple[str, ...]:
    """Return the names of all pages, which are their addresses below /docs/."""
    names = [path.relative_to(DOCUMENTS).as_posix() for path in sorted(DOCUMENTS.rglob("*.md"))]
    return (*names, *(address for name, address in PROJECT_PAGES.items() if (REPOSITORY / name).is_file()))


@cache
def chapters() -> tuple[Chapter, ...]:
    """Return the sections of the documentation that docs/README.md lists: headings, each followed by a list of
    links."""
    tokens = MarkdownIt("commonmark").parse((DOCUMENTS / OVERVIEW).read_text(encoding="utf-8"))
    found: list[tuple[str, list[tuple[str, str]]]] = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            found.append((_plain(tokens[place + 1]), []))
        elif token.type == "inline" and found and token.level > 1:
            children = token.children or []
            for position, child in enumerate(children):
                address = document_link(str(child.attrGet("href")), DOCUMENTS / OVERVIEW)
                if child.type == "link_open" and address:
                    words = takewhile(lambda one: one.type != "link_close", children[position + 1 :])
                    found[-1][1].append((address.removeprefix("/docs/"), "".join(one.content for one in words)))
    return tuple(Chapter(title, tuple(pages), title == INTERNALS) for title, pages in found)


def place_of(name: str) -> tuple[Chapter | None, tuple[str, str] | None, tuple[str, str] | None]:
    """Return the section of a page, and the pages before and after it.

    Users' pages and developers' pages are separate sequences. If docs/README.md lists only the overview of a folder,
    the other pages of the folder get the section of the overview, without neighbours.
    """
    for is_internal in (False, True):
        listed = [
            (chapter, page) for chapter in chapters() if chapter.is_internal == is_internal for page in chapter.pages
        ]
        names = [page[0] for _, page in listed]
        if name in names:
            place = names.index(name)
            before = listed[place - 1][1] if place else None
            after = listed[place + 1][1] if place + 1 < len(listed) else None
            return listed[place][0], before, after
    folder = name.partition("/")[0]
    overview = next((page for page in (f"{folder}.md", f"{folder}/README.md") if page in document_names()), "")
    return (place_of(overview)[0], None, None) if overview and overview != name else (None, None, None)


def read_document(name: str) -> DocumentPage | None:
    """Return the page of that name, or None if there is none. Only the names in `document_names` are ever opened."""
    return _rendered(name) if name in document_names() else None


@cache
def _rendered(name: str) -> DocumentPage:
    path = REPOSITORY / PurePosixPath(name).name if name in PROJECT_PAGES.values() else DOCUMENTS / name
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    markdown.use(anchors_plugin, max_level=6, slug_func=anchor_of)
    tokens = markdown.parse(path.read_text(encoding="utf-8"))
    for token in (one for block in tokens for one in (block, *(block.children or ()))):
        if token.type == "table_open":  # wide tables can be scrolled, also with the keyboard
            token.attrSet("tabindex", "0")
        for attribute in ("href", "src"):
            target = token.attrGet(attribute)
            if isinstance(target, str):
                token.attrs.pop(attribute)
                if address := document_link(target, path):
                    token.attrSet(attribute, address)
    markdown.add_render_rule("image", _picture)
    html = nh3.clean(
        markdown.renderer.render(tokens, markdown.options, {}),
        tags=nh3.ALLOWED_TAGS | {"picture", "source"},
        attributes=ATTRIBUTES,
        link_rel="noopener",
    )
    sections = tuple(_sections(tokens))
    return DocumentPage(name, sections[0].title if sections else name, html, sections)


def _picture(renderer: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """Render an image. If there is a file of the same name with `-dark`, it is shown in dark mode."""
    image = str(renderer.image(tokens, place, options, env))
    source = PurePosixPath(str(tokens[place].attrGet("src") or ""))
    dark = f"{source.stem}{DARK}.png"
    if image_path(dark) is None:
        return image
    return f'<picture><source srcset="{source.with_name(dark)}" media="(prefers-color-scheme: dark)">{image}</picture>'


def anchor_of(headline: str) -> str:
    """Return the anchor of a heading in GitHub's form.

    >>> anchor_of("To add ...")
    'to-add-'
    """
    return re.sub(r"[^\w\- ]", "", headline.lower()).replace(" ", "-")


def document_link(target: str, page: Path) -> str:
    """Return the address on the site to which a link of a page leads, or "" for files that the site does not serve.

    The site serves the pages and images of docs/, and README.md, CONTRIBUTING.md and CHANGELOG.md of the project.

    >>> document_link("api.md#errors", DOCUMENTS / "dump.md"), document_link("https://a.org/", DOCUMENTS / "api.md")
    ('/docs/api.md#errors', 'https://a.org/')
    """
    file, mark, anchor = target.partition("#")
    if not file or "://" in file or file.startswith("mailto:"):
        return target
    there = (page.parent / file).resolve()
    if there.is_relative_to(DOCUMENTS) and there.suffix in (".md", ".png"):
        inside = there.relative_to(DOCUMENTS).as_posix()
        return f"/docs/{inside}{mark}{anchor}"
    if there.parent == REPOSITORY and there.name in PROJECT_PAGES:
        return f"/docs/{PROJECT_PAGES[there.name]}{mark}{anchor}"
    return ""


def _sections(tokens: list[Token]) -> list[Section]:
    """Split the page at its headings. The anchors are those that the renderer wrote."""
    sections: list[Section] = []
    title, anchor, level, words = "", "", 1, []  # type: ignore[var-annotated]
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            if title or words:
                sections.append(Section(title, anchor, " ".join(words), level))
            title, anchor, words = _plain(tokens[place + 1]), str(token.attrGet("id") or ""), []
            level = int(token.tag[1])
        elif token.type in ("inline", "fence", "code_block") and tokens[place - 1].type != "heading_open":
            words.append(_plain(token))
    return [*sections, Section(title, anchor, " ".join(words), level)]


def _plain(token: Token) -> str:
    children = token.children or [token]
    texts = ("" if child.type.startswith("html") else child.content or " " for child in children if not child.nesting)
    return unescape(" ".join("".join(texts).split()))


def search_documents(text: str) -> list[Found]:
    """Return the sections that contain every word, those with the words in their heading first. Ignore case."""
    words = [word.lower() for word in words_of_search(text)]
    if not words:
        return []
    found = []
    for name in document_names():
        document = _rendered(name)
        for section in document.sections:
            weight = _weight(words, document, section)
            if weight:
                found.append(Found(document, section, _snippet(words[0], section.text), weight))
    return sorted(found, key=lambda one: (-one.weight, one.document.name))[:MOST_FOUND]


def _weight(words: list[str], document: DocumentPage, section: Section) -> int:
    """Return the weight of a section for the order of results, 0 if a word is missing.

    The title of the page counts as part of its first section.
    """
    is_first = section is document.sections[0]
    headline = f"{document.title if is_first else ''} {section.title}".lower()
    counts = Counter({word: section.text.lower().count(word) for word in words})
    if any(not counts[word] and word not in headline for word in words):
        return 0
    return sum(min(counts[word], 5) + HEADLINE_WEIGHT * (word in headline) for word in words)


def _snippet(word: str, text: str) -> str:
    """Return the text around the first occurrence of the word, cut at spaces."""
    found = text.lower().find(word)
    start = text.rfind(" ", 0, max(found - SNIPPET_CHARACTERS // 3, 0)) + 1
    end = start + SNIPPET_CHARACTERS
    if end < len(text):
        end = max(text.rfind(" ", start, end), found + len(word))
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"


def image_path(name: str) -> Path | None:
    """Return the path of the picture of that name, or None if there is none."""
    path = DOCUMENTS / IMAGES / name
    return path if path.suffix == ".png" and path.parent == DOCUMENTS / IMAGES and path.is_file() else None
