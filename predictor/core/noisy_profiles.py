"""Profiles whose repeats vary: they count where nothing quieter answers the question, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import numpy as np

from predictor.core.answers import Answer, Query, Settings
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from profiles.arrays import IntArray

MOST_STANDARD_ERROR = 0.2  # of ln t(n): above, an answer is better without the profile (docs/why.md)


@dataclass(frozen=True)
class QuietProfilesFirst(Generic[Settings]):
    """`predict` without noisy profiles; where it then refuses, with those of the workload and of the target; where it
    still refuses, with all: no question is refused for noise."""

    predict: Callable[[Database, Query, Settings], Answer]

    def __call__(self, database: Database, query: Query, settings: Settings) -> Answer:
        rows = noisy_rows(database)
        asked = (database.workload_index[rows] == query.workload) | (database.platform_index[rows] == query.target)
        for hidden in (rows, rows[~asked]):
            if len(hidden):
                quiet = database.without(database.platform_index[hidden], database.workload_index[hidden])
                try:
                    return self.predict(quiet, query, settings)
                except PredictionError:
                    continue
        return self.predict(database, query, settings)


def noisy_rows(database: Database) -> IntArray:
    """The rows with a standard error above 0.2, hidden ones too; computed once for a database and all its views."""
    rows: IntArray = database.derive(("noisy",), lambda: np.flatnonzero(database.standard_error > MOST_STANDARD_ERROR))
    return rows
