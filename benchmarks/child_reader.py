"""The program that reads what strangers send, in a process of its own: `benchmarks.reading` starts it. No Django.

    python -m benchmarks.child_reader PROCESSOR_SECONDS MEMORY_BYTES FILE_BYTES <question >answer

A question is a pickled `(task, options)`, followed by the bytes to be read. The answer is a pickled `(outcome, value)`:
`done` and what the task returns; `refused` and the problems of an ArchiveError; `unrecognised` and why; `failed` and
the traceback of an exception that no reader should raise. What needs more memory ends with MEMORY_STATUS, what needs
more processor time by SIGXCPU.
"""

from __future__ import annotations

import pickle
import resource
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import IO, Any

from benchmarks.archive import ArchiveError, Limits, read_archive
from benchmarks.archive.platforms import read_platform_file
from benchmarks.formats import read_foreign
from benchmarks.formats.collecting import ForeignFile, ForeignLimits
from benchmarks.formats.deliveries import ForeignReading, unpack_files
from benchmarks.formats.recognising import UnrecognisedError, recognise
from benchmarks.understanding import describe_measurements
from profiles.measurements import Measurements
from profiles.validity.quality import quality_warnings

MEMORY_STATUS = 70


def answer_question(processor_s: int, memory_bytes: int, file_bytes: int) -> None:
    for kind, most in (
        (resource.RLIMIT_CPU, processor_s),
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most + 1 if kind == resource.RLIMIT_CPU else most))
    try:
        answer = pickle.dumps(answer_to(sys.stdin.buffer), protocol=5)
    except MemoryError:
        sys.exit(MEMORY_STATUS)
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


def answer_to(question: IO[bytes]) -> tuple[str, Any]:
    """The outcome and the value for one question, as the module describes them."""
    task, options = pickle.load(question)  # noqa: S301  the server wrote it; what a stranger sent comes behind
    try:
        return "done", READER_TASKS[task](question, **options)
    except ArchiveError as error:
        return "refused", ([(problem.member, problem.line, problem.reason) for problem in error.problems], error.more)
    except UnrecognisedError as error:
        return "unrecognised", str(error)
    except MemoryError:
        raise
    except Exception:
        return "failed", traceback.format_exc()


def recognise_form(content: IO[bytes], *, name: str, packed: bool, limits: ForeignLimits) -> str:
    """Which tool wrote a file, or several in one archive. Raises ArchiveError and UnrecognisedError."""
    held = content.read()
    return recognise(unpack_files(name, held) if packed else [ForeignFile(name, held)], limits.file_bytes)


def read_platform_alone(content: IO[bytes], *, name: str) -> Any:
    """The machine that a file by itself describes. Raises ArchiveError."""
    return read_platform_file(content.read(), name)


def read_upload_file(
    content: IO[bytes], *, name: str, reading: ForeignReading | None, limits: Limits, foreign_limits: ForeignLimits
) -> tuple[Measurements, list[str]]:
    """A results tarball, or a file of another tool, and what is odd about its times. Raises ArchiveError."""
    measurements = _read(content, name, reading, limits, foreign_limits)
    return measurements, quality_warnings(measurements)


def describe_file(
    content: IO[bytes], *, name: str, reading: ForeignReading | None, limits: Limits, foreign_limits: ForeignLimits
) -> dict[str, Any]:
    """What would be understood of it. Raises ArchiveError."""
    return describe_measurements(_read(content, name, reading, limits, foreign_limits))


def _read(
    content: IO[bytes], name: str, reading: ForeignReading | None, limits: Limits, foreign_limits: ForeignLimits
) -> Measurements:
    if reading is None:
        return read_archive(content, limits=limits)
    held = content.read()
    files = unpack_files(name, held) if reading.packed else [ForeignFile(name, held)]
    return read_foreign(reading.form, files, platform=reading.platform, columns=reading.columns, limits=foreign_limits)


READER_TASKS: Mapping[str, Callable[..., Any]] = {
    task.__name__: task for task in (recognise_form, read_platform_alone, read_upload_file, describe_file)
}

if __name__ == "__main__":
    answer_question(*map(int, sys.argv[1:]))
