"""The distances between two platforms or two workloads (Eq. 13-19), from one snapshot."""

from typing import Any

import numpy as np

from predictor.core.database import Database
from predictor.core.distance import dimensions, distance, mean_distance
from predictor.core.normalise import normalise


def platform_distances(database: Database, a: int, b: int) -> dict[str, Any]:
    """D_p(A,P,T) for every workload that both platforms have in one group, and their mean D_p(P,T)."""
    rows = database.rows_of_platform(a)
    partners = paired(database, rows, np.full(len(rows), b), database.workload_index[rows])
    return distances(database, rows, partners, "workload")


def workload_distances(database: Database, a: int, b: int, platform: int | None = None) -> dict[str, Any]:
    """D_a(P,A,B) for every platform (or the one) that has both in one group, and their mean D_a(A,B)."""
    rows = database.rows_of_workload(a)
    if platform is not None:
        rows = rows[database.platform_index[rows] == platform]
    partners = paired(database, rows, database.platform_index[rows], np.full(len(rows), b))
    return distances(database, rows, partners, "platform")


def paired(database: Database, rows: np.ndarray, platforms: np.ndarray, workloads: np.ndarray) -> np.ndarray:
    """For each row the row of (platform, workload) in the same group; -1 = none."""
    found = np.full(len(rows), -1, dtype=np.int64)
    for group in np.unique(database.group[rows]):
        mine = database.group[rows] == group
        found[mine] = database.lookup(platforms[mine], workloads[mine], int(group))
    return found


def distances(database: Database, rows: np.ndarray, partners: np.ndarray, over: str) -> dict[str, Any]:
    rows, partners = rows[partners >= 0], partners[partners >= 0]
    values, dims = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.int64)
    for origin in {database.groups[group].origin for group in np.unique(database.group[rows])}:
        low, high = database.element_range(origin)
        mine = np.array([database.groups[group].origin == origin for group in database.group[rows]], dtype=np.bool_)
        ours, theirs = (normalise(database.features[at[mine]], low, high) for at in (rows, partners))
        values[mine], dims[mine] = distance(ours, theirs), dimensions(ours, theirs)
    defined = dims > 0
    return {
        "revision": database.revision,
        "mean": {
            "distance": float(mean_distance(values, axis=0)) if len(values) else None,
            "dim": int(dims[defined].min()) if defined.any() else 0,
            "count": int(defined.sum()),
        },
        "individual": [
            {over: name_of(database, row, over), **group_of(database, row), "distance": value, "dim": dim}
            for row, value, dim in zip(rows, values.tolist(), dims.tolist(), strict=True)
        ],
    }


def name_of(database: Database, row: int, over: str) -> str:
    if over == "workload":
        return database.workloads[int(database.workload_index[row])]
    return database.platforms[int(database.platform_index[row])]


def group_of(database: Database, row: int) -> dict[str, Any]:
    group = database.groups[database.group[row]]
    return {"decomposed": group.decomposed, "runtime": group.runtime or None}
