"""Where long computations run: in this process, in processes of this host, or on a Dask cluster of any hosts.

An executor changes when an answer comes, never what it is: batches are handed out and taken back in their order.
docs/scale.md#more-than-one-computer draws the processes.
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

BATCHES_PER_PROCESS = 4  # at least, where there are rows enough: the slowest batch should not decide
PAYS_FROM_S = 10.0  # saved by a local cluster, which takes 2 to 4 s to start and as long to hand over a large database
COMPUTING_PACKAGES = ("predictor/core", "profiles")  # what runs on workers


class Executor:
    """Runs batches one after another in this process; the base of those that do it elsewhere.

    >>> list(Executor().map(pow, 2, [3, 4]))
    [8, 16]
    """

    count = 1  # of batches that run side by side

    def map(
        self, function: Callable[[SharedT, BatchT], ResultT], shared: SharedT, batches: Sequence[BatchT]
    ) -> Iterator[ResultT]:
        """`function(shared, batch)` of each batch, in their order, each as soon as it and those before it are there.

        `function` is one that other processes can import. `shared` is what all batches need, such as a database: it is
        handed over once. What the function raises is raised here.
        """
        return (function(shared, batch) for batch in batches)

    def close(self) -> None:
        """End the processes that it started."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Processes(Executor):
    """Processes of this host, by joblib; -1: one for each core. Arrays of more than a megabyte are in shared memory. If
    one is killed, the computation fails."""

    def __init__(self, count: int) -> None:
        self.count = joblib.effective_n_jobs(count)

    def map(
        self, function: Callable[[SharedT, BatchT], ResultT], shared: SharedT, batches: Sequence[BatchT]
    ) -> Iterator[ResultT]:
        return run_on_joblib(joblib.Parallel(self.count, return_as="generator"), function, shared, batches)


class ProcessesWherePaying(Executor):
    """This process, until what is left would take so long that processes beside it pay: then those that `start` makes.

    The time that is left is judged by the batches that ran: seconds that `count` processes would save > PAYS_FROM_S.
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
    """The results of the batches by joblib, which is given the batch in a list: Dask's backend would put an array of
    its own on one worker, and lose it with that."""
    results: Iterator[ResultT] = parallel(joblib.delayed(_run_batch)(function, shared, [batch]) for batch in batches)
    return results


def _run_batch(function: Callable[[SharedT, BatchT], ResultT], shared: SharedT, batch: list[BatchT]) -> ResultT:
    return function(shared, batch[0])


def batches_of(rows: Sequence[Any], executor: Executor, most: int) -> list[Sequence[Any]]:
    """The rows in batches of `most` or fewer: BATCHES_PER_PROCESS or more for each process.

    >>> [len(batch) for batch in batches_of(range(10), Executor(), most=100)]
    [3, 3, 3, 1]
    """
    size = max(1, min(most, -(-len(rows) // (BATCHES_PER_PROCESS * executor.count))))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def code_digest(packages: Sequence[str] = ()) -> str:
    """SHA-256 of the modules in these packages, by default those that compute, as this process would import them."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted(path for package in packages or COMPUTING_PACKAGES for path in (root / package).rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
