"""How computations run: long ones in steps, after each of which they can be interrupted and shown; all with one thread
for linear algebra and trees, because the arrays of one prediction are small and a server's workers share its cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@dataclass(frozen=True, eq=False)
class ComputedStep:
    """The progress of a computation. `document()` returns its results so far as plain JSON values."""

    done: int
    total: int
    document: Callable[[], dict[str, Any]]


def last_step(steps: Iterator[ComputedStep], progress: Callable[[ComputedStep], Any] | None = None) -> ComputedStep:
    """Return the last step, with the final result; call `progress` with each step.

    >>> last_step(iter([ComputedStep(1, 2, dict), ComputedStep(2, 2, lambda: {"found": 7})])).document()
    {'found': 7}
    """
    for step in steps:
        if progress is not None:
            progress(step)
    return step


def steps_within(steps: Iterator[ComputedStep], seconds: float) -> tuple[ComputedStep | None, bool]:
    """Return the last step that ended before the time limit or just after it, and whether it was the last of all. The
    step is None if there was no time.

    >>> step, is_whole = steps_within(iter([ComputedStep(1, 2, dict), ComputedStep(2, 2, dict)]), seconds=60)
    >>> step.done, is_whole
    (2, True)
    """
    deadline, step = time.monotonic() + seconds, None
    while time.monotonic() < deadline:
        following = next(steps, None)
        if following is None:
            return step, True
        step = following
    return step, step is not None and step.done == step.total


@cache
def threadpool_controller() -> ThreadpoolController:
    """Return the controller of the loaded libraries. It is cached for the process, because finding them takes
    milliseconds."""
    return ThreadpoolController()


def single_thread() -> AbstractContextManager[None]:
    """Return a context in which numpy's linear algebra and scikit-learn's trees use one thread."""
    limit: AbstractContextManager[None] = threadpool_controller().limit(limits=1)
    return limit
