"""JSON members: strict parsing, and validation against the published schemas, with the line of every problem."""

from __future__ import annotations

import json
import json.decoder
import json.scanner
import math
from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.archive.container import PROBLEMS_LISTED, ArchiveProblems, quoted
from profiles.measurements.bounds import (
    DEEPEST_JSON,
    MOST_JSON_CONTAINERS,
    MOST_JSON_VALUES,
    invisible_character,
    is_unstorable,
)

if TYPE_CHECKING:
    import jsonschema

PROBLEMS_COUNTED = 1000  # in one document
SCHEMA_FOLDER = Path(__file__).resolve().parent.parent / "schema"
BYTE_ORDER_MARK = "\ufeff"

Scan = Callable[[str, int], tuple[Any, int]]


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return a published schema by its short name: manifest, platform, workloads or dataset (JSON Schema), runs or
    counters (Table Schema)."""
    schema: dict[str, Any] = json.loads((SCHEMA_FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return schema


@cache
def validator_of(schema: str) -> Any:
    """Return the jsonschema validator of a published schema."""
    import jsonschema  # noqa: PLC0415  slow to import, and most processes validate nothing

    return jsonschema.Draft202012Validator(
        load_schema(schema), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )


class Document:
    """A parsed JSON text, with the line of each of its values."""

    def __init__(self, text: str) -> None:
        """Parse the text. Raises json.JSONDecodeError, also for input that Python accepts: duplicate keys, NaN,
        infinite numbers, unpaired surrogates and NUL (which databases do not store), and more values, lists and objects
        than the bounds allow. Parsing stops at the first error, so that no values after it are created."""
        self._text = text.removeprefix(BYTE_ORDER_MARK)
        decoder = _LocatingDecoder()
        self.value: Any = decoder.decode(self._text)
        self._starts = decoder.starts
        # The first `_counted` characters contain `_lines` line ends.
        self._counted, self._lines = 0, 0

    def line(self, path: Iterable[str | int]) -> int:
        """Return the line of the value at `path`, or of the innermost value on this path that exists."""
        value, position = self.value, 0
        for step in path:
            start = self._starts.get(id(value), {}).get(step)
            if start is None:
                break
            value, position = value[step], start
        if position < self._counted:
            self._counted, self._lines = 0, 0
        # Lines are usually requested in the order of the document, so that counting continues where it ended.
        self._lines += self._text.count("\n", self._counted, position)
        self._counted = position
        return self._lines + 1


class _LocatingDecoder(json.JSONDecoder):
    """The pure Python decoder of the standard library, which also counts the values and records where those of every
    object and list start."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: dict[int, dict[str | int, int]] = {}  # by id of containers that live as long as the document
        self.containers, self.values, self.depth = 0, 0, 0
        self.parse_object = self._object
        self.parse_array = self._array
        self.scan_once = self._checked_scan(json.scanner.py_make_scanner(self))  # type: ignore[attr-defined]

    def _object(self, s_and_end: tuple[str, int], strict: bool, scan_once: Scan, *_: Any) -> tuple[Any, int]:
        self._enter(*s_and_end)
        starts: list[int] = []
        pairs, end = json.decoder.JSONObject(  # type: ignore[attr-defined]
            s_and_end, strict, self._checked_scan(scan_once, starts), None, lambda pairs: pairs
        )
        value: dict[str, Any] = {}
        for (key, item), start in zip(pairs, starts, strict=True):
            if key in value:
                raise json.JSONDecodeError(f"Duplicate key {quoted(key)}", s_and_end[0], start)
            _check_text(key, s_and_end[0], start)
            value[key] = item
        self.starts[id(value)] = dict(zip(value, starts, strict=True))
        self.depth -= 1
        return value, end

    def _array(self, s_and_end: tuple[str, int], scan_once: Scan) -> tuple[Any, int]:
        self._enter(*s_and_end)
        starts: list[int] = []
        value, end = json.decoder.JSONArray(s_and_end, self._checked_scan(scan_once, starts))  # type: ignore[attr-defined]
        self.starts[id(value)] = dict(enumerate(starts))
        self.depth -= 1
        return value, end

    def _enter(self, text: str, end: int) -> None:
        """Count a list or object that opens just before `end`. Raises json.JSONDecodeError if there are too many of
        them or they are nested too deeply."""
        self.containers += 1
        self.depth += 1
        if self.containers > MOST_JSON_CONTAINERS:
            raise json.JSONDecodeError(f"More than {MOST_JSON_CONTAINERS} lists and objects", text, end - 1)
        if self.depth > DEEPEST_JSON:
            raise json.JSONDecodeError(f"Nested more than {DEEPEST_JSON} deep", text, end - 1)

    def _checked_scan(self, scan_once: Scan, starts: list[int] | None = None) -> Scan:
        def scan(text: str, position: int) -> tuple[Any, int]:
            self.values += 1
            if self.values > MOST_JSON_VALUES:
                raise json.JSONDecodeError(f"More than {MOST_JSON_VALUES} values", text, position)
            if text.startswith(("NaN", "Infinity", "-Infinity"), position):
                raise json.JSONDecodeError("NaN and Infinity are not JSON", text, position)
            try:
                value, end = scan_once(text, position)
            except json.JSONDecodeError:
                raise
            except ValueError:  # an integer with more digits than Python converts
                raise json.JSONDecodeError("Number too long", text, position) from None
            if isinstance(value, float) and not math.isfinite(value):
                raise json.JSONDecodeError("Number too large", text, position)
            if isinstance(value, str):
                _check_text(value, text, position)
            if starts is not None:
                starts.append(position)
            return value, end

        return scan


def _check_text(value: str, text: str, position: int) -> None:
    if is_unstorable(value):
        raise json.JSONDecodeError("String contains NUL or an unpaired surrogate", text, position)


def parse_document(name: str, content: bytes, limit: int, problems: ArchiveProblems) -> Document | None:
    """Return a parsed JSON member. Add a problem and return None if it is not valid."""
    if len(content) > limit:
        problems.add(name, None, f"is larger than {limit} bytes")
        return None
    try:
        return Document(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        problems.add(name, content.count(b"\n", 0, error.start) + 1, "is not UTF-8")
    except json.JSONDecodeError as error:
        problems.add(name, error.lineno, f"is not valid JSON: {error.msg}")
    return None


def validate_document(name: str, document: Document, schema: str, problems: ArchiveProblems) -> bool:
    """Add a problem for each violation of a published schema, at most PROBLEMS_COUNTED. Return whether the document is
    valid."""
    valid = True
    for count, error in enumerate(islice(validator_of(schema).iter_errors(document.value), PROBLEMS_COUNTED)):
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.path).lstrip(".")
        message = _schema_message(error)
        # Finding a line is slow, and only PROBLEMS_LISTED problems are shown.
        line = document.line(error.path) if count < PROBLEMS_LISTED else None
        problems.add(name, line, f"{place}: {message}" if place else message)
        valid = False
    return valid


def _schema_message(error: jsonschema.ValidationError) -> str:
    # In our schemas, "not" is used for numbers that are 0 or at least a bound.
    if error.validator == "not":
        return f"{quoted(error.instance)} is less than {error.validator_value['exclusiveMaximum']} and not 0"
    if error.validator == "pattern" and (code := invisible_character(error.instance)):
        return f"has the invisible character {code}"
    return error.message if len(error.message) <= 200 else f"{error.message[:120]} … {error.message[-79:]}"
