"""Executors on Dask clusters (`pip install -r requirements-dask.txt`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError

import dask
import joblib
from distributed import Client, KilledWorker, LocalCluster
from joblib._dask import DaskDistributedBackend

from profiles.jobs.executors import BatchT, Executor, ResultT, SharedT, code_digest, run_on_joblib

CONNECT_S = 10  # timeout of the connection to a scheduler
MOST_SCATTERS = 4  # attempts to compute batches if workers are lost together with the data
# This omits Dask's MALLOC_TRIM_THRESHOLD_. Predictions took twice the processor time when freed memory was returned to
# the system at once.
WORKER_ENVIRONMENT = {"OMP_NUM_THREADS": 1, "MKL_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1}


class ClusterUnusable(Exception):
    """The reason why the cluster cannot be used."""


class ClusterBackend(DaskDistributedBackend):
    """joblib's Dask backend, except that it also computes on a cluster with only one worker.

    joblib itself would then compute in this process.
    """

    def effective_n_jobs(self, n_jobs: int) -> int:
        return max(2, super().effective_n_jobs(n_jobs))


class Cluster(Executor):
    """A Dask cluster, used through joblib's backend for it.

    `shared` is scattered to all workers once, and stays there while `map` is called with the same object. If a worker
    is killed, another one computes its batches. If the last copy of `shared` is lost, it is scattered again, and only
    the missing batches are computed.
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
        """Return joblib's backend, with `shared` on every worker."""
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
    """Start `count` worker processes on this host. Only this host can reach them, with TLS keys of their own."""
    # By default Dask logs every start and stop of a worker or connection on the terminal, between the progress bars.
    logging.getLogger("distributed").setLevel(logging.WARNING)
    with dask.config.set({"distributed.nanny.pre-spawn-environ": WORKER_ENVIRONMENT, "logging.distributed": "warning"}):
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
    """Connect to the cluster of a scheduler, such as `tcp://host:8786`.

    Raise ClusterUnusable if the scheduler does not answer, has no worker, or has a worker with another version of the
    code.
    """
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise ClusterUnusable(f"no Dask scheduler responds at {address}: {error}") from error
    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
        for worker, digest in client.run(code_digest, on_error="return").items():
            if isinstance(digest, BaseException):
                raise ClusterUnusable(f"the worker {worker} cannot import MPET: start it in a checkout ({digest})")
            if digest != code_digest():
                raise ClusterUnusable(f"the worker {worker} has another version of MPET, whose results may differ")
    except TimeoutError as error:
        client.close()
        raise ClusterUnusable("the scheduler has no worker: start some with `dask worker ADDRESS`") from error
    except ClusterUnusable:
        client.close()
        raise
    return Cluster(client)
