"""A reading process for tests: `benchmarks.child_reader` with more tasks, which misbehave as a hostile file might make
them."""

import os
import signal
import socket
import sys
import time
from typing import Any

from benchmarks import child_reader

MEMORY_STATUS, REQUEST, RESPONSE = child_reader.MEMORY_STATUS, child_reader.REQUEST, child_reader.RESPONSE


def spin(content: Any, **options: Any) -> None:
    while True:
        pass


def sleep(content: Any, **options: Any) -> None:
    time.sleep(600)


def allocate(content: Any, **options: Any) -> None:
    held = []
    while True:
        held.append(bytearray(1 << 20))


def die(content: Any, **options: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def fail(content: Any, **options: Any) -> None:
    raise ZeroDivisionError("told to the operators alone")


def forge(content: Any, **options: Any) -> Any:
    """Return an object that a compromised reader could send."""
    return os.system


def environment(content: Any, **options: Any) -> dict[str, str]:
    return dict(os.environ)


def niceness(content: Any, **options: Any) -> int:
    """Return the niceness that the server sets at the start of this process or soon after."""
    time.sleep(0.2)
    return os.nice(0)


def parent(content: Any, **options: Any) -> int:
    return os.getppid()


def slow_parent(content: Any, **options: Any) -> int:
    time.sleep(1)
    return os.getppid()


def end_program(content: Any, **options: Any) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(5)


REMEMBERED: list[str] = []


def remember(content: Any, **options: Any) -> list[str]:
    REMEMBERED.append("x")
    return REMEMBERED


if __name__ == "__main__":
    tasks = (spin, sleep, allocate, die, fail, forge, environment, niceness)
    tasks += (parent, slow_parent, end_program, remember)
    child_reader.READER_TASKS = {**child_reader.READER_TASKS, **{task.__name__: task for task in tasks}}
    child_reader.serve_requests(socket.socket(fileno=int(sys.argv[1])))
