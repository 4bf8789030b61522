"""Periodic tasks of a server ("chores" in the documentation), such as resuming the work of a killed process.

Every process that serves pages, and every `manage.py db_worker`, runs all of them. So a task looks first,
claims what it works on (profiles.models.base), and finds nothing where another was faster.
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
FIRST_AFTER_SECONDS = (1.0, 2.0)  # not at once: many servers that fork their workers have done so by then
LONGEST_TURN_S = 60.0  # that a fork waits for


@dataclass(frozen=True)
class PeriodicTask:
    name: str
    function: Callable[[], Any]
    seconds: float | None
    soon: bool = True
    due: threading.Event = field(default_factory=threading.Event)  # set it: to run now, or again after this run

    @property
    def interval_s(self) -> float:
        return float(settings.CHORE_SECONDS if self.seconds is None else self.seconds)

    def run(self) -> None:
        """Call the function once, in this thread. Errors are logged; the next turn tries again."""
        try:
            self.function()
        except DatabaseError as error:
            logger.warning("chore %s was not done: %s", self.name, error)
        except Exception:
            logger.exception("chore %s failed", self.name)

    def run_periodically(self, stop: threading.Event) -> None:
        """Run until `stop` is set. Connections to the database are closed after every run."""
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
        """Stop all threads before a fork, and leave the tasks to the children: a connection to SQLite that is open on
        both sides of a fork destroys the database."""
        if self.stop is not None:
            self.stop.set()
            for chore in self.chores.values():
                chore.due.set()
            for thread in self.threads:
                if thread is not threading.current_thread():
                    thread.join(LONGEST_TURN_S)

    def start_in_child(self) -> None:
        """No thread survives a fork."""
        if self.stop is not None:
            self.stop = None
            self.start()


_running = _PeriodicTasks()


def register_periodic_task(
    name: str, function: Callable[[], Any], seconds: float | None = None, *, soon: bool = True
) -> PeriodicTask:
    """Have the function called about every so many seconds (MPET_CHORE_SECONDS), and `soon` after a process starts, in
    a thread of its own. For `AppConfig.ready`; a name that is there already is replaced."""
    _running.chores[name] = PeriodicTask(name, function, seconds, soon)
    return _running.chores[name]


def registered_periodic_tasks() -> tuple[PeriodicTask, ...]:
    return tuple(_running.chores.values())


def start_periodic_tasks() -> None:
    """Start the tasks in this process; a second call changes nothing. Servers and workers call it, tests and other
    commands do not."""
    _running.start()
