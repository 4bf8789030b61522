"""What the pages offer to choose from, and the pair that they begin with."""

from typing import Any

import numpy as np

from predictor.core.comparisons.documents import positions_with_most_profiles
from predictor.core.database import Database
from predictor.snapshot.building import SIMULATED
from predictor.snapshot.cache import read_database

MOST_OFFERED = 150  # on the front page
MOST_NAMES_IN_LIST = 2000  # of a field; any other visible name can be typed


def offered_names(model: Any, user: Any, chosen: str) -> list[tuple[str, str]]:
    """Slugs and names to choose from, the chosen one among them."""
    rows = list(model.objects.offered_to(user).values_list("slug", "name")[:MOST_OFFERED])
    return rows if not chosen or chosen in dict(rows) else [(chosen, chosen), *rows]


def first_pair(user: Any) -> tuple[str, str]:
    """The workload with the most profiles, on the one of its platforms that has the most: measured, or simulated where
    what was measured has no curve to show."""
    databases: list[Database] = [read_database(user), read_database(user, origins=SIMULATED)]
    most = [(database, positions_with_most_profiles(database, "workloads", 1)) for database in databases]
    pairs = [(database, workloads[0]) for database, workloads in most if workloads]
    if not pairs:
        return "", ""
    database, workload = next((pair for pair in pairs if has_curves(*pair)), pairs[0])
    profiles = np.bincount(database.platform_index, minlength=len(database.platforms))
    platforms = database.platform_index[database.rows_of_workload(workload)]
    return database.workloads[workload], database.platforms[platforms[profiles[platforms].argmax()]]


def has_curves(database: Database, workload: int) -> bool:
    """Whether the workload was measured on two platforms or more, at more than two thread counts."""
    rows = database.rows_of_workload(workload)
    return len(rows) > 1 and any(len(database.curve(row)[0]) > 2 for row in rows.tolist())
