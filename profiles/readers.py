"""Forms of files with measurements, read by whoever knows them: applications register their readers when they start.

So the predictor can read what the benchmark kit wrote, and imports nothing of the kit. No Django.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

from profiles.measurements import Measurements

KIT_RESULTS = "mpet-results/1"

Reader = Callable[[IO[bytes]], Measurements]


class UnreadableError(Exception):
    """A file is not of the form that its reader knows; the message says what is wrong and where."""


_readers: dict[str, Reader] = {}


def register_reader(form: str, reader: Reader) -> None:
    """`reader` raises UnreadableError for files that are not of the form."""
    _readers[form] = reader


def read_measurements(form: str, file: IO[bytes]) -> Measurements:
    """What the file holds. Raises UnreadableError, also where no application knows the form."""
    if form not in _readers:
        forms = ", ".join(sorted(_readers)) or "none"
        raise UnreadableError(f"no application reads {form}; known: {forms}")
    return _readers[form](file)
