"""Metrics of the code's simplicity: the figures of docs/code-map.md, from the source and from traced walks (walks.py).

`make figures` prints the table and writes it into the page. Product code means the applications without migrations.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.walks import APPLICATIONS, ROOT, Trace, trace_walks, with_walks
from lab.walks import PAGE as WALKS_PAGE

PAGE = ROOT / "docs" / "code-map.md"
BEGIN, END = "<!-- figures: written by make figures -->", "<!-- end of the figures -->"
# Django or Python load these files and folders by name, so they may be short.
ASKED_FOR = {
    *("__init__.py", "admin.py", "api_urls.py", "apps.py", "asgi.py", "settings.py", "settings_test.py", "signals.py"),
    *("tasks.py", "tests.py", "urls.py", "wsgi.py"),
}
ASKED_FOR_FOLDERS = {"commands", "templatetags"}
# The classes are listed from the mathematics to the browser.
SHAPES_OF_ANSWER = (
    "predictor.core.answers.Answer",
    "predictor.predictions.question.Basis",
    "predictor.predictions.document.AnswerDocument",  # stored, sent and shown unchanged
    "predictor.models.Prediction",
)
SHAPES_OF_QUESTION = (
    "predictor.pages.forms.PredictionForm",
    "predictor.api.predictions.PredictionRequestSerializer",
    "predictor.predictions.question.PredictionRequest",
    "predictor.core.scenarios.scenario.ScenarioQuery",  # a core Query, which is passed to the method unchanged
)
FILES_OF_NEW_FIELD = (
    "predictor/predictions/document.py",
    "docs/openapi.yaml",  # written by make schema
)
TIME_OF_TESTS = "7.5 min with every tool, 4.8 without, idle, on 2026-11-30"
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
SHORT_FUNCTION, LONG_FUNCTION, SHORT_MODULE = 5, 50, 60


@dataclass(frozen=True)
class Module:
    path: Path
    source: str
    lines: int
    tree: ast.Module
    functions: list[FunctionNode]


@dataclass(frozen=True)
class Row:
    """One row of the table. `start` is the value at the start of the third edition, and `goal` may be empty."""

    name: str
    start: str
    goal: str
    now: str


def read_modules(root: Path, *folders: str) -> list[Module]:
    """Parse all modules below these folders, except migrations."""
    modules = []
    for path in (path for folder in folders for path in sorted((root / folder).rglob("*.py"))):
        if "migrations" not in path.parts:
            source = path.read_text(encoding="utf-8")
            tree = ast.parse(source)
            functions = [node for node in ast.walk(tree) if isinstance(node, FunctionNode)]
            modules.append(Module(path.relative_to(root), source, len(source.splitlines()), tree, functions))
    return modules


def body_lines(function: FunctionNode) -> int:
    """Return the number of lines of the body without the docstring.

    >>> body_lines(ast.parse("def f(x):\\n    'Returns x + 1.'\\n    y = 1\\n    return x + y").body[0])
    2
    """
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def lines_of_bodies(module: Module) -> int:
    """Return the number of lines inside function bodies. Lines of nested functions count once."""
    covered: set[int] = set()
    for function in module.functions:
        last = function.end_lineno or 0
        covered.update(range(last - body_lines(function) + 1, last + 1))
    return len(covered)


def comment_lines(module: Module) -> int:
    """Return the number of lines that contain only a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(module.source).readline)
    return sum(token.type == tokenize.COMMENT and token.line.lstrip().startswith("#") for token in tokens)


def functions_with_one_caller(modules: list[Module]) -> list[FunctionNode]:
    """Return the undecorated module-level functions whose name occurs only once in the product besides the definition.

    Names that are defined more than once are left out.
    """
    mentions: Counter[str] = Counter()
    defined: dict[str, list[FunctionNode]] = {}
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                mentions[node.id] += 1
            elif isinstance(node, ast.Attribute):
                mentions[node.attr] += 1
            elif isinstance(node, FunctionNode):
                defined.setdefault(node.name, []).append(node)
    of_modules = {id(node) for module in modules for node in module.tree.body}
    only = [found[0] for found in defined.values() if len(found) == 1 and id(found[0]) in of_modules]
    return [function for function in only if mentions[function.name] == 1 and not function.decorator_list]


def imports_inside(modules: list[Module], package: str) -> tuple[set[str], set[tuple[str, str]]]:
    """Return the members of a package (modules and subpackages) and the pairs (importer, imported) of members.

    Imports from and into a module of a subpackage count for the subpackage.
    """
    inside = [
        (module.path.parts[1].removesuffix(".py"), module) for module in modules if module.path.parts[0] == package
    ]
    members = {name for name, _ in inside} - {"__init__"}
    pairs = set()
    for name, module in inside:
        for node in ast.walk(module.tree):
            imported: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module:
                imported = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            targets = {target.split(".")[1] for target in imported if target.startswith(f"{package}.")}
            pairs |= {(name, target) for target in targets & members - {name}}
    return members, {pair for pair in pairs if pair[0] in members}


