"""No text of a figure is markup for Plotly but what this code writes itself: names are strangers'."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from profiles.figures.base import Chart, Table, figure, trace
from tests.browser.walk import CHARTS, pages_of
from tests.hostile_names import LINK, address_of_program, make_names_hostile
from tests.pages import figures_of, store_public, user
from tests.paths import ROOT
from tests.predictor.pages.test_home import compute_showcase

OWN_MARKUP = re.compile(r"</?extra>")


def texts_of(value: Any) -> Iterator[str]:
    """All that Plotly may draw: everything but `meta`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            if name != "meta":
                yield from texts_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)


def test_every_text_of_a_figure_is_escaped_its_title_too():
    drawn = figure([trace(LINK, "measured", [1], [2], text=[LINK], hovertemplate=LINK)], LINK)
    drawn["layout"]["annotations"] = [{"text": LINK}]
    chart = Chart("name", LINK, "caption", drawn, Table(("n",), []))
    texts = [text for text in texts_of(chart.json) if "e.co" in text]
    assert len(texts) == 6  # name, text, hovertemplate, axis, annotation, title
    assert set(texts) == {escape(LINK, quote=False)}


def test_markup_of_this_code_is_made_of_constants_alone():
    """PlotlyMarkup(f"...{name}...") would let a name through."""
    calls = [
        call
        for package in ("profiles", "predictor", "benchmarks", "operations", "accounts", "mpet_site")
        for path in Path(ROOT / package).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "PlotlyMarkup"
    ]
    assert calls
    for call in calls:
        (argument,) = call.args
        assert isinstance(argument, ast.Constant)
        assert OWN_MARKUP.search(argument.value)


@pytest.mark.django_db
def test_no_page_has_a_figure_with_a_strangers_markup():
    """Every page that has figures, with hostile names of platforms, workloads and all that describes them."""
    ada = user("ada")
    walk = pages_of(store_public()[0], ada)
    make_names_hostile()
    compute_showcase()  # the front page shows an example
    addresses = walk.public | {"program": address_of_program()}
    client = Client()
    seen = []
    for name in CHARTS:
        if name not in addresses:  # the browser's walk has more of them
            assert name == "what-if, time only"
            continue
        figures = {
            key: one for key, one in figures_of(client.get(addresses[name], follow=True)).items() if "layout" in one
        }
        assert len(figures) >= CHARTS[name], name
        assert name != "home" or "time" in figures, "its example"
        for key, one in figures.items():
            bad = [text for text in texts_of(one) if "<" in OWN_MARKUP.sub("", text)]
            assert not bad, f"{name}: {key}"
            seen += [name] * ("e.co" in json.dumps(one["data"]))
    names_drawn = {"unstored-answer", "ranking", "workload", "compare-platforms", "prediction, t(1)"}
    assert names_drawn <= set(seen), "names are drawn"
