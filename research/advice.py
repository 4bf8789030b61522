"""Accuracy of the advised thread count: hide measured pairs, advise a thread count, compare with the measurement."""

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

# Curves with fewer thread counts are left out, because two leave little to choose from.
FEWEST_COUNTS = 3
CHANCES = (0.0, 0.6, 0.8, 0.9, 0.97, 1.0)


@dataclass(frozen=True)
class Advised:
    """The advice for one hidden pair, compared with the measurement.

    `probability` is the one that the advice states. `is_right` and `all_is_right` are True if the time of the advised
    thread count, or of all threads, is within 5 % of the shortest measured time. `loss` and `loss_of_all` are the
    relative differences to the shortest time (0.05 = 5 %).
    """

    probability: float
    is_right: bool
    all_is_right: bool
    loss: float
    loss_of_all: float


def advised_pairs(database: Database, protocol: Protocol) -> Iterator[Advised]:
    """Yield the advice for each pair of the protocol that has at least three measured thread counts.

    The pair is hidden from the database that the prediction uses. Pairs whose prediction is refused or has no interval
    are left out.
    """
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
    """Return the shares within 5 % and the mean losses in percent, for the advice and for all threads.

    `chances` has one row for each range of the stated probability: the mean probability and the share of right advice
    in percent, and the number of pairs.
    """
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
