import re

import pytest
from django.template.loader import render_to_string
from django.test import RequestFactory

from mpet_site.web.glossary import TERM_BY_SLUG
from mpet_site.web.tables import NUMBER, PageTable, TableColumn, show_attribute, text_link
from predictor.accuracy.settlement import SETTLED_ORDERINGS
from predictor.pages.prediction_lists import COLUMNS
from profiles.pages import columns as of_profiles
from profiles.pages.lists import PLATFORMS, PROFILES, WORKLOADS

COLUMN = TableColumn("Size", show_attribute("real"), sort="size", kind=NUMBER)


def written(table):
    html = render_to_string("includes/table.html", {"table": table}, RequestFactory().get("/", {"page": "3"}))
    return re.sub(r"\s+", " ", html)


def test_the_first_column_names_its_row_and_markup_is_escaped():
    html = written(
        PageTable("Things", (TableColumn("Name", lambda row: f"<{row}>"), COLUMN), [1, 2], caption="2 things")
    )
    assert 'aria-label="Things"' in html
    assert "<caption>2 things</caption>" in html
    assert '<th scope="row">&lt;1&gt;</th><td class="number">1</td>' in html
    assert "ordering" not in html


@pytest.mark.parametrize(
    ("ordering", "head"),
    [
        ("", '<th scope="col" class="number" > <a href="?ordering=size">Size</a> </th>'),
        ("size", '<th scope="col" class="number" aria-sort="ascending"> <a href="?ordering=-size">Size ↑</a> </th>'),
        ("-size", '<th scope="col" class="number" aria-sort="descending"> <a href="?ordering=size">Size ↓</a> </th>'),
    ],
)
def test_a_head_sorts_and_leads_back_to_the_first_page(ordering, head):
    assert head in written(PageTable("Things", (COLUMN,), [1], ordering=ordering))


def test_a_head_leads_to_its_term_and_where_it_sorts_a_question_mark_does():
    column = TableColumn("Fit error", show_attribute("real"), sort="fit", kind=NUMBER, term="fit-error")
    fixed, sorted_ = (written(PageTable("Things", (column,), [1], ordering=ordering)) for ordering in (None, "fit"))
    address = r'href="/glossary/#fit-error" title="[^"]+"'
    assert re.search(rf'<th scope="col" class="number"> <a class="term" {address}>Fit error</a> </th>', fixed)
    assert re.search(rf'<a href="\?ordering=-fit">Fit error ↑</a> <a class="term" {address}>\?</a> </th>', sorted_)


def test_every_term_that_a_column_names_exists():
    tables = [value for name, value in vars(of_profiles).items() if name.isupper() and isinstance(value, tuple)]
    named = {column.term for columns in (COLUMNS, *tables) for column in columns if column.term}
    assert named >= {"t", "n", "time-breakdown", "fit-error", "bound", "error", "coverage"}
    assert named <= TERM_BY_SLUG.keys()


def test_a_link_escapes_what_it_says():
    assert text_link("/a/", "<b>", '"c"') == '<a href="/a/" aria-label="&quot;c&quot;">&lt;b&gt;</a>'


@pytest.mark.parametrize(
    ("columns", "orderings"),
    [(page.columns, page.orderings) for page in (PLATFORMS, WORKLOADS, PROFILES)] + [(COLUMNS, SETTLED_ORDERINGS)],
    ids=["platforms", "workloads", "profiles", "settled"],
)
def test_every_column_that_sorts_is_an_ordering_of_the_list(columns, orderings):
    assert {column.sort for column in columns if column.sort} <= set(orderings)
