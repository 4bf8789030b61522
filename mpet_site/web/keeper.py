"""Chores: small work that a server does by itself now and then, such as taking up again what a killed process left.

Every process that serves pages, and every `manage.py db_worker`, keeps all chores: whoever runs does them. So a chore
looks first, claims what it works on (profiles.models.leases), and finds nothing where another was faster.
"""

from __future__ import annotations

import logging
import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connections

logger = logging.getLogger(__name__)
FIRST_AFTER_SECONDS = (1.0, 2.0)  # not at once: many servers that fork their workers have done so by then
LONGEST_TURN_S = 60.0  # that a fork waits for


@dataclass(frozen=True)
class Chore:
    name: str
    function: Callable[[], Any]
    seconds: float | None
    soon: bool = True

    @property
    def interval_s(self) -> float:
        return float(settings.CHORE_SECONDS if self.seconds is None else self.seconds)

    def run(self) -> None:
        """Once, in this thread. What fails is logged, and tried again at the next turn."""
        try:
            self.function()
        except DatabaseError as error:
            logger.warning("chore %s was not done: %s", self.name, error)
        except Exception:
            logger.exception("chore %s failed", self.name)

    def keep(self, stop: threading.Event) -> None:
        """Again and again until told to stop. No connection to the database is kept from turn to turn."""
        apart = random.uniform(*FIRST_AFTER_SECONDS)  # noqa: S311  processes do not take turns at the same moment
        delay = apart if self.soon else apart + self.interval_s
        while not stop.wait(delay):
            try:
                self.run()
            finally:
                connections.close_all()
            delay = self.interval_s


class _Keeper:
    """The threads of this process, one a chore, so that a long one keeps no other waiting."""

    def __init__(self) -> None:
        self.chores: dict[str, Chore] = {}
        self.stop: threading.Event | None = None
        self.threads: list[threading.Thread] = []
        self.hooked = False

    def start(self) -> None:
        if self.stop is not None:
            return
        self.stop = threading.Event()
        self.threads = [
            threading.Thread(target=chore.keep, args=(self.stop,), name=f"chore {chore.name}", daemon=True)
            for chore in self.chores.values()
        ]
        for thread in self.threads:
            thread.start()
        if not self.hooked:
            self.hooked = True
            os.register_at_fork(before=self.end, after_in_child=self.start_in_child)

    def end(self) -> None:
        """A process that forks leaves the chores to its children, and comes to an end with them before: a connection
        to SQLite that is open on both sides of a fork destroys the database."""
        if self.stop is not None:
            self.stop.set()
            for thread in self.threads:
                if thread is not threading.current_thread():
                    thread.join(LONGEST_TURN_S)

    def start_in_child(self) -> None:
        """No thread survives a fork."""
        if self.stop is not None:
            self.stop = None
            self.start()


_keeper = _Keeper()


def register_chore(name: str, function: Callable[[], Any], seconds: float | None = None, *, soon: bool = True) -> None:
    """Have the function called about every so many seconds (MPET_CHORE_SECONDS), and `soon` after a process starts, in
    a thread of its own. For `AppConfig.ready`; a name that is there already is replaced."""
    _keeper.chores[name] = Chore(name, function, seconds, soon)


def registered_chores() -> tuple[Chore, ...]:
    return tuple(_keeper.chores.values())


def start_keeper() -> None:
    """Keep the chores in this process from now on; a second call changes nothing. Servers and workers call it, tests
    and other commands do not."""
    _keeper.start()
