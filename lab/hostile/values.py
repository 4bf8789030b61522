"""Hostile values to send instead of a number, a word or a document."""

from __future__ import annotations

import json
import random
from typing import Any

INTEGERS = (
    "0", "-1", "1", "2", "3", "7", "1000", "65535", "65536", "65537", "1000000", "3000000", "2147483647", "2147483648",
    "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616",
    "-9223372036854775808", "1" + "0" * 399,
)  # fmt: skip
FLOATS = (
    "0.0", "-0.0", "0.5", "1.5", "-1.5", "1e-310", "5e-324", "2.2250738585072014e-308", "1e-12", "1e15", "1e300",
    "1.7976931348623157e308", "-1.7976931348623157e308", "1e308", "1e309", "-1e400", "1E+2", "0." + "3" * 400,
)  # fmt: skip
NOT_NUMBERS = ("NaN", "nan", "Infinity", "-Infinity", "inf", "0x10", "1_000", "1,5", "١٢", "½", "+1", " 1", "1 ", "1e")
WORDS = (
    "", " ", "null", "None", "true", "<script>alert(1)</script>", "=1+1", "@SUM(A1)", "'; DROP TABLE profiles_run; --",
    "../../etc/passwd", "a/b", "/", ".", "..", "%00", "%s%n", "{{ 7*7 }}", "\u202egnp.exe", "é" * 50, "\u0130", "ﬀ",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "\U0001f4a5" * 20, "a\tb", "a\nb", "a\r\nb", '"', "\\", "x" * 201, "x" * 5000, "\ufeff", "\ufffd",
    "\x7f", "\x00", "\x1b[31m",
)  # fmt: skip


def hostile_cell(rng: random.Random) -> str:
    """Return a hostile CSV cell or parameter value."""
    return rng.choice(rng.choice((INTEGERS, INTEGERS, FLOATS, FLOATS, NOT_NUMBERS, WORDS)))


def hostile_json(rng: random.Random) -> str:
    """Return the text of a JSON value, which may be invalid."""
    numbers = lambda: rng.choice(rng.choice((INTEGERS, FLOATS)))  # noqa: E731
    makers = (
        numbers,
        numbers,
        lambda: json.dumps(rng.choice(WORDS), ensure_ascii=rng.random() < 0.5),
        lambda: rng.choice(("null", "true", "false", "[]", "{}", '""', "NaN", "Infinity", "-Infinity", "undefined")),
        lambda: rng.choice(('"\\ud800"', '"\\u0000"', '"\\x"', "'single'", "[1,]", '{"a":1,}', "01", ".5", "1.")),
        lambda: nested(rng),
        lambda: "[" + ",".join(numbers() for _ in range(rng.choice((2, 16, 64, 5000)))) + "]",
        lambda: "{" + ",".join(f'"k{i}":{numbers()}' for i in range(rng.choice((1, 30, 2000)))) + "}",
        lambda: '{"a":1,"a":2}',
        lambda: '"' + "x" * rng.choice((300, 70_000, 900_000)) + '"',
    )
    return rng.choice(makers)()


def nested(rng: random.Random) -> str:
    """Return deeply nested brackets, or an array of very many empty arrays."""
    depth = rng.choice((50, 500, 5000, 100_000))
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}")))
    inner = "1" if opening != "[" else ""
    beside = rng.choice((1000, 50_000, 300_000))
    return opening * depth + inner + closing * depth if rng.random() < 0.6 else "[" + "[]," * beside + "[]]"


class Raw(str):
    """A text that `dump` writes into a JSON document unchanged."""

    __slots__ = ()


def dump(value: Any) -> str:
    """Return the JSON text of a document, in which Raw values are written unchanged."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",\n".join(f"{json.dumps(str(key))}: {dump(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dump, value)) + "]"
    return json.dumps(value)


def change_document(rng: random.Random, document: Any) -> tuple[str, str]:
    """Make one to three changes to `document` in place. Return their description and the text of the document."""
    changes = [_change_once(rng, document) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    return "; ".join(changes), dump(document)


def _change_once(rng: random.Random, document: Any) -> str:
    container = rng.choice(_containers(document))
    keys = list(container) if isinstance(container, dict) else list(range(len(container)))
    if not keys or rng.random() < 0.08:
        return _add(rng, container)
    key = rng.choice(keys)
    if rng.random() < 0.12:
        del container[key]
        return f"{key} removed"
    if rng.random() < 0.06 and isinstance(container, dict):
        container[Raw(f"{key}")] = container[key]
        container[f"{key} "] = container.pop(key)
        return f"{key} renamed"
    text = hostile_json(rng)
    container[key] = Raw(text)
    return f"{key} = {text[:30]}"


def _add(rng: random.Random, container: Any) -> str:
    text = hostile_json(rng)
    if isinstance(container, dict):
        name = rng.choice((*WORDS, "n_max", "schema"))
        container[name] = Raw(text)
        return f"{name[:20]!r} added = {text[:30]}"
    container.insert(rng.randrange(len(container) + 1), Raw(text))
    return f"item added = {text[:30]}"


def _containers(value: Any) -> list[Any]:
    found = []
    if isinstance(value, dict | list):
        found.append(value)
        for item in value.values() if isinstance(value, dict) else value[:50]:
            found += _containers(item)
    return found
