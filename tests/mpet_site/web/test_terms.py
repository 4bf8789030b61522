"""Words and symbols lead to the glossary."""

import re

from django.template import Context, Template

from profiles.figures.base import Chart, Table, figure


def rendered(source: str, **context) -> str:
    return Template("{% load terms %}" + source).render(Context(context))


def test_a_term_is_a_link_with_its_first_sentence():
    assert rendered('{% term "redundancy" %}') == (
        '<a class="term" href="/glossary/#redundancy" '
        'title="How much longer n threads together compute than one thread alone does.">R(n)</a>'
    )
    assert ">the word</a>" in rendered('{% term "baseline" "the word" %}')


def test_heads_of_columns_are_explained_where_there_is_a_term():
    assert "#work_imbalance" in rendered("{{ column|explained }}", column="work imbalance (%)")
    assert rendered("{{ column|explained }}", column="<b>Fjord 2x8") == "&lt;b&gt;Fjord 2x8"


def test_a_chart_names_the_symbols_in_it():
    chart = Chart("redundancy", "Redundancy", "R(n) and U(n).", figure([], "time t(n) (s)"), Table(("n",), []))
    assert re.findall('#([^"]+)', rendered("{% symbols_of chart %}", chart=chart)) == ["utilisation", "t"]