def source_rows(root: Path) -> Iterator[Row]:
    """Yield the rows that are computed from the source alone."""
    product, tests = read_modules(root, *APPLICATIONS), read_modules(root, "tests")
    lines = sum(module.lines for module in product)
    bodies = [body_lines(function) for module in product for function in module.functions]
    single = [body_lines(function) for function in functions_with_one_caller(product)]
    members, pairs = imports_inside(product, "profiles")
    short = [module.path for module in product if module.lines < SHORT_MODULE]
    own = [path for path in short if path.name not in ASKED_FOR and not ASKED_FOR_FOLDERS & set(path.parts)]
    test_lines, few = sum(module.lines for module in tests), sum(length < SHORT_FUNCTION for length in single)
    share = sum(map(lines_of_bodies, product)) / lines
    long = 100 * sum(length > LONG_FUNCTION for length in bodies) / len(bodies)
    yield Row("lines of product code; files", "63,100; 547", "40,000", f"{lines:,}; {len(product):,}")
    yield Row("lines of tests; files", "51,800", "30,000", f"{test_lines:,}; {len(tests):,}")
    beside = [sum(module.lines for module in read_modules(root, folder)) for folder in ("research", "lab")]
    yield Row("lines of `research/`; of `lab/`", "", "", "; ".join(f"{count:,}" for count in beside))
    yield Row("share of lines that are function bodies", "39 %", ">= 50 %", f"{share:.0%}".replace("%", " %"))
    yield Row("mean lines of a module", "115", "100 to 400", f"{lines / len(product):.0f}")
    yield Row("functions with one caller and under 5 lines", "401", "", f"{few}")
    yield Row("one-line functions with one caller", "107", "< 30", f"{sum(length <= 1 for length in single)}")
    yield Row("function bodies over 50 lines", "0.1 %", "", f"{long:.1f} %")
    yield Row("share of comment lines", "0.1 %", "", f"{100 * sum(map(comment_lines, product)) / lines:.1f} %")
    yield Row("modules and packages directly in `profiles/`", "57", "<= 20", f"{len(members)}")
    yield Row("imports between these", "170", "<= 50", f"{len(pairs)}")
    yield Row("modules under 60 lines, with `__init__.py`", "190", "", f"{len(short)}")
    yield Row("of them modules that neither Django nor Python asks for", "96", "< 60", f"{len(own)}")


def walk_rows(walks: Mapping[str, Trace]) -> Iterator[Row]:
    """Yield the rows that are computed from the traced walks of docs/architecture.md."""
    count = {name: len(trace.files) for name, trace in walks.items()}
    method = set(walks["method"].files)
    inside = {name: len(method & set(walks[name].files)) for name in ("prediction", "ranking")}
    api, ranking = (f"{count[name]}, {inside[name]} of them the method's" for name in ("prediction", "ranking"))
    yield Row("files that one prediction passes (`service.predict`)", "53", "<= 20", f"{count['service']}")
    yield Row("files inside the default method", "30", "<= 6", f"{count['method']}")
    yield Row("files that `POST predictions/` passes", "", "", api)
    yield Row("files that the processing of one upload passes", "25", "<= 25", f"{count['upload']}")
    yield Row("files that one page of a ranking passes", "", "<= 20", ranking)


def shape_rows() -> Iterator[Row]:
    """Yield the rows that are counted by hand. A test checks that the names listed above exist."""
    shapes = f"{len(SHAPES_OF_ANSWER)} / {len(SHAPES_OF_QUESTION)}"
    yield Row("shapes of one answer / one question", "5 / 6", "2 / 2", shapes)
    yield Row("files to touch for a new field of an answer", "6", "2", f"{len(FILES_OF_NEW_FIELD)}")
    yield Row("`make test` on 2 cores (typed in by hand)", "16 min", "<= 8 min", TIME_OF_TESTS)


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    head = ["| figure | start | goal | now |", "|---|---|---|---|"]
    return "\n".join([*head, *(f"| {row.name} | {row.start} | {row.goal} | {row.now} |" for row in rows)])


def with_table(page: str, text: str) -> str:
    """Return the page with the text between the two markers replaced by `text`."""
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: f"{BEGIN}\n\n{text}\n\n{END}", page, flags=re.S)


def main() -> None:
    walks = trace_walks()
    text = table([*source_rows(ROOT), *walk_rows(walks), *shape_rows()])
    sys.stdout.write(f"{text}\n")
    WALKS_PAGE.write_text(with_walks(WALKS_PAGE.read_text(encoding="utf-8"), walks), encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
