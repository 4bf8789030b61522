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


TAGS = re.compile(r"{%.*?%}|{{.*?}}|{#.*?#}|<script.*?</script>|<code>.*?</code>|<[^>]*>", re.DOTALL)
SAID_BY_ATTRIBUTES = re.compile(r"(?:aria-label|placeholder|title|alt)=\"([^\"]*)\"")
NEVER_ON_PAGES = re.compile(r"(?<![\w.{])[Pp]latforms?\b(?!\.json)|\b[Ss]lugs?\b")
PAGE_CODE = ("*/pages/*.py", "*/forms.py", "*/views.py", "*/*/forms.py", "*/*/views.py", "predictor/figures/*.py")
PAGE_CODE += ("profiles/figures/*.py", "predictor/predictions/sliders.py", "predictor/core/errors.py")


def words_of_template(text: str) -> str:
    """What a reader of the page sees of a template: its text, and the attributes that are read out or shown."""
    text = re.sub(r"{% comment %}.*?{% endcomment %}", " ", text, flags=re.DOTALL)
    attributes = " ".join(TAGS.sub(" ", said) for said in SAID_BY_ATTRIBUTES.findall(text))
    return " ".join(f"{TAGS.sub(' ', text)} {attributes}".split())


def test_pages_say_machine_and_no_slug():
    """The API and the code call a machine `platform`, and a page's name in its address a slug."""
    shown = {path: words_of_template(path.read_text(encoding="utf-8")) for path in ROOT.glob("*/templates/**/*.html")}
    for pattern in PAGE_CODE:
        for path in ROOT.glob(pattern):
            # A sentence or a label has a space or begins with a capital; the others are names that the code uses.
            sentences = [text for text in strings_of(path) if " " in text.strip() or text[:1].isupper()]
            shown[path] = "\n".join(text for text in sentences if "__" not in text and not text.startswith("SELECT"))
    with_candidates = {
        path.relative_to(ROOT).as_posix() for path, text in shown.items() if re.search("[Cc]andidate", text)
    }
    # The paper's word, in its figures and where it is explained; elsewhere the answer rests on pairs.
    of_the_paper = {"predictor/figures/accuracy.py", "predictor/templates/predictor/answer_candidates.html"}
    assert with_candidates <= of_the_paper | {"predictor/core/errors.py"}
    glossary = next(ROOT.glob("mpet_site/web/glossary.py"))
    shown[glossary] = "\n".join(text for text in strings_of(glossary) if " " in text)
    found = {
        path.relative_to(ROOT).as_posix(): match[0]
        for path, text in shown.items()
        if (match := NEVER_ON_PAGES.search(text.replace("The API calls it a platform.", "")))
    }
    assert found == {}


def test_words_of_a_template_are_those_that_are_shown():
    template = '<a title="a slug" href="/platforms/">Machine {{ platform }}</a>{% comment %}platform{% endcomment %}'
    assert words_of_template(template) == "Machine a slug"


def test_what_is_looked_through_holds_what_people_read():
    read = texts()
    assert "docs/pages.md" in read
    assert "Logarithmic scale" in read["predictor/figures/answer.py"]
    assert "Track record" in read["predictor/templates/predictor/settled.html"]
    assert "How fast each platform is" not in read["predictor/figures/comparisons.py"]  # a doc string
