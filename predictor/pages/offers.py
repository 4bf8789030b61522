"""What the front page offers to choose from, and what it begins with."""

from typing import Any

import numpy as np

from predictor.core.comparisons.documents import positions_with_most_profiles
from predictor.core.database import Database
from predictor.snapshot.building import SIMULATED
from predictor.snapshot.cache import snapshot

OFFERED = 150


def offered(model: Any, user: Any, chosen: str) -> list[tuple[str, str]]:
    """(slug, name), the chosen one among them."""
    rows = list(model.objects.offered_to(user).values_list("slug", "name")[:OFFERED])
    return rows if not chosen or chosen in dict(rows) else [(chosen, chosen), *rows]


def pair_to_begin_with(user: Any) -> tuple[str, str]:
    """The workload with the most profiles, on the one of its platforms that has the most: measured, or simulated where
    what was measured has no curve to show."""
    databases: list[Database] = [snapshot(user), snapshot(user, origins=SIMULATED)]
    most = [(database, positions_with_most_profiles(database, "workloads", 1)) for database in databases]
    known = [(database, found[0]) for database, found in most if found]
    if not known:
        return "", ""
    database, workload = next((one for one in known if has_curves(*one)), known[0])
    profiles = np.bincount(database.platform_index, minlength=len(database.platforms))
    platforms = database.platform_index[database.rows_of_workload(workload)]
    return database.workloads[workload], database.platforms[platforms[profiles[platforms].argmax()]]


def has_curves(database: Database, workload: int) -> bool:
    """On two platforms or more, at more than two thread counts."""
    rows = database.rows_of_workload(workload)
    return len(rows) > 1 and any(len(database.curve(row)[0]) > 2 for row in rows.tolist())
