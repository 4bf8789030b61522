"""Every regular expression of the readers takes no more time than its text is long, whatever stands in the text."""

import ast
import importlib
import json
import pkgutil
import re
import time
import timeit
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import benchmarks.archive
import benchmarks.formats
from benchmarks.archive.documents import SCHEMA_FOLDER
from profiles.measurements import bounds

METHODS = ("search", "match", "fullmatch", "split", "sub", "findall", "finditer")
SHORT, LONG = 500, 4_000
MOST_RATIO = 3 * LONG / SHORT  # linear is 8, quadratic 64
COUNTED_S = 0.004  # what is shorter tells nothing
PIECES = (
    *(" ", "\t", "\n", "0", "9", "a", "A", "-", "_", ".", ",", ":", "=", "/", "(", ")", "[", "{", '"', "'", "\\", "\0"),
    *("1.", "1,", "-1", "1\n", "1.5e3\n", "1e", ": ", " :", "- ", " - ", "a:1", "a:1:", "1:", "(a", "a)", "() ", "a b"),
)


def reader_modules() -> Iterator[ModuleType]:
    for package in (benchmarks.formats, benchmarks.archive):
        yield package
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)
    yield bounds


def expressions() -> Iterator[tuple[str, re.Pattern, str]]:
    """Each expression, where it stands, and a method that its module calls of it."""
    for module in reader_modules():
        source = Path(module.__file__).read_text()
        for name, value in vars(module).items():
            if not isinstance(value, re.Pattern):
                continue
            called = set(re.findall(rf"\b{name}\.(\w+)\(", source)) & {*METHODS} or {"fullmatch"}
            yield from ((f"{module.__name__}.{name}.{method}", value, method) for method in sorted(called))


EXPRESSIONS = {where: (expression, method) for where, expression, method in expressions()}


def prefixes(expression: re.Pattern) -> list[str]:
    """Words that stand in the expression, so that a text may begin as one that matches."""
    words = re.findall(r"[A-Za-z]{2,}(?: [A-Za-z]+)*", re.sub(r"\\.|\(\?(?:P<\w+>|<?[:=!])", " ", expression.pattern))
    return list(dict.fromkeys([*words, *(f"/{word}:" for word in words)]))[:8]


def hostile_texts(expression: re.Pattern, length: int) -> Iterator[str]:
    for piece in (*PIECES, *prefixes(expression)):
        repeated = (piece * length)[:length]
        yield f"{repeated}!"
        yield from (f"{word}{repeated}!" for word in prefixes(expression)[:3])


def seconds(expression: re.Pattern, method: str, text: str) -> float:
    """Of this thread alone; `timeit` looks for no garbage meanwhile."""
    arguments = ("", text) if method == "sub" else (text,)

    def apply() -> None:
        found = getattr(expression, method)(*arguments)
        if method == "finditer":
            list(found)

    return timeit.timeit(apply, timer=time.thread_time, number=1)


def is_linear(expression: re.Pattern, method: str) -> str:
    """The first text over which it is not; empty where there is none."""
    pairs = zip(hostile_texts(expression, SHORT), hostile_texts(expression, LONG), strict=True)
    for short, long in pairs:
        if seconds(expression, method, short) > 0.02:  # linear is 100 microseconds
            return short[:40]
        if seconds(expression, method, long) < COUNTED_S:
            continue
        # both in turn, so that a busy machine slows both
        rounds = [[seconds(expression, method, text) for text in (short, long)] for _ in range(5)]
        took = [min(times) for times in zip(*rounds, strict=True)]
        if took[1] > COUNTED_S and took[1] > MOST_RATIO * took[0]:
            return long[:40]
    return ""


@pytest.mark.parametrize("where", EXPRESSIONS)
def test_every_expression_is_linear(where):
    expression, method = EXPRESSIONS[where]
    assert is_linear(expression, method) == ""


@pytest.mark.parametrize(
    ("expression", "method"),
    [
        (r"(?:threads?|cores)\s*[:=]?\s*(\d{1,5})", "search"),  # of the release before
        (r"Processor: *(?:(?P<sockets>\d+) x )?(?P<model>[^,(@]+?)(?: @ )? *\((?P<cores>\d+) Cores", "search"),
        (r"a*a*b", "match"),
    ],
)
def test_what_is_not_linear_is_seen(expression, method):
    assert is_linear(re.compile(expression), method)


def test_the_readers_expressions_are_all_known():
    """Compiled, and a name of their module: a call of `re` inside a function would not be seen here."""
    assert len(EXPRESSIONS) > 12
    for module in reader_modules():
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if isinstance(node, ast.FunctionDef):
                called = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
                of_re = [f for f in called if isinstance(f, ast.Attribute) and getattr(f.value, "id", "") == "re"]
                assert not of_re, f"{module.__name__}.{node.name} calls re.{of_re[0].attr}"


def test_the_expressions_of_the_schemas_are_linear():
    texts = [path.read_text() for path in SCHEMA_FOLDER.iterdir()]
    found = {json.loads(quoted) for text in texts for quoted in re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', text)}
    assert found
    for pattern in found:
        assert is_linear(re.compile(pattern), "search") == ""
