"""How often the advised number of threads is right: hidden pairs of a database, advised and then compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.evaluate import Protocol, chosen_rows, hidden_pairs
from predictor.core.mpet.method import MPET
from predictor.core.thread_advice import TOLERANCE, advise_threads

FEWEST_COUNTS = 3  # of a curve: of two numbers of threads there is little to choose from
CHANCES = (0.0, 0.6, 0.8, 0.9, 0.97, 1.0)


@dataclass(frozen=True)
class Advised:
    """One hidden pair: the probability that was said, whether the advised n and all threads are within 5 % of the least
    measured time, and how much longer than that they take (0.05 = 5 %)."""

    probability: float
    is_right: bool
    all_is_right: bool
    loss: float
    loss_of_all: float


def advised_pairs(database: Database, protocol: Protocol) -> Iterator[Advised]:
    """Each pair of the protocol with at least three measured n, advised from a database that hides it. A refused
    prediction gives no advice and is left out."""
    rows = [row for row in chosen_rows(database, protocol) if len(database.curve(row)[0]) >= FEWEST_COUNTS]
    with threadpool_limits(1):
        for row in rows:
            n, measured = database.curve(row)
            query = Query(
                int(database.workload_index[row]),
                int(database.platform_index[row]),
                group=int(database.group[row]),
                n=tuple(n.tolist()),
            )
            try:
                answer = MPET.predict(database.without(*hidden_pairs(database, row, protocol)), query, MPET.settings())
            except PredictionError:
                continue
            if answer.low_s is None or answer.high_s is None:
                continue
            found = advise_threads(answer.n, answer.time_s, answer.low_s, answer.high_s)
            loss = measured / measured.min() - 1
            yield Advised(
                found.probability,
                bool(loss[found.position] <= TOLERANCE),
                bool(loss[-1] <= TOLERANCE),
                float(loss[found.position]),
                float(loss[-1]),
            )


def advice_statistics(pairs: list[Advised]) -> dict[str, object]:
    """Shares within 5 % and mean losses in percent, of the advice and of all threads; `chances` has for each range of
    the probability that was said: its mean, the share that was right, how many."""
    said = np.array([pair.probability for pair in pairs])
    right = np.array([pair.is_right for pair in pairs])
    chances = []
    for low, high in pairwise(CHANCES):
        inside = (said >= low) & ((said < high) | (high == CHANCES[-1]))
        if inside.any():
            chances.append([100 * float(said[inside].mean()), 100 * float(right[inside].mean()), int(inside.sum())])
    return {
        "pairs": len(pairs),
        "within_5_percent": 100 * float(right.mean()),
        "all_within_5_percent": 100 * float(np.mean([pair.all_is_right for pair in pairs])),
        "mean_loss_percent": 100 * float(np.mean([pair.loss for pair in pairs])),
        "mean_loss_of_all_percent": 100 * float(np.mean([pair.loss_of_all for pair in pairs])),
        "said_percent": 100 * float(said.mean()),
        "chances": chances,
    }
