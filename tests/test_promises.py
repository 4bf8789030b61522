"""The tests that hold a promise exist: those that README.md and docs/trust-audits.md name."""

import re
from pathlib import Path

from tests.paths import ROOT

FOLDER = ROOT / "tests"


def rows_of(page: Path) -> list[tuple[str, str]]:
    """The first two columns of the rows of its tables, without their heads."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \|", page.read_text(encoding="utf-8"), flags=re.M)
    return [row for row in rows if row[1] != "tests"]


def test_every_promise_names_tests_that_exist():
    rows = rows_of(FOLDER / "README.md")
    assert len(rows) > 40
    for promise, tests in rows:
        named = re.findall(r"`([^`]+)`", tests)
        assert named, promise
        missing = [path for path in named if "def test_" not in (FOLDER / path).read_text(encoding="utf-8")]
        assert not missing, promise


def test_every_finding_of_an_audit_names_tests_that_exist():
    """`hostile/test_findings.py` `-k trust_1`: a file, or the end of its path, and words of the names of its tests."""
    known = list(FOLDER.rglob("test_*.py"))
    rows = [row for row in rows_of(ROOT / "docs" / "trust-audits.md") if ".py`" in row[1]]
    assert len(rows) > 30
    for finding, tests in rows:
        named = re.findall(r"`((?:\w+/)*test_\w+\.py)`", tests)
        files = [path for path in known for name in named if f"/{path.relative_to(ROOT)}".endswith(f"/{name}")]
        assert len(files) >= len(named) > 0, finding
        source = "\n".join(path.read_text(encoding="utf-8") for path in files).lower()
        words = re.findall(r"\w+", " ".join(re.findall(r'`-k "?([^`"]+)"?`', tests)))
        assert not [word for word in set(words) - {"or", "and"} if word.lower() not in source], finding
