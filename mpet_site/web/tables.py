"""Tables of pages. A column is defined once: its head, what it sorts by and what a row says in it."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

NUMBER, NAME, VALUE = "number", "name", "value"  # classes of site.css


@dataclass(frozen=True)
class TableColumn:
    """`show`: what a row says here. `sort`: what a list that can be sorted is sorted by here, "": nothing. `term`: the
    slug of the term in the glossary that the head leads to, "": none."""

    title: str
    show: Callable[[Any], Any]
    sort: str = ""
    kind: str = ""
    term: str = ""

    @property
    def is_number(self) -> bool:
        return self.kind == NUMBER

    @property
    def class_attribute(self) -> str:
        return f' class="{self.kind}"' if self.kind else ""


@dataclass(frozen=True)
class PageTable:
    """The first column names the row. `ordering`: how the rows are sorted now; None: their order is fixed."""

    label: str
    columns: Sequence[TableColumn]
    rows: Iterable[Any]
    caption: str = ""
    ordering: str | None = None

    @property
    def body(self) -> SafeString:
        """The rows, which a template would take longer for than for the rest of a page."""
        heads = ('<th scope="row"', "</th>"), *[("<td", "</td>")] * (len(self.columns) - 1)
        cells = [
            (f"{start}{column.class_attribute}>", column.show, end)
            for column, (start, end) in zip(self.columns, heads, strict=True)
        ]
        return SafeString(
            "\n".join(
                f"<tr>{''.join([f'{start}{escaped(show(row))}{end}' for start, show, end in cells])}</tr>"
                for row in self.rows
            )
        )


def escaped(value: Any) -> str:
    """As `conditional_escape`, which takes four times as long for each of thousands of cells.

    >>> escaped("<a>"), escaped(SafeString("<a>")), escaped(3)
    ('&lt;a&gt;', '<a>', '3')
    """
    return str(value.__html__()) if hasattr(value, "__html__") else html.escape(str(value))


def show_attribute(path: str, written: Callable[[Any], Any] = str) -> Callable[[Any], Any]:
    """A column that shows an attribute of its row.

    >>> show_attribute("real")(3), show_attribute("real", hex)(255)
    ('3', '0xff')
    """
    read = attrgetter(path)
    return lambda row: written(read(row))


def text_link(address: str, text: str, label: str = "") -> SafeString:
    """`label`: what a screen reader says instead of the text.

    >>> text_link("/platforms/m1/", "<m1>")
    '<a href="/platforms/m1/">&lt;m1&gt;</a>'
    """
    return format_html('<a href="{}"{}>{}</a>', address, format_html(' aria-label="{}"', label) if label else "", text)
