"""The figures of the code, on a small package whose numbers are known."""

import ast
from pathlib import Path

import pytest
from django.utils.module_loading import import_string

from lab import figures
from lab.walks import Trace
from tests.paths import ROOT

VIEWS = '''"""Views."""
from profiles.models import rows
from profiles import helpers


def page(x):
    """Return a page."""
    # two lines
    y = helpers.add(x)
    return rows.all(y)


class Shown:
    def helper(self):
        return page(1)


def shown():
    return page(2)
'''
HELPERS = """def add(x):
    return x + 1


def unused(x):
    def inner(y):
        return y

    return inner(x)
"""

NAMED = {"prediction": "a b m1 m2", "service": "b m1 m2", "method": "m1 m2", "upload": "u", "ranking": "r m1"}


@pytest.fixture
def tree(tmp_path) -> Path:
    for folder in ("profiles/models", "profiles/migrations", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "profiles/__init__.py").touch()
    (tmp_path / "profiles/views.py").write_text(VIEWS)
    (tmp_path / "profiles/helpers.py").write_text(HELPERS)
    (tmp_path / "profiles/models/rows.py").write_text("from profiles import helpers\n")
    (tmp_path / "profiles/migrations/0001_initial.py").write_text("x = 1\n" * 1000)
    (tmp_path / "tests/test_views.py").write_text("def test_page():\n    assert True\n")
    return tmp_path


def test_counts_of_a_known_tree(tree):
    now = {row.name: row.now for row in figures.source_rows(tree)}
    lines = len(VIEWS.splitlines()) + len(HELPERS.splitlines()) + 1
    assert now["lines of product code; files"] == f"{lines}; 4"
    assert now["lines of tests; files"] == "2; 1"
    assert now["mean lines of a module"] == f"{lines / 4:.0f}"
    # Two lines of `page`, without docstring and comment, one each of `helper`, `shown` and `add`, four of `unused`.
    assert now["share of lines that are function bodies"] == f"{9 / lines:.0%}".replace("%", " %")
    # `add` is mentioned once, `page` twice, `unused` never; `inner` and `helper` are no functions of a module.
    assert now["functions with one caller and under 5 lines"] == "1"
    assert now["one-line functions with one caller"] == "1"
    assert now["share of comment lines"] == f"{100 / lines:.1f} %"
    assert now["modules and packages directly in `profiles/`"] == "3"  # views, helpers, models
    assert now["imports between these"] == "3"
    assert now["modules under 60 lines, with `__init__.py`"] == "4"
    assert now["of them modules that neither Django nor Python asks for"] == "3"


def test_a_long_body_counts():
    (function,) = ast.parse("def f():\n" + "    x = 1\n" * 51).body
    assert figures.body_lines(function) == 51 > figures.LONG_FUNCTION


def test_shapes_and_files_that_people_count_are_there():
    for name in (*figures.SHAPES_OF_ANSWER, *figures.SHAPES_OF_QUESTION):
        assert callable(import_string(name)), name
    assert all((ROOT / path).is_file() for path in figures.FILES_OF_NEW_FIELD)


def test_files_of_the_walks_are_counted():
    named = {name: Trace({path: [] for path in paths.split()}) for name, paths in NAMED.items()}
    now = {row.name: row.now for row in figures.walk_rows(named)}
    assert now["files that one prediction passes (`service.predict`)"] == "3"
    assert now["files that `POST predictions/` passes"] == "4, 2 of them the method's"
    assert now["files that one page of a ranking passes"] == "2, 1 of them the method's"


def test_the_page_has_the_rows_that_the_command_writes(tree):
    page = figures.PAGE.read_text(encoding="utf-8")
    written = page.partition(figures.BEGIN)[2].partition(figures.END)[0]
    walks = {name: Trace() for name in NAMED}
    for row in (*figures.source_rows(tree), *figures.walk_rows(walks), *figures.shape_rows()):
        assert f"\n| {row.name} | {row.start} | {row.goal} | " in written
    assert figures.table([figures.Row("lines", "3", "2", "1")]).splitlines()[1:] == [
        "|---|---|---|---|",
        "| lines | 3 | 2 | 1 |",
    ]
    changed = figures.with_table(page, "| x |")
    assert f"{figures.BEGIN}\n\n| x |\n\n{figures.END}" in changed
    assert figures.with_table(changed, written.strip()) == page
