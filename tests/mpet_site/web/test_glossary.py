"""The glossary: whole, and with a term for whatever symbol a page or a figure shows."""

import re
from pathlib import Path

import pytest
from django.template.loader import get_template

from mpet_site.web.glossary import SYMBOL_PATTERN, TERM_BY_SLUG, TERMS, term_of
from tests.paths import ROOT
from tests.processes import output_of

DRAWN = {
    *("redundancy", "lock_delay", "work_imbalance", "task_creation", "task_distribution", "task_switching"),
    *("task_join", "utilisation", "n_nu", "n_ht", "d_a", "d_p", "d_t", "candidate", "reference", "target"),
    *("interval", "confidence", "useful-work", "speedup"),
}
TOLD = {
    *("profile", "run", "workload", "platform", "scaling-curve", "feature-vector", "validated", "track-record"),
    *("coverage", "baseline", "holdout", "smt", "core-to-core-latency", "attribution"),
}
PYTHON = [
    path
    for path in ROOT.glob("p*/**/*.py")
    if path.parts[-2] != "migrations"
    and re.search(r"/figures/|/losses|/boundness|/sentences|/explanation|/next_measurements", str(path))
]
TEMPLATES = [path for path in ROOT.glob("*/templates/**/*.html") if path.name != "glossary.html"]


def strings_of(path: Path) -> list[str]:
    """What stands between quotation marks, doc strings aside."""
    code = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.S)
    return re.findall(r'"((?:[^"\\\n]|\\.)*)"', code)


def test_terms_are_whole():
    assert {slug for slug, term in TERM_BY_SLUG.items() if term.picture} >= DRAWN
    assert TERM_BY_SLUG.keys() >= TOLD
    assert len(TERM_BY_SLUG) == len(TERMS)
    for term in TERMS:
        assert re.fullmatch(r"[a-z][a-z_-]*", term.slug)
        assert term.text.endswith(".")
        assert len(term.summary) > 25


def test_the_glossary_imports_no_app_and_no_django():
    code = "import sys, mpet_site.web.glossary; print(sorted(m for m in sys.modules if m.split('.')[0] in " + (
        "{'django', 'profiles', 'predictor', 'benchmarks', 'accounts'}))"
    )
    assert output_of("-c", code) == "[]\n"


@pytest.mark.parametrize("drawing", sorted({term.drawing for term in TERMS if term.drawing}))
def test_pictures_exist_and_can_be_heard(drawing):
    picture = get_template(drawing).render()
    assert re.search(r'<svg [^>]*role="img">\s*<title>[^<]+</title>\s*<desc>[^<]+</desc>', picture)
    assert "style=" not in picture
    assert "#" not in picture  # colours come from the sheet, for light and dark


def test_every_drawing_is_shown():
    drawn = {path.name for path in (ROOT / "mpet_site/templates/glossary").iterdir()}
    assert drawn == {f"{term.picture}.svg" for term in TERMS if term.picture}


def test_every_symbol_in_a_figure_or_a_template_has_a_term():
    shown = {
        symbol: path.name for path in PYTHON for text in strings_of(path) for symbol in SYMBOL_PATTERN.findall(text)
    }
    shown |= {
        symbol: path.name for path in TEMPLATES for symbol in SYMBOL_PATTERN.findall(path.read_text(encoding="utf-8"))
    }
    assert shown.keys() >= {"R(n)", "U(n)", "S(n)/n", "t(1)", "n·t(n)", "D_a", "A(n)", "f(n)"}
    assert {symbol: name for symbol, name in shown.items() if term_of(symbol) is None} == {}


def test_every_term_that_a_template_names_exists():
    named = {
        slug: path.name
        for path in TEMPLATES
        for slug in re.findall(r"{% term [\"']([^\"']+)[\"']", path.read_text(encoding="utf-8"))
    }
    assert {slug: name for slug, name in named.items() if slug not in TERM_BY_SLUG} == {}
