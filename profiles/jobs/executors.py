"""Executors of long computations: in this process, in processes of this host, or on a Dask cluster.

Results do not depend on the executor, because batches are submitted and returned in their order.
docs/scale.md#more-than-one-computer has a diagram of the processes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import joblib

SharedT = TypeVar("SharedT")
BatchT = TypeVar("BatchT")
ResultT = TypeVar("ResultT")

# The least number of batches per process, if there are enough rows, so that one slow batch does not dominate the time.
BATCHES_PER_PROCESS = 4
# The time that a local cluster must save. Starting it takes 2 to 4 s, and sending it a large database as long again.
PAYS_FROM_S = 10.0
COMPUTING_PACKAGES = ("predictor/core", "profiles")  # the code that workers run


class Executor:
    """An executor that runs batches one after another in this process, and the base class of all executors.

    >>> list(Executor().map(pow, 2, [3, 4]))
    [8, 16]
    """

    count = 1  # number of batches that run in parallel

    def map(
        self, function: Callable[[SharedT, BatchT], ResultT], shared: SharedT, batches: Sequence[BatchT]
    ) -> Iterator[ResultT]:
        """Yield `function(shared, batch)` for each batch, in the order of the batches and as soon as possible.

        Other processes must be able to import `function`. `shared` is an argument that all batches need, such as a
        database, and is sent once. Exceptions of the function are raised here.
        """
        return (function(shared, batch) for batch in batches)

    def close(self) -> None:
        """Stop the processes that the executor started."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Processes(Executor):
    """An executor on `count` processes of this host (-1: one per core), with joblib.

    Arrays of more than a megabyte are in shared memory. If a process is killed, the computation fails.
    """

    def __init__(self, count: int) -> None:
        self.count = joblib.effective_n_jobs(count)

    def map(
        self, function: Callable[[SharedT, BatchT], ResultT], shared: SharedT, batches: Sequence[BatchT]
    ) -> Iterator[ResultT]:
        return run_on_joblib(joblib.Parallel(self.count, return_as="generator"), function, shared, batches)


class ProcessesWherePaying(Executor):
    """An executor that starts in this process, and continues in the executor that `start` creates if that saves enough
    time.

    The remaining time is estimated from the finished batches. The condition is that `count` processes would save more
    than `pays_from_s` seconds.
    """

    def __init__(self, start: Callable[[int], Executor] = Processes, pays_from_s: float = PAYS_FROM_S) -> None:
        self.count = joblib.cpu_count()
        self.start, self.pays_from_s = start, pays_from_s
        self.others: Executor | None = None

    def map(
        self, function: Callable[[SharedT, BatchT], ResultT], shared: SharedT, batches: Sequence[BatchT]
    ) -> Iterator[ResultT]:
        taken_s = 0.0
        for done, batch in enumerate(batches):
            left_s = taken_s / max(done, 1) * (len(batches) - done)
            if self.others is None and left_s * (1 - 1 / self.count) > self.pays_from_s:
                self.others = self.start(self.count)
            if self.others is not None:
                yield from self.others.map(function, shared, batches[done:])
                return
            start = time.monotonic()
            result = function(shared, batch)
            taken_s += time.monotonic() - start
            yield result

    def close(self) -> None:
        if self.others is not None:
            self.others.close()


def run_on_joblib(
    parallel: joblib.Parallel,
    function: Callable[[SharedT, BatchT], ResultT],
    shared: SharedT,
    batches: Sequence[BatchT],
) -> Iterator[ResultT]:
    """Yield the results of the batches, computed by joblib.

    Each batch is passed in a list: Dask's backend would place an array on a single worker, and lose it with that
    worker.
    """
    results: Iterator[ResultT] = parallel(joblib.delayed(_run_batch)(function, shared, [batch]) for batch in batches)
    return results


def _run_batch(function: Callable[[SharedT, BatchT], ResultT], shared: SharedT, batch: list[BatchT]) -> ResultT:
    return function(shared, batch[0])


def batches_of(rows: Sequence[Any], executor: Executor, most: int) -> list[Sequence[Any]]:
    """Split the rows into batches of at most `most`, and into at least BATCHES_PER_PROCESS for each process if
    possible.

    >>> [len(batch) for batch in batches_of(range(10), Executor(), most=100)]
    [3, 3, 3, 1]
    """
    size = max(1, min(most, -(-len(rows) // (BATCHES_PER_PROCESS * executor.count))))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def code_digest(packages: Sequence[str] = ()) -> str:
    """Return the SHA-256 of the modules in these packages, by default those that workers run.

    The modules are those that this process would import.
    """
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted(path for package in packages or COMPUTING_PACKAGES for path in (root / package).rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
