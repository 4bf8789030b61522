"""Speedup of an evaluation by the number of processes of a cluster: measured for 1 and 2, estimated for more.

    OPENBLAS_NUM_THREADS=1 python -m lab.performance.cluster_growth [--platforms 2000] [--predictions 600]

docs/scale-growth.md#on-a-cluster has the formula and the measurements of its terms.
"""

import argparse
import math
import os
import pickle
import time
from dataclasses import dataclass

import numpy as np

from predictor.core.evaluate import PREDICTIONS_PER_BATCH, Protocol, evaluate
from predictor.core.methods import METHODS
from profiles.jobs.clusters import Cluster, local_cluster
from profiles.jobs.executors import BATCHES_PER_PROCESS
from tests.predictor.core.curves import curve_database

WORKLOADS = 40
EMPTY_TASKS = 300
NETWORK_BYTES_PER_S = 125e6  # 1 Gbit/s
MPET = METHODS["mpet"]


@dataclass(frozen=True)
class Costs:
    """The measured costs of one evaluation: processor time in seconds, and bytes."""

    prediction_s: float  # time of one prediction on a worker
    task_s: float  # time of the client and the scheduler for one task and its result
    database_bytes: int
    outcome_bytes: float  # size of one prediction's result
    bytes_per_s: float  # network bandwidth for the database and the results


def expected_seconds(costs: Costs, predictions: int, processes: int) -> float:
    """Return T(W), the expected time of P predictions on W processes (docs/scale-growth.md#on-a-cluster).

        T(W) = S (1 + ceil(log2 W)) / r + max(B c, ceil(B / W) b t) + P s / r,    B = ceil(P / b)

    >>> costs = Costs(prediction_s=0.01, task_s=0.001, database_bytes=0, outcome_bytes=0, bytes_per_s=1.0)
    >>> expected_seconds(costs, 1000, 1), expected_seconds(costs, 1000, 10)
    (10.0, 1.0)
    """
    size = batch_size(predictions, processes)
    batches = math.ceil(predictions / size)
    handing_over = costs.database_bytes * (1 + math.ceil(math.log2(processes))) / costs.bytes_per_s
    computing = math.ceil(batches / processes) * size * costs.prediction_s
    results = predictions * costs.outcome_bytes / costs.bytes_per_s
    return handing_over + max(batches * costs.task_s, computing) + results


def batch_size(predictions: int, processes: int) -> int:
    """Return the size of the batches that `batches_of` makes for an evaluation of one method."""
    return max(1, min(PREDICTIONS_PER_BATCH, -(-predictions // (BATCHES_PER_PROCESS * processes))))


def nothing(shared, batch):
    return None


def seconds_of_task(cluster: Cluster) -> float:
    """Return the processor time of this process, which is client and scheduler, for one empty task."""
    batches = [list(range(25))] * EMPTY_TASKS
    list(cluster.map(nothing, None, batches[:10]))
    start = time.process_time()
    list(cluster.map(nothing, None, batches))
    return (time.process_time() - start) / EMPTY_TASKS


def busiest_seconds(database, protocol, cluster: Cluster) -> float:
    """Return the processor time of the busiest worker during one evaluation.

    The evaluation would take this long if each worker ran on a separate machine.
    """
    before = cluster.client.run(time.process_time)
    evaluate(database, [MPET], protocol, executor=cluster)
    after = cluster.client.run(time.process_time)
    return max(after[worker] - before[worker] for worker in before)


def measured_costs(database, protocol, cluster: Cluster) -> Costs:
    start = time.process_time()
    result = evaluate(database, [MPET], protocol)
    taken_s = time.process_time() - start
    outcomes = result.outcomes["mpet"]
    packed = pickle.dumps(database, 5)
    return Costs(
        prediction_s=taken_s / len(outcomes),
        task_s=seconds_of_task(cluster),
        database_bytes=len(packed),
        outcome_bytes=len(pickle.dumps(outcomes, 5)) / len(outcomes),
        bytes_per_s=NETWORK_BYTES_PER_S,
    )


def scatter_seconds(cluster: Cluster, database) -> float:
    start = time.perf_counter()
    cluster.client.scatter([database], broadcast=True, hash=False)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platforms", type=int, default=2000)
    parser.add_argument("--predictions", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    database = curve_database(1, options.platforms, WORKLOADS, counts=(1, 16))
    database.prepare()
    protocol = Protocol(sample=options.predictions)
    with local_cluster(1) as one, local_cluster(2) as two:
        costs = measured_costs(database, protocol, two)
        scatters = [scatter_seconds(two, database) for _ in range(options.rounds)]
        # After a first evaluation every process runs and has the database.
        for cluster in (one, two):
            busiest_seconds(database, protocol, cluster)
        rounds = [
            [busiest_seconds(database, protocol, cluster) for cluster in (one, two)] for _ in range(options.rounds)
        ]
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{options.platforms} platforms, {len(database)} profiles; {machine}")
    print(costs, f"scattered to 2 workers here in {min(scatters):.2f} s")
    alone, both = np.array(rounds).T
    here = options.predictions * costs.prediction_s
    print("processor time of 1 process of a cluster / in this process:", np.round(alone / here, 2))
    print("of 1 process / of the busier of 2:", np.round(alone / both, 2), f"median {np.median(alone / both):.2f}")
    for predictions in (options.predictions, len(database)):
        once = predictions * costs.prediction_s
        speeds = {w: once / expected_seconds(costs, predictions, w) for w in (1, 2, 8, 32)}
        print(f"{predictions} predictions:", ", ".join(f"{w}: {speed:.2f}" for w, speed in speeds.items()))


if __name__ == "__main__":
    main()
