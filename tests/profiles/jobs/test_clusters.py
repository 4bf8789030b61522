"""What runs on a Dask cluster gives what this process gives, whatever happens to its workers."""

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from distributed import LocalCluster

from predictor.core.comparisons.mean_distances import pair_distances
from predictor.core.evaluate import Protocol, evaluate
from predictor.core.fleet_rankings import rank_workloads
from predictor.core.methods import METHODS
from predictor.core.outliers import MeasuredProfile, find_outliers
from profiles.jobs import clusters, executors
from profiles.jobs.clusters import Cluster, ClusterUnusable, local_cluster, remote_cluster
from profiles.jobs.executors import Executor, Processes, ProcessesWherePaying
from profiles.scaling.features import MeasuredRuns, derive_profiles
from tests.predictor.core.curves import curve_database
from tests.samples import sample_measurements

MPET = METHODS["mpet"]
WORKERS = 2


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(WORKERS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def database():
    return curve_database(1, 30, 8)


def worker_pids(cluster: Cluster) -> list[int]:
    return list(cluster.client.run(os.getpid).values())


def slow_sum(shared, batch):
    """Of a part of the shared array, with the process that did it."""
    start, seconds = batch
    time.sleep(seconds)
    return float(shared[start : start + 5].sum()), os.getpid()


def timeless(result):
    return [replace(outcome, seconds=0.0) for outcome in result.outcomes["mpet"]]


@pytest.mark.lab
def test_an_evaluation_on_a_cluster_is_that_of_one_process_also_if_a_worker_is_killed(cluster, database):
    """One of both workers is killed once a quarter is done: the same errors, to the last bit."""
    protocol, killed, seen = Protocol(sample=120, seed=3), [], []

    def kill_one(done, total):
        seen.append((done, total))
        if not killed and done >= total / 4:
            killed.append(worker_pids(cluster)[0])
            os.kill(killed[0], signal.SIGKILL)

    spread = evaluate(database, [MPET], protocol, executor=cluster, progress=kill_one)
    assert killed
    assert timeless(spread) == timeless(evaluate(database, [MPET], protocol))
    assert killed[0] not in worker_pids(cluster)
    assert len(seen) >= 4 * WORKERS
    assert seen[-1] == (120, 120)


def sum_after_the_first_try(shared, batch):
    """The process that finds no marker leaves its number there, and waits to be killed."""
    start, marker = batch
    if start == 0 and not marker.exists():
        marker.write_text(str(os.getpid()))
        time.sleep(60)
    return float(shared[start : start + 5].sum())


@pytest.mark.lab
def test_what_a_killed_worker_alone_had_is_handed_over_again(tmp_path):
    """Dask drops copies that nobody waits for: when the one worker that still has the data dies, the run goes on."""
    shared, marker, alone = np.random.default_rng(1).random(100_000), tmp_path / "marker", []

    def is_with_one_worker(cluster):
        held = [workers for key, workers in cluster.client.who_has().items() if key.startswith("ndarray")]
        return marker.exists() and [len(workers) for workers in held] == [1]

    def kill_the_only_one(cluster):
        deadline = time.monotonic() + 40
        while not is_with_one_worker(cluster) and time.monotonic() < deadline:
            time.sleep(0.2)
        alone.append(is_with_one_worker(cluster))
        os.kill(int(marker.read_text()), signal.SIGKILL)

    with local_cluster(WORKERS) as cluster:
        killer = threading.Thread(target=kill_the_only_one, args=[cluster])
        killer.start()
        sums = list(cluster.map(sum_after_the_first_try, shared, [(start, marker) for start in range(0, 60, 5)]))
        killer.join()
    assert alone == [True]
    assert sums == [float(shared[start : start + 5].sum()) for start in range(0, 60, 5)]


def test_the_shared_data_is_scattered_once(cluster, monkeypatch):
    made, database = [], curve_database(2, 20, 6)
    backend = clusters.ClusterBackend
    monkeypatch.setattr(clusters, "ClusterBackend", lambda **given: made.append(given["scatter"]) or backend(**given))
    measured = [MeasuredProfile.row(database, row) for row in range(40)]
    assert find_outliers(database, measured, executor=cluster) == find_outliers(database, measured)
    evaluate(database, [MPET], Protocol(sample=20), executor=cluster)
    assert len(made) == 1
    assert made[0] == [database]


def test_rankings_and_pairs_on_a_cluster_are_those_of_one_process(cluster, database):
    workloads = [1, 4]
    alone, spread = (
        list(rank_workloads(database, MPET, MPET.settings(), workloads, executor=executor))
        for executor in (None, cluster)
    )
    assert alone == spread
    assert [len(rows) for rows in spread] == [len(database.platforms)] * 2
    for one, other in zip(pair_distances(database, "platforms"), pair_distances(database, "platforms", cluster)):  # noqa: B905
        assert np.array_equal(one.mean, other.mean)
        assert np.array_equal(one.count, other.count)


def test_what_is_derived_of_runs_is_the_same_on_a_cluster(cluster):
    measured = [
        MeasuredRuns(profile.runs, profile.counters, None, None) for profile in sample_measurements(4, 6).profiles
    ]
    alone, spread = derive_profiles(measured), derive_profiles(measured, cluster)
    assert alone.repeats == spread.repeats
    for name in ("values", "rms", "fit_error"):
        assert np.array_equal(getattr(alone.fits, name), getattr(spread.fits, name), equal_nan=True)
    assert all(
        np.array_equal(one.values, other.values, equal_nan=True)
        for one, other in zip(alone.curves, spread.curves, strict=True)
    )


def test_a_single_worker_computes_itself_and_logs_nothing(caplog, capfd):
    caplog.set_level("INFO")
    with local_cluster(1) as cluster:
        (worker,) = worker_pids(cluster)
        assert [pid for _, pid in cluster.map(slow_sum, np.arange(10.0), [(0, 0.0), (5, 0.0)])] == [worker] * 2
    assert not [record for record in caplog.records if record.name.startswith("distributed")]
    assert capfd.readouterr() == ("", "")


def broken(shared, batch):
    raise ZeroDivisionError(f"batch {batch}")


@pytest.mark.parametrize("where", ["here", "processes", "cluster"])
def test_what_a_batch_raises_is_raised_here(where, cluster):
    executor = {"here": Executor(), "processes": Processes(2), "cluster": cluster}[where]
    with pytest.raises(ZeroDivisionError, match="batch 7"):
        list(executor.map(broken, None, [7]))


def test_processes_begin_where_they_pay(cluster):
    """The first batch takes 0.1 s of 1.2: what pays from half a second runs elsewhere, what from a minute does not."""
    batches = [(start, 0.1) for start in range(0, 60, 5)]
    shared = np.arange(100.0)
    for pays_from_s, elsewhere in ((0.3, True), (60.0, False)):
        executor = ProcessesWherePaying(lambda count: cluster, pays_from_s)
        executor.count = WORKERS
        found = list(executor.map(slow_sum, shared, batches))
        assert [total for total, _ in found] == [float(shared[start : start + 5].sum()) for start, _ in batches]
        assert found[0][1] == os.getpid()
        assert bool({pid for _, pid in found} - {os.getpid()}) == elsewhere


def test_a_scheduler_that_is_not_there_has_no_workers_or_other_code(monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_S", 0.5)
    with pytest.raises(ClusterUnusable, match=r"tcp://127\.0\.0\.1:9"):
        remote_cluster("tcp://127.0.0.1:9")
    monkeypatch.setattr(clusters, "CONNECT_S", 5)
    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as empty:
        monkeypatch.setattr(clusters, "CONNECT_S", 1)
        with pytest.raises(ClusterUnusable, match="no worker"):
            remote_cluster(empty.scheduler_address)
        empty.scale(1)
        monkeypatch.setattr(clusters, "CONNECT_S", 30)
        with remote_cluster(empty.scheduler_address) as cluster:
            assert list(cluster.map(pow, 2, [3, 4])) == [8, 16]
        monkeypatch.setattr(executors, "COMPUTING_PACKAGES", ("profiles",))
        with pytest.raises(ClusterUnusable, match="another version"):
            remote_cluster(empty.scheduler_address)
