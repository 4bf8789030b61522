"""Template tags that link words and symbols to the glossary: `{% load terms %}{% term "redundancy" %}`."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from mpet_site.web.glossary import TERM_BY_SLUG, Term, term_of, terms_in

register = template.Library()


def term_link(term: Term, text: str) -> SafeString:
    address = f"{reverse('glossary')}#{term.slug}"
    return format_html('<a class="term" href="{}" title="{}">{}</a>', address, term.summary, text)


@register.simple_tag
def term(slug: str, text: str = "") -> SafeString:
    """Return a link to the term of this slug. Raise KeyError for an unknown slug.

    The default text of the link is the term's symbol or name.
    """
    glossary_term = TERM_BY_SLUG[slug]
    return term_link(glossary_term, text or glossary_term.symbol or glossary_term.name)


@register.filter("explained")
def link_heading(text: Any) -> Any:
    """Link a column head or chart title to the term that it names. Return any other text unchanged."""
    named_term = term_of(str(text))
    return term_link(named_term, str(text)) if named_term else text


@register.simple_tag(name="symbols_of")
def symbol_links(chart: Any) -> SafeString:
    """Return links to the terms of the symbols in a chart: in its title, caption, axes and columns."""
    axes = [chart.figure["layout"][axis]["title"]["text"] for axis in ("xaxis", "yaxis")]
    named = terms_in(chart.title, chart.caption, *axes, *chart.table.columns)
    others = [each for each in named if each != term_of(chart.title)]
    return format_html_join(" · ", "{}", ((term_link(each, f"{each.symbol} {each.name}".strip()),) for each in others))
