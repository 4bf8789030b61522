"""Names, comments and docstrings of the product use the words of the field, as the texts of pages do
(test_words.py)."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache

import pytest

from tests.paths import ROOT
from tests.test_words import APPS

# By what to write instead. The product has none of these.
NAMES = {
    "disambiguate, disambiguation": r"told_|tell_apart|namesake",
    "periodic_tasks, run_periodically": r"keeper",
    "user_data": r"belongings",
    "stale_reasons": r"age_notes",
    "background, may_enqueue": r"\bpatience\b|[Pp]atienceM|may_wait",
    "database_unavailable": r"\bbusy\b",
    "complete_refusal, suggest_measurement": r"\badvised\b|find_measuring",
    "confidence_key, most_confident_pair": r"doubt_of_|surest",
    "enqueue, claim_announcement": r"\bhand_on\b|take_announcement",
    "unexplained_loss": r"untold",
    "accept_value": r"take_word",
    "MINE_ONLY, EXACT, RANK_FIELDS": r"OWN_ALONE|EVERY_ROW|PLACED_FIELDS",
    "package, module, layer": r"_(room|rooms|house)(\b|_)|\b(room|rooms|house)_|ROOMS",
}
PROSE = {
    "again": r"\banew\b",
    "claimed, leased": r"\bin hand\b",
    "the JSON form": r"\b(JSON|the) twins?\b",
    "distinguish, disambiguate": r"\btold (\w+ ){0,3}apart\b|\bnamesakes?\b",
    "returned, notified, shown": r"\b(is|are|was|were) told\b",
    "enqueue, pass": r"\bhand(s|ed)? (it |them )?on\b",
    "authoritative": r"\b[Ww]hose word\b|\bthe say\b",
    "unknown": r"\bknows? better\b",
    "periodic task": r"\bkeepers?\b",
    "user data": r"\bbelongings\b",
    "Returns the number.": r"; (of )?how many( \w+){0,3}\.(\s|$)",
    "package, module, layer": r"\b(this|these|those|that|each|no|a|the|other|another) (rooms?|house)\b(?! (for|of))",
}
# Right now and then, and a riddle as a habit: at most so many in the prose of all modules. Lower these numbers.
AT_MOST = {"nobody": 2, "whose": 20, "told": 0, "beside": 0, "whatever": 5}


@cache
def texts() -> dict[str, tuple[str, str]]:
    """By module, its names and its prose (comments and docstrings)."""
    read = {}
    for path in (path for app in APPS for path in sorted(ROOT.glob(f"{app}/**/*.py"))):
        name = path.relative_to(ROOT).as_posix()
        if "migrations" in path.parts or name.startswith("benchmarks/client/"):
            continue
        source = path.read_text(encoding="utf-8")
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
        names = " ".join({token.string for token in tokens if token.type == tokenize.NAME})
        comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
        read[name] = names, " ".join(" ".join([*comments, *docstrings(source)]).split())
    return read


def docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def find(words: dict[str, str], part: int) -> dict[tuple[str, str], str]:
    """By module and better word, the first match in the names (0) or in the prose (1)."""
    found = {}
    for name, text in ((name, both[part]) for name, both in texts().items()):
        for better, pattern in words.items():
            if match := re.search(pattern, text):
                found[name, better] = text[max(0, match.start() - 40) : match.end() + 40]
    return found


@pytest.mark.parametrize(("words", "part"), [(NAMES, 0), (PROSE, 1)], ids=["names", "prose"])
def test_no_module_has_a_word_of_our_own(words, part):
    assert find(words, part) == {}


@pytest.mark.parametrize(("word", "most"), AT_MOST.items(), ids=list(AT_MOST))
def test_habits_get_rarer(word, most):
    assert sum(len(re.findall(rf"\b{word}\b", prose, flags=re.I)) for _, prose in texts().values()) <= most


def test_what_is_looked_through_is_the_code():
    names, prose = texts()["profiles/identity/name_disambiguation.py"]
    assert "disambiguated_name" in names
    assert "labels that distinguish platforms" in prose
