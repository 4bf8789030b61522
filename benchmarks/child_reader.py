"""Child program that reads uploaded files, each in a process of its own. `benchmarks.reading` starts it. It does not
use Django.

    python -m benchmarks.child_reader SOCKET

The program imports the readers once. For each REQUEST on the socket, which comes with two file descriptors (the
question, and an empty file for the answer), it forks a process and then sends a RESPONSE. It ends when the socket is
closed or has been idle for IDLE_SECONDS.

A question is a pickled `(task, options)`, followed by the bytes to be read. An answer is a pickled `(outcome, value)`:
`done` with the return value of the task, `refused` with the problems of an ArchiveError, `unrecognised` with the
message of an UnrecognisedError, or `failed` with the traceback of an unexpected exception. A process that exceeds its
memory limit exits with MEMORY_STATUS. A process that exceeds its processor time is ended by SIGXCPU, and one that
exceeds its wall-clock time by SIGKILL.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import IO, Any, NoReturn

import numpy as np

from benchmarks.archive import ArchiveError, Limits, read_archive
from benchmarks.archive.documents import validator_of
from benchmarks.archive.reading import read_platform_file
from benchmarks.formats import read_foreign
from benchmarks.formats.collecting import ForeignFile, ForeignLimits
from benchmarks.formats.deliveries import ForeignReading, unpack_files
from benchmarks.formats.plain_csv import table_head
from benchmarks.formats.recognising import UnrecognisedError, recognise
from profiles.measurements import Measurements, ProfileRecord
from profiles.scaling.quality import quality_warnings

MEMORY_STATUS = 70
IDLE_SECONDS = 300.0  # an idle program occupies 60 MB
REQUEST = struct.Struct("!QQQd")  # processor time (s), memory (bytes), file size (bytes), wall-clock time (s)
RESPONSE = struct.Struct("!i?")  # exit status (negative for a signal), whether the wall-clock time was exceeded


def describe_measurements(measurements: Measurements) -> dict[str, Any]:
    """Return the platform, each workload with its median time at each n, and the warnings."""
    return {
        "warnings": list(dict.fromkeys([*measurements.warnings, *quality_warnings(measurements)])),
        "platform": asdict(measurements.platforms[0]) | {"placement": None},
        "workloads": [_workload(measurements, record) for record in measurements.profiles],
    }


def _workload(measurements: Measurements, record: ProfileRecord) -> dict[str, Any]:
    workload, runs = measurements.workloads[record.workload], record.runs.own
    clean = np.flatnonzero(~runs.is_profile_pass)
    clean = clean[np.argsort(runs.n[clean], kind="stable")]
    n, starts = np.unique(runs.n[clean], return_index=True)
    return {
        **{name: getattr(workload, name) for name in ("name", "version", "input", "runtime")},
        "time_kind": measurements.time_kinds.get(record.workload, "absolute"),
        "runs": len(clean),
        "n": n.tolist(),
        "time_s": [float(np.median(times)) for times in np.split(runs.time_s[clean], starts[1:]) if len(times)],
    }


def serve_requests(channel: socket.socket) -> None:
    # Import jsonschema once here instead of in each process.
    validator_of("manifest")
    channel.settimeout(IDLE_SECONDS)
    while True:
        try:
            request, files, _, _ = socket.recv_fds(channel, REQUEST.size, 2)
        except TimeoutError:
            return
        if not request:
            return
        *limits, seconds = REQUEST.unpack(request)
        process = os.fork()
        if process == 0:
            channel.close()
            _answer_and_exit(*files, *limits)
        for file in files:
            os.close(file)
        channel.sendall(RESPONSE.pack(*_wait(process, seconds)))


def _wait(process: int, seconds: float) -> tuple[int, bool]:
    is_late = False

    def kill(*_: Any) -> None:
        nonlocal is_late
        is_late = True
        os.kill(process, signal.SIGKILL)

    signal.signal(signal.SIGALRM, kill)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    # With WNOWAIT the process id is not reused while `kill` may still run.
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), is_late


def _answer_and_exit(question: int, answer: int, processor_s: int, memory_bytes: int, file_bytes: int) -> NoReturn:
    """Answer one question under resource limits. Exit the process, so that it does not continue in the parent's
    loop."""
    status = 1
    try:
        for kind, most in (
            (resource.RLIMIT_CPU, processor_s),
            (resource.RLIMIT_AS, memory_bytes),
            (resource.RLIMIT_FSIZE, file_bytes),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(kind, (most, most + 1 if kind == resource.RLIMIT_CPU else most))
        with open(question, "rb") as asked, open(answer, "wb") as answered:
            answered.write(pickle.dumps(_answer_to(asked), protocol=5))
        status = 0
    except MemoryError:
        status = MEMORY_STATUS
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _answer_to(question: IO[bytes]) -> tuple[str, Any]:
    """Return the outcome and the value for a question, as described in the module's docstring."""
    task, options = pickle.load(question)  # noqa: S301  written by the server; the uploaded bytes follow
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
    """Return the format of a file, or of several files in one archive. Raises ArchiveError and UnrecognisedError."""
    return recognise(_foreign_files(content, name, packed), limits.file_bytes)


def read_upload_file(content: IO[bytes], **options: Any) -> tuple[Measurements, list[str]]:
    """Return the measurements of a file and the warnings about their quality. Raises ArchiveError."""
    measurements = _read(content, **options)
    return measurements, quality_warnings(measurements)


def describe_file(content: IO[bytes], **options: Any) -> dict[str, Any]:
    """Return the description of a file's measurements for a preview. Raises ArchiveError."""
    return describe_measurements(_read(content, **options))


def describe_table(content: IO[bytes], *, name: str, packed: bool) -> dict[str, Any] | None:
    """Return the titles and the first rows of a CSV table, or None if it has none. Of several files, read the first."""
    return table_head(_foreign_files(content, name, packed)[0])


def _foreign_files(content: IO[bytes], name: str, packed: bool) -> list[ForeignFile]:
    data = content.read()
    return unpack_files(name, data) if packed else [ForeignFile(name, data)]


def _read(
    content: IO[bytes], *, name: str, reading: ForeignReading | None, limits: Limits, foreign_limits: ForeignLimits
) -> Measurements:
    """Read a results tarball, or a file of another tool if `reading` is given."""
    if reading is None:
        return read_archive(content, limits=limits)
    files = _foreign_files(content, name, reading.packed)
    return read_foreign(reading.form, files, platform=reading.platform, columns=reading.columns, limits=foreign_limits)


READER_TASKS: Mapping[str, Callable[..., Any]] = {
    task.__name__: task
    for task in (recognise_form, read_platform_file, read_upload_file, describe_file, describe_table)
}

if __name__ == "__main__":
    serve_requests(socket.socket(fileno=int(sys.argv[1])))
