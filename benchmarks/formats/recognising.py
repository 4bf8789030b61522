"""Recognition of the tool that wrote a file, by the content of the file. The module does not need Django."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import PurePath

from benchmarks.formats.collecting import ForeignFile, ForeignLimits
from profiles.measurements import UnreadableError

TARBALL = "mpet-results"  # returned by `recognise` for a results tarball; not one of FORMATS
GZIP = b"\x1f\x8b"
TARBALL_SUFFIXES = (".tar.gz", ".tgz")
MOST_LOOKED_AT = 1 << 16  # bytes of a text; its first lines identify its format
EXTRA_P = re.compile(r"\s*(PARAMETER|POINTS|REGION|METRIC)\s")
LIKWID = re.compile(r"(TABLE|STRUCT),|CPU name:,")
FORM_OF_NAME = {
    "benchmarks": "google-benchmark",
    "results": "hyperfine",
    "params": "extra-p",
    "dlbVersion": "talp",
    "popMetrics": "talp",
}
TOO_MIXED = "Send files of one tool and one machine, or a single results tarball."


class UnrecognisedError(UnreadableError):
    """Files of an unknown format or of several formats. The message is written for the sender."""


def recognise(files: Sequence[ForeignFile], file_bytes: int = ForeignLimits.file_bytes) -> str:
    """Return the format of the files of one upload: TARBALL, or one of `FORMATS`. Of a JSON document, parse at most
    `file_bytes` bytes. Raise UnrecognisedError if the format is unknown or the files have several formats."""
    forms = {file.name: _form_of(file, file_bytes) for file in files}
    unknown = [name for name, form in forms.items() if form is None]
    if unknown:
        raise UnrecognisedError(f"{unknown[0]}: unknown file type. Choose its format.")
    found = {form for form in forms.values() if form is not None}
    if len(found) > 1 or (found == {TARBALL} and len(files) > 1):
        raise UnrecognisedError(TOO_MIXED)
    return found.pop()


def is_tarball(name: str, start: bytes) -> bool:
    """Return whether a file is a results tarball, by its name or its first two bytes."""
    return start.startswith(GZIP) or name.casefold().endswith(TARBALL_SUFFIXES)


def _form_of(file: ForeignFile, file_bytes: int) -> str | None:
    if is_tarball(file.name, file.content):
        return TARBALL
    text = file.content[:MOST_LOOKED_AT].decode("utf-8-sig", "replace").lstrip()
    if text.startswith("{"):
        return _form_of_json(file.content[: file_bytes + 1])
    if text.startswith("<"):
        return "phoronix" if "<PhoronixTestSuite" in text else None
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if lines and EXTRA_P.match(lines[0]):
        return "extra-p"
    if any(LIKWID.match(line) for line in lines[:50]):
        return "likwid"
    is_table = PurePath(file.name.casefold()).suffix in (".csv", ".txt", "") and bool(lines) and "," in lines[0]
    return "csv" if is_table and "\0" not in text else None


def _form_of_json(content: bytes) -> str | None:
    """Return the format by a name that only one tool's documents have, or None. Parse the whole content, or the first
    line if each line is a document."""
    first_line, _, _ = content[:MOST_LOOKED_AT].lstrip().partition(b"\n")
    for text in (content, first_line):
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            continue
        return next((form for name, form in FORM_OF_NAME.items() if name in document), None)
    return None
