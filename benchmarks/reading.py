"""Files that strangers send are read in a process of its own, with limits of processor time, memory and time.

Whatever a file does to its reader, the server goes on (docs/decisions/reading-processes.md).
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
UNEXPECTED = "has something that its reader does not expect: nothing was stored, and the operators were told"
READER_NICENESS = 5  # a third of the processor time of those who serve, where there is too little for all
MOST_ANSWER_BYTES = 256 * 2**20  # 200,000 runs are 19 MB
INHERITED = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "LANG", "LC_ALL", "TMPDIR")  # no secret, no address
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",  # each further thread reserves memory, and no reader multiplies matrices
    "OMP_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
    "PYTHONDONTWRITEBYTECODE": "1",
}
MAY_BE_MADE = {
    *(("profiles.measurements.records", name) for name in (
        "CounterTable", "Measurements", "PlatformRecord", "ProfileRecord", "RunTable", "WorkloadRecord"
    )),
    *(("numpy", name) for name in ("dtype", "ndarray")),
    *((f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
}  # fmt: skip


class ReaderBusyError(NotReadyYet):
    """Another request waits for a file to be read."""

    reason = "Another file is being read."


@contextmanager
def one_request_at_a_time() -> Iterator[None]:
    """Let one request wait for files to be read, of all processes that share the state folder, so that the other web
    workers serve on. Raises ReaderBusyError for a second one; what is no request has the time, and is not counted."""
    if can_wait():
        yield
        return
    with file_lock(settings.READING_LOCK, wait=False) as is_ours:
        if not is_ours:
            raise ReaderBusyError
        yield


def archive_limits(rows: int | None = None) -> Limits:
    """`rows`: at most so many; None: as the settings say."""
    return Limits(
        packed_bytes=settings.UPLOAD_MAX_PACKED_BYTES,
        unpacked_bytes=settings.UPLOAD_MAX_UNPACKED_BYTES,
        members=settings.UPLOAD_MAX_MEMBERS,
        rows=settings.UPLOAD_MAX_ROWS if rows is None else min(rows, settings.UPLOAD_MAX_ROWS),
        workloads=settings.UPLOAD_MAX_WORKLOADS,
    )


def foreign_limits() -> ForeignLimits:
    return ForeignLimits(settings.FOREIGN_MAX_BYTES, settings.UPLOAD_MAX_ROWS, settings.UPLOAD_MAX_WORKLOADS)


def read_upload(
    file: IO[bytes], name: str, reading: ForeignReading | None, rows: int | None = None
) -> tuple[Measurements, list[str]]:
    """A results tarball of at most so many `rows`, or a file of another tool, and what is odd about its times. Raises
    ArchiveError."""
    options = {"name": name, "reading": reading, "limits": archive_limits(rows), "foreign_limits": foreign_limits()}
    seconds = settings.READ_TARBALL_SECONDS if reading is None else settings.READ_SECONDS
    measurements, doubts = run_reader("read_upload_file", file, options, seconds)
    return measurements, doubts


@one_request_at_a_time()
def preview_upload(file: IO[bytes], name: str, reading: ForeignReading | None) -> dict[str, Any]:
    """The form, the platform, each workload with the median time of each n, and what is wrong or odd."""
    form = TARBALL if reading is None else reading.form
    options = {"name": name, "reading": reading, "limits": archive_limits(), "foreign_limits": foreign_limits()}
    try:
        found: dict[str, Any] = run_reader("describe_file", file, options)
    except ArchiveError as error:
        return {"form": form, "errors": error_entries(error), "warnings": [], "platform": None, "workloads": []}
    return {"form": form, "errors": [], **found}


@one_request_at_a_time()
def preview_table(file: IO[bytes], name: str, *, packed: bool) -> dict[str, Any] | None:
    """The titles and first rows of a CSV table; None where it cannot be read."""
    try:
        head: dict[str, Any] | None = run_reader("describe_table", file, {"name": name, "packed": packed})
    except ArchiveError:
        return None
    return head


def recognise_upload(file: IO[bytes], name: str, *, packed: bool) -> str:
    """The form of a file, or of several in one archive. Raises UnreadableError."""
    start = file.read(2)
    file.seek(0)
    if not packed and is_tarball(name, start):
        return TARBALL  # as most are, which spares a process
    with one_request_at_a_time():
        form: str = run_reader("recognise_form", file, {"name": name, "packed": packed, "limits": foreign_limits()})
    return form


@one_request_at_a_time()
def read_sent_platform(file: IO[bytes], name: str = "platform.json") -> PlatformRecord:
    """The machine that a file by itself describes. Raises ArchiveError."""
    platform: PlatformRecord = run_reader("read_platform_file", file, {"name": name})
    return platform


def run_reader(task: str, file: IO[bytes], options: Mapping[str, Any], seconds: float | None = None) -> Any:
    """What a task of `child_reader` says of the file, from its start; it takes at most so many seconds of processor
    time. Raises ArchiveError, also where the process exceeds a limit or dies, and UnrecognisedError."""
    seconds = settings.READ_SECONDS if seconds is None else seconds
    with TemporaryFile() as question, TemporaryFile() as answer:
        pickle.dump((task, options), question)
        file.seek(0)
        shutil.copyfileobj(file, question)
        file.seek(0)
        question.seek(0)
        _run_process(question, answer, seconds)
        if answer.seek(0, os.SEEK_END) > MOST_ANSWER_BYTES:
            raise _refusal(f"holds more than is read: its measurements take {MOST_ANSWER_BYTES} bytes")
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
    """`benchmarks.child_reader`, which forks a process for each file."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair()
        with theirs:
            self.program = subprocess.Popen(  # noqa: S603  this program, and a number
                [sys.executable, "-m", child_reader.__name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                cwd=settings.BASE_DIR,
                env={name: os.environ[name] for name in INHERITED if name in os.environ} | ENVIRONMENT,
                pass_fds=[theirs.fileno()],
                process_group=0,
            )
        os.setpriority(os.PRIO_PROCESS, self.program.pid, os.nice(0) + READER_NICENESS)

    def read(self, question: IO[bytes], answer: IO[bytes], request: bytes) -> tuple[int, bool]:
        """The exit status of the process that read, and whether it took too long. Raises OSError and EOFError where
        the program has ended."""
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


# Programs that wait for the next file: of each thread that reads at the same time one, and none of another process.
waiting_programs: list[ReaderProgram] = []
os.register_at_fork(after_in_child=waiting_programs.clear)


def _run_process(question: IO[bytes], answer: IO[bytes], seconds: float) -> None:
    """Returns where it ended well; raises ArchiveError for a limit that it met."""
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
    """By a program that waits, or by a new one where none does or where that has ended meanwhile."""
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
    """Makes measurements, numbers, texts and nothing else, should a file ever have taken its reader over."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in MAY_BE_MADE:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of an answer")
        return super().find_class(module, name)
