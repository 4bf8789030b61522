"""One thread for linear algebra and trees: one prediction's are small, and a server's workers share its cores."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def threadpool_controller() -> ThreadpoolController:
    """Finding the loaded libraries takes milliseconds: once a process."""
    return ThreadpoolController()


def single_thread() -> AbstractContextManager[None]:
    """A context in which numpy's linear algebra and scikit-learn's trees use one thread."""
    limit: AbstractContextManager[None] = threadpool_controller().limit(limits=1)
    return limit
