"""Pages, figures, messages, commands and documents speak the field's language, as the glossary explains it."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
INSTEAD = {
    "relative to ...": r"\bspeeds? (are |is )?beside|\bbeside (its\b|the (fastest|first\b))",
    "the baseline": r"\b[Bb]eside the pair|\bthe pair as it is\b|\bempty is as it is\b|= as it is\b",
    "the track record": r"\b[Tt]he (accuracy )?score\b|\bScore by\b|\bkeeps? (the )?score\b",
    "validated": r"\b[Ss]ettled predictions?\b|\b(been|is|are|was|were|not) settled\b",
    "the fit error": r"\b[Ee]rror of the fit\b|\bthe references' own curves fit\b",
    "the time breakdown": r"\b[Ww]hat was split\b",
    "useful work": r"\bUse is work\b|\bas use of\b|\bis use than\b|\buse of the thread time\b|\*: use, and the\b",
    "SMT threads": r"[Hh]yper-?thread",
    "core-to-core latency, lock-transfer latency": r"\b[Hh]and-over\b|\b(is|what is) handed over\b|\bhanding a lock\b",
    "attribution": r"\bcarr(y|ied|ies) (the|this|an) answer\b|\bnamed candidates' weight\b",
    "narrow the interval": r"\bsurer\b",
    "create account, forgot password": r"\bMake an account\b|\bMake the account\b|\bPassword forgotten\b",
    "command line": r"\bThe same by command\b",
    "error, error against the simulation": r"\b[Mm]easured error\b",
    "slope, % per thread": r"\b100 times the element|\bincrease per thread\b",
    "wins": r"\bWhere each is the fastest\b",
    "simulated profiles": r"\b[Ww]hat was simulated\b|\bmeasured or simulated{% else %}",
    "a sentence": r"\bWhat those are called\b|\bunit nobody gave\b|\bwhatever that is\b",
}
DEFINES_THEM = {"mpet_site/web/glossary.py"}
APPS = ("accounts", "benchmarks", "mpet_site", "operations", "predictor", "profiles")
NEVER_SHOWN = {"migrations", "models"}


@cache
def texts() -> dict[str, str]:
    """What a person may read in each file."""
    read = {}
    for path in [
        ROOT / "docs/openapi.yaml",
        *ROOT.glob("*/templates/**/*.html"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("*.md"),
    ]:
        name = path.relative_to(ROOT).as_posix()
        read[name] = " ".join(path.read_text(encoding="utf-8").split())
    for path in (path for app in APPS for path in ROOT.glob(f"{app}/**/*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name not in DEFINES_THEM and not NEVER_SHOWN & {*path.parts}:
            read[name] = "\n".join(strings_of(path))
    return read


def strings_of(path: Path) -> Iterator[str]:
    """The strings of a module, without its doc strings; an f-string as the text between its values."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


@pytest.mark.parametrize(("better", "pattern"), INSTEAD.items(), ids=list(INSTEAD))
def test_nothing_says_it_in_our_own_way(better, pattern):
    found = {name: match[0] for name, text in texts().items() if (match := re.search(pattern, text))}
    assert found == {}, f"say: {better}"


def test_what_is_looked_through_holds_what_people_read():
    read = texts()
    assert "docs/pages.md" in read
    assert "Logarithmic scale" in read["predictor/figures/answer.py"]
    assert "Track record" in read["predictor/templates/predictor/settled.html"]
    assert "How fast each platform is" not in read["predictor/figures/comparisons.py"]  # a doc string
