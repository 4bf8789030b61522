"""How computations run: long ones as steps, after each of which they can be left and shown; all with one thread for
linear algebra and trees, as one prediction's are small, and a server's workers share its cores."""

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
    """How far a computation is; `document()` is what it found so far, as plain JSON values."""

    done: int
    total: int
    document: Callable[[], dict[str, Any]]


def last_step(steps: Iterator[ComputedStep], progress: Callable[[ComputedStep], Any] | None = None) -> ComputedStep:
    """The last step, where everything is done; `progress` hears of each.

    >>> last_step(iter([ComputedStep(1, 2, dict), ComputedStep(2, 2, lambda: {"found": 7})])).document()
    {'found': 7}
    """
    for step in steps:
        if progress is not None:
            progress(step)
    return step


def steps_within(steps: Iterator[ComputedStep], seconds: float) -> tuple[ComputedStep | None, bool]:
    """The last step that ended before the time was over, or just after; None: there was no time at all. And whether
    it was the last of all.

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
    """Finding the loaded libraries takes milliseconds: once a process."""
    return ThreadpoolController()


def single_thread() -> AbstractContextManager[None]:
    """A context in which numpy's linear algebra and scikit-learn's trees use one thread."""
    limit: AbstractContextManager[None] = threadpool_controller().limit(limits=1)
    return limit
