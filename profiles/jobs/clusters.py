"""Dask clusters as executors (`pip install -r requirements-dask.txt`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError

import dask
import joblib
from distributed import Client, KilledWorker, LocalCluster
from joblib._dask import DaskDistributedBackend

from profiles.jobs.executors import BatchT, Executor, ResultT, SharedT, code_digest, run_on_joblib

CONNECT_S = 10  # until a scheduler that does not answer is given up
MOST_SCATTERS = 4  # of batches whose data went with their workers
# Without Dask's MALLOC_TRIM_THRESHOLD_: predictions took twice the processor time where freed memory went back at once.
WORKER_ENVIRONMENT = {"OMP_NUM_THREADS": 1, "MKL_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1}


class ClusterUnusable(Exception):
    """The cluster cannot compute for us, and why."""


class ClusterBackend(DaskDistributedBackend):
    """joblib's, but a cluster that has one worker left computes there, too: joblib would compute in this process."""

    def effective_n_jobs(self, n_jobs: int) -> int:
        return max(2, super().effective_n_jobs(n_jobs))


class Cluster(Executor):
    """A Dask cluster, through joblib's backend for it.

    `shared` is scattered once to all workers, and stays there while the same object is mapped over. What a killed
    worker was computing another one computes; where the last copy of `shared` went with it, it is scattered again, and
    only what is missing is computed.
    """

    def __init__(self, client: Client, local: LocalCluster | None = None) -> None:
        self.client, self.local = client, local
        self._shared: object = None
        self._backend: ClusterBackend | None = None

    @property
    def count(self) -> int:  # type: ignore[override]  # workers come and go
        return max(1, sum(self.client.ncores().values()))

    def map(
        self, function: Callable[[SharedT, BatchT], ResultT], shared: SharedT, batches: Sequence[BatchT]
    ) -> Iterator[ResultT]:
        done = 0
        for attempt in range(1, MOST_SCATTERS + 1):
            try:
                parallel = joblib.Parallel(-1, backend=self._backend_with(shared), return_as="generator")
                for result in run_on_joblib(parallel, function, shared, batches[done:]):
                    yield result
                    done += 1
                return
            except (CancelledError, KilledWorker):
                self._backend = None
                if attempt == MOST_SCATTERS:
                    raise

    def _backend_with(self, shared: object) -> ClusterBackend:
        """joblib's backend, with `shared` on every worker."""
        if self._backend is None or self._shared is not shared:
            scattered = [] if shared is None else [shared]
            self._shared, self._backend = shared, ClusterBackend(client=self.client, scatter=scattered)
        return self._backend

    def close(self) -> None:
        self._backend = self._shared = None
        self.client.close()
        if self.local is not None:
            self.local.close()


def local_cluster(count: int) -> Cluster:
    """So many processes of this host, which only it can reach, by keys of their own."""
    with dask.config.set({"distributed.nanny.pre-spawn-environ": WORKER_ENVIRONMENT}):
        local = LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            memory_limit=None,
            host="127.0.0.1",
            security=True,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
        )
    return Cluster(Client(local), local)


def remote_cluster(address: str) -> Cluster:
    """The cluster of a scheduler, such as `tcp://host:8786`. Raises ClusterUnusable where it does not answer, has no
    worker, or has one that would compute with other code than ours."""
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise ClusterUnusable(f"no Dask scheduler answers at {address}: {error}") from error
    try:
        check_workers(client)
    except ClusterUnusable:
        client.close()
        raise
    return Cluster(client)


def check_workers(client: Client) -> None:
    """Raise ClusterUnusable where there is no worker, or one of them has not our code."""
    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
    except TimeoutError as error:
        raise ClusterUnusable("the scheduler has no worker: start some with `dask worker ADDRESS`") from error
    digests = client.run(code_digest, on_error="return")
    for worker, digest in digests.items():
        if isinstance(digest, BaseException):
            raise ClusterUnusable(f"the worker {worker} cannot import MPET: start it in a checkout ({digest})")
        if digest != code_digest():
            raise ClusterUnusable(f"the worker {worker} has another version of MPET, which may answer otherwise")
