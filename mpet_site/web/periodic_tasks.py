"""Periodic tasks of a server ("chores" in the documentation), such as resuming the work of a killed process.

Every process that serves pages and every `manage.py db_worker` runs all tasks. Each task therefore claims its work
first (profiles.models.base), and does nothing if another process claimed it earlier.
"""

from __future__ import annotations

import logging
import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connections

logger = logging.getLogger(__name__)
# Tasks do not start at once, because most servers that fork their workers have done so after this time.
FIRST_AFTER_SECONDS = (1.0, 2.0)
# The time for which a fork waits for a running task.
LONGEST_TURN_S = 60.0


@dataclass(frozen=True)
class PeriodicTask:
    name: str
    function: Callable[[], Any]
    seconds: float | None
    soon: bool = True
    # Set this event to run the task now, or once more after its current run.
    due: threading.Event = field(default_factory=threading.Event)

    @property
    def interval_s(self) -> float:
        return float(settings.CHORE_SECONDS if self.seconds is None else self.seconds)

    def run(self) -> None:
        """Call the function once in this thread. Log its errors, and let the next run try again."""
        try:
            self.function()
        except DatabaseError as error:
            logger.warning("chore %s was not done: %s", self.name, error)
        except Exception:
            logger.exception("chore %s failed", self.name)

    def run_periodically(self, stop: threading.Event) -> None:
        """Run the task repeatedly until `stop` is set. Close the database connections after every run."""
        first_delay = random.uniform(*FIRST_AFTER_SECONDS)  # noqa: S311  processes do not start at the same moment
        delay = first_delay if self.soon else first_delay + self.interval_s
        while True:
            self.due.wait(delay)
            self.due.clear()
            if stop.is_set():
                return
            try:
                self.run()
            finally:
                connections.close_all()
            delay = self.interval_s


class _PeriodicTasks:
    """The threads of this process, one for each task, so that a long task delays no other."""

    def __init__(self) -> None:
        self.chores: dict[str, PeriodicTask] = {}
        self.stop: threading.Event | None = None
        self.threads: list[threading.Thread] = []
        self.hooked = False

    def start(self) -> None:
        if self.stop is not None:
            return
        self.stop = threading.Event()
        for chore in self.chores.values():
            chore.due.clear()
        self.threads = [
            threading.Thread(target=chore.run_periodically, args=(self.stop,), name=f"chore {chore.name}", daemon=True)
            for chore in self.chores.values()
        ]
        for thread in self.threads:
            thread.start()
        if not self.hooked:
            self.hooked = True
            os.register_at_fork(before=self.end, after_in_child=self.start_in_child)

    def end(self) -> None:
        """Stop all threads before a fork, and leave the tasks to the children.

        An SQLite connection that is open in both processes after a fork destroys the database.
        """
        if self.stop is not None:
            self.stop.set()
            for chore in self.chores.values():
                chore.due.set()
            for thread in self.threads:
                if thread is not threading.current_thread():
                    thread.join(LONGEST_TURN_S)

    def start_in_child(self) -> None:
        """Start the tasks again after a fork, because threads do not survive it."""
        if self.stop is not None:
            self.stop = None
            self.start()


_running = _PeriodicTasks()


def register_periodic_task(
    name: str, function: Callable[[], Any], seconds: float | None = None, *, soon: bool = True
) -> PeriodicTask:
    """Register a function that is called in a thread of its own, every `seconds` (by default MPET_CHORE_SECONDS).

    If `soon` is true, the first call follows soon after the process starts. Call this in `AppConfig.ready`. A task of
    the same name is replaced.
    """
    _running.chores[name] = PeriodicTask(name, function, seconds, soon)
    return _running.chores[name]


def registered_periodic_tasks() -> tuple[PeriodicTask, ...]:
    return tuple(_running.chores.values())


def start_periodic_tasks() -> None:
    """Start the tasks in this process. A second call has no effect.

    Servers and workers call this, tests and other commands do not.
    """
    _running.start()
