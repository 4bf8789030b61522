"""Mutated files of other tools: specimens with changed bytes, texts, nesting, numbers and length."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

from lab.hostile.mutations import API, Known, Mutation, Sent, form, form_type
from lab.hostile.values import FLOATS, INTEGERS, NOT_NUMBERS, WORDS, change_document, nested
from tests.benchmarks.formats.test_formats import CSV_COLUMNS, FILES, SPECIMENS

MACHINE = json.dumps({"name": "laptop", "cpu_model": "ACME 1000", "threads": 8})
TOKENS = (b"null", b"-1", b"1e999", b"{}", b"[]", b'""', b"\0", b"\xff", b"NaN", b"9" * 400, b"<", b",", b"\n", b"true")
LONG = (" ", "\t", "9", "x", "-", "/", "a ", "1.", "(", "threads ", "Threads: 2 ", "Processor: ", "/threads:", "[", "é")
LENGTHS = (300, 4_000, 40_000, 400_000)
MOST_BYTES = 2_500_000  # slightly more than the server reads


def foreign_mutation(seed: int, number: int, known: Known) -> Mutation:
    """Return the mutated files of a seed and a number. Most of them are sent for a preview."""
    rng = random.Random(f"{seed}:{number}:foreign")
    tool, kind, files = mutated_files(rng)
    size = max(len(content) for _, content in files)
    return Mutation(number, f"{tool}: {kind}", f"{size} bytes", _sent(rng, tool, files))


def mutated_files(rng: random.Random) -> tuple[str, str, list[tuple[str, bytes]]]:
    """Return a tool, a kind of change, and the tool's specimens with their names, where one specimen is changed."""
    tool, kind = rng.choice(list(FILES)), rng.choice(list(CHANGES))
    files = [(name, (SPECIMENS / name).read_bytes()) for name in FILES[tool]]
    place = rng.randrange(len(files))
    for _ in range(rng.choice((1, 1, 1, 2))):
        files[place] = (files[place][0], CHANGES[kind](rng, files[place][1])[:MOST_BYTES])
    if rng.random() < 0.05:
        files *= rng.choice((2, 30))
    return tool, kind, files


def _sent(rng: random.Random, tool: str, files: list[tuple[str, bytes]]) -> Sent:
    said = rng.choice((tool, tool, tool, "auto", "auto", rng.choice(list(FILES))))
    parts: list[tuple[str, str | None, bytes]] = [("visibility", None, rng.choice((b"public", b"private")))]
    parts.append(("form", None, said.encode()))
    on_page = rng.random() < 0.15
    if rng.random() < 0.7:
        machine = MACHINE if rng.random() < 0.9 else change_document(rng, json.loads(MACHINE))[1]
        parts.append(("platform_json", "platform.json" if on_page else None, machine.encode(errors="surrogatepass")))
    if tool == "csv":
        columns = ", ".join(f"{name}={title}" for name, title in CSV_COLUMNS.items())
        parts.append(("columns", None, (columns if on_page else json.dumps(CSV_COLUMNS)).encode()))
    if rng.random() < 0.7:
        parts.append(("preview", None, b"true"))
    body = form([*parts, *(("file", name, content) for name, content in files)])
    return Sent("POST", "/upload/" if on_page else f"{API}uploads/", body, form_type(), True)


def damage(rng: random.Random, content: bytes) -> bytes:
    """Replace, remove or insert up to four pieces."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(content) + 1)
        end = min(len(content), start + rng.choice((0, 1, 3, 40, 400)))
        content = content[:start] + rng.choice((b"", *TOKENS)) + content[end:]
    return content


def _put_in(rng: random.Random, content: bytes, text: str) -> bytes:
    """Insert the text after a word, or replace a word by it."""
    words = list(re.finditer(rb"[\w.]+", content))
    if not words:
        return content + text.encode(errors="surrogatepass")
    word = rng.choice(words)
    start, end = word.span() if rng.random() < 0.5 else (word.end(), word.end())
    return content[:start] + text.encode(errors="surrogatepass") + content[end:]


def long_text(rng: random.Random, content: bytes) -> bytes:
    piece, length = rng.choice(LONG), rng.choice(LENGTHS)
    return _put_in(rng, content, piece * (length // len(piece)) + rng.choice(("", "x", "!", "1")))


def deep(rng: random.Random, content: bytes) -> bytes:
    opening, closing = rng.choice((("<a>", "</a>"), ("<Result>", "</Result>"), ("<a:b xmlns:a='c'>", "</a:b>")))
    depth = rng.choice((40, 2_000, 50_000))
    element = opening * depth + (closing * depth if rng.random() < 0.8 else "")
    return _put_in(rng, content, rng.choice((nested(rng), element)))


def large_number(rng: random.Random, content: bytes) -> bytes:
    """Replace a number by a hostile one."""
    hostile = rng.choice(rng.choice((INTEGERS, FLOATS, NOT_NUMBERS, ("9" * 5_000, "true", "1.2.3", "-0", "0" * 9_000))))
    numbers = list(re.finditer(rb"\d[\d.]*", content))
    if not numbers:
        return content + hostile.encode()
    start, end = rng.choice(numbers).span()
    return content[:start] + hostile.encode() + content[end:]


def word(rng: random.Random, content: bytes) -> bytes:
    return _put_in(rng, content, rng.choice(WORDS))


def repeated(rng: random.Random, content: bytes) -> bytes:
    """Repeat a line or a few consecutive lines many times."""
    lines = content.splitlines(keepends=True) or [b"x\n"]
    start = rng.randrange(len(lines))
    some = b"".join(lines[start : start + rng.choice((1, 2, 12))])
    again = some * max(1, rng.choice((100, 20_000, 400_000, MOST_BYTES)) // max(1, len(some)))
    return b"".join(lines[:start]) + again + b"".join(lines[start:])


def document(rng: random.Random, content: bytes) -> bytes:
    """Change values of a JSON document, or replace a word if the content is not JSON or is nested too deeply."""
    try:
        return change_document(rng, json.loads(content))[1].encode(errors="surrogatepass")
    except (ValueError, RecursionError):
        return word(rng, content)


CHANGES: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "bytes": damage,
    "long text": long_text,
    "deep": deep,
    "large number": large_number,
    "word": word,
    "repeated": repeated,
    "document": document,
}
