"""Reading of uploaded files in child processes with limits on processor time, memory and wall-clock time.

The server keeps running, whatever a file does to its reader (docs/decisions/reading-processes.md).
"""

from __future__ import annotations

import logging
import math
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from tempfile import TemporaryFile
from typing import IO, Any

from django.conf import settings

from benchmarks import child_reader
from benchmarks.archive import ArchiveError, ArchiveProblem, Limits
from benchmarks.formats.collecting import ForeignLimits
from benchmarks.formats.deliveries import ForeignReading
from benchmarks.formats.recognising import TARBALL, UnrecognisedError, is_tarball
from benchmarks.models import error_entries
from mpet_site.state_folder import file_lock
from mpet_site.web.background import NotReadyYet, can_wait
from profiles.measurements import Measurements, PlatformRecord

logger = logging.getLogger(__name__)
UNEXPECTED = "caused an internal error in its reader: nothing was stored, and the operators were notified"
READER_NICENESS = 5  # a third of a web worker's share of a busy processor
MOST_ANSWER_BYTES = 256 * 2**20  # 200,000 runs take 19 MB
# Environment variables that the program inherits. They contain no secrets and no addresses.
INHERITED = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "LANG", "LC_ALL", "TMPDIR")
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",  # each further thread reserves memory, and readers do not multiply matrices
    "OMP_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
    "PYTHONDONTWRITEBYTECODE": "1",
}
MAY_BE_MADE = {
    *(("profiles.measurements", name) for name in (
        "CounterTable", "Measurements", "PlatformRecord", "ProfileRecord", "RunTable", "WorkloadRecord"
    )),
    *(("numpy", name) for name in ("dtype", "ndarray")),
    *((f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
}  # fmt: skip


class ReaderBusyError(NotReadyYet):
    """Another request is waiting for a file to be read."""

    reason = "Another file is being read."


@contextmanager
def one_request_at_a_time() -> Iterator[None]:
    """Allow only one request to wait for a file to be read, across all processes that share the state folder, so that
    the other web workers keep serving. Raises ReaderBusyError in a second request. Commands and background tasks can
    wait, and are not limited."""
    if can_wait():
        yield
        return
    with file_lock(settings.READING_LOCK, wait=False) as is_ours:
        if not is_ours:
            raise ReaderBusyError
        yield


def archive_limits() -> Limits:
    """Return the limits of the settings for tarballs."""
    return Limits(
        packed_bytes=settings.UPLOAD_MAX_PACKED_BYTES,
        unpacked_bytes=settings.UPLOAD_MAX_UNPACKED_BYTES,
        members=settings.UPLOAD_MAX_MEMBERS,
        rows=settings.UPLOAD_MAX_ROWS,
        workloads=settings.UPLOAD_MAX_WORKLOADS,
    )


def foreign_limits() -> ForeignLimits:
    """Return the limits of the settings for files of other tools."""
    return ForeignLimits(settings.FOREIGN_MAX_BYTES, settings.UPLOAD_MAX_ROWS, settings.UPLOAD_MAX_WORKLOADS)


def read_upload(
    file: IO[bytes], name: str, reading: ForeignReading | None, rows: int | None = None
) -> tuple[Measurements, list[str]]:
    """Return the measurements of a results tarball or of a file of another tool, with at most `rows` rows, and the
    warnings about their quality. Raises ArchiveError."""
    most_rows = settings.UPLOAD_MAX_ROWS if rows is None else min(rows, settings.UPLOAD_MAX_ROWS)
    limits, of_foreign = (replace(of, rows=most_rows) for of in (archive_limits(), foreign_limits()))
    options = {"name": name, "reading": reading, "limits": limits, "foreign_limits": of_foreign}
    seconds = settings.READ_TARBALL_SECONDS if reading is None else settings.READ_SECONDS
    measurements, doubts = run_reader("read_upload_file", file, options, seconds)
    return measurements, doubts


@one_request_at_a_time()
def preview_upload(file: IO[bytes], name: str, reading: ForeignReading | None) -> dict[str, Any]:
    """Return the format, the platform, each workload with its median time at each n, and the errors and warnings."""
    form = TARBALL if reading is None else reading.form
    options = {"name": name, "reading": reading, "limits": archive_limits(), "foreign_limits": foreign_limits()}
    try:
        found: dict[str, Any] = run_reader("describe_file", file, options)
    except ArchiveError as error:
        return {"form": form, "errors": error_entries(error), "warnings": [], "platform": None, "workloads": []}
    return {"form": form, "errors": [], **found}


@one_request_at_a_time()
def preview_table(file: IO[bytes], name: str, *, packed: bool) -> dict[str, Any] | None:
    """Return the titles and first rows of a CSV table, or None if it cannot be read."""
    try:
        head: dict[str, Any] | None = run_reader("describe_table", file, {"name": name, "packed": packed})
    except ArchiveError:
        return None
    return head


def recognise_upload(file: IO[bytes], name: str, *, packed: bool) -> str:
    """Return the format of a file, or of several files in one archive. Raises UnreadableError."""
    start = file.read(2)
    file.seek(0)
    if not packed and is_tarball(name, start):
        # Most uploads are tarballs, which are recognised here without a process.
        return TARBALL
    with one_request_at_a_time():
        form: str = run_reader("recognise_form", file, {"name": name, "packed": packed, "limits": foreign_limits()})
    return form


@one_request_at_a_time()
def read_sent_platform(file: IO[bytes], name: str = "platform.json") -> PlatformRecord:
    """Return the platform that a separate file (platform.json) describes. Raises ArchiveError."""
    platform: PlatformRecord = run_reader("read_platform_file", file, {"name": name})
    return platform


def run_reader(task: str, file: IO[bytes], options: Mapping[str, Any], seconds: float | None = None) -> Any:
    """Return the result of a task of `child_reader` for the whole file. The task may use `seconds` of processor time.
    Raises UnrecognisedError, and ArchiveError also if the process exceeds a limit or dies."""
    seconds = settings.READ_SECONDS if seconds is None else seconds
    with TemporaryFile() as question, TemporaryFile() as answer:
        pickle.dump((task, options), question)
        file.seek(0)
        shutil.copyfileobj(file, question)
        file.seek(0)
        question.seek(0)
        _run_process(question, answer, seconds)
        if answer.seek(0, os.SEEK_END) > MOST_ANSWER_BYTES:
            raise _refusal(f"is too large: its measurements take more than {MOST_ANSWER_BYTES} bytes")
        answer.seek(0)
        outcome, value = _Answer(answer).load()
    if outcome == "refused":
        raise ArchiveError([ArchiveProblem(*problem) for problem in value[0]], value[1])
    if outcome == "unrecognised":
        raise UnrecognisedError(value)
    if outcome == "failed":
        logger.error("a reader failed at %s: %s", task, value)
        raise _refusal(UNEXPECTED)
    return value


class ReaderProgram:
    """A running `benchmarks.child_reader`, which forks a process for each file."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair()
        with theirs:
            self.program = subprocess.Popen(  # noqa: S603  a fixed program and a number
                [sys.executable, "-m", child_reader.__name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                cwd=settings.BASE_DIR,
                env={name: os.environ[name] for name in INHERITED if name in os.environ} | ENVIRONMENT,
                pass_fds=[theirs.fileno()],
                process_group=0,
            )
        os.setpriority(os.PRIO_PROCESS, self.program.pid, os.nice(0) + READER_NICENESS)

    def read(self, question: IO[bytes], answer: IO[bytes], request: bytes) -> tuple[int, bool]:
        """Return the exit status of the process that read the file, and whether it exceeded its wall-clock time. Raises
        OSError and EOFError if the program has ended."""
        socket.send_fds(self.channel, [request], [question.fileno(), answer.fileno()])
        response = self.channel.recv(child_reader.RESPONSE.size, socket.MSG_WAITALL)
        if len(response) < child_reader.RESPONSE.size:
            raise EOFError
        status, is_late = child_reader.RESPONSE.unpack(response)
        return status, is_late

    def close(self) -> None:
        self.channel.close()
        self.program.kill()
        self.program.wait()


# Idle programs: at most one for each thread that reads at the same time. They are not shared with forked processes.
waiting_programs: list[ReaderProgram] = []
os.register_at_fork(after_in_child=waiting_programs.clear)


def _run_process(question: IO[bytes], answer: IO[bytes], seconds: float) -> None:
    """Run the process to its end. Raises ArchiveError if it exceeded a limit or failed."""
    memory_bytes, wall_s = settings.READ_MEMORY_BYTES, settings.READ_WALL_SECONDS
    file_bytes = max(settings.UPLOAD_MAX_UNPACKED_BYTES, MOST_ANSWER_BYTES) + 1
    status, is_late = _read_once(
        question, answer, child_reader.REQUEST.pack(math.ceil(seconds), memory_bytes, file_bytes, wall_s)
    )
    if is_late:
        raise _refusal(f"took more than {wall_s:g} s to read")
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        raise _refusal(f"took more than {seconds:g} s of processor time to read")
    if status == child_reader.MEMORY_STATUS:
        raise _refusal(f"took more than {memory_bytes / 2**20:g} MiB of memory to read")
    if status:
        logger.error("a process that read a file ended with status %d", status)
        raise _refusal(UNEXPECTED)


def _read_once(question: IO[bytes], answer: IO[bytes], request: bytes) -> tuple[int, bool]:
    """Read the file with an idle program. Start a new program if none is idle or the idle one has ended."""
    with suppress(IndexError):
        program = waiting_programs.pop()
        with suppress(OSError, EOFError):
            return _read_and_keep(program, question, answer, request)
        question.seek(0)
        answer.truncate(0)
    try:
        return _read_and_keep(ReaderProgram(), question, answer, request)
    except (OSError, EOFError):
        logger.exception("the program that reads files ended")
        raise _refusal(UNEXPECTED) from None


def _read_and_keep(program: ReaderProgram, question: IO[bytes], answer: IO[bytes], request: bytes) -> tuple[int, bool]:
    try:
        outcome = program.read(question, answer, request)
    except BaseException:
        program.close()
        raise
    waiting_programs.append(program)
    return outcome


def _refusal(reason: str) -> ArchiveError:
    return ArchiveError([ArchiveProblem(None, None, reason)])


class _Answer(pickle.Unpickler):
    """Unpickler that creates only measurements, numbers and texts, in case a file took control of its reader."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in MAY_BE_MADE:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of an answer")
        return super().find_class(module, name)
