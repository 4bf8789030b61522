"""A simple reader of the public datasets, independent of the project's own, for comparison."""

from pathlib import Path

import numpy as np
import pandas as pd

from profiles.measurements import RunTable
from profiles.scaling.runs import CurveTable, scaling_curves


def read_tables(folder: Path) -> tuple[list[RunTable], list[float], list[float]]:
    """Return the runs of every profile, and n_nu and n_ht of its platform (NaN if it has none)."""
    runs = pd.read_csv(folder / "runs.csv.gz")
    platforms = pd.read_csv(folder / "platforms.csv").set_index("platform_id")
    tables, n_nu, n_ht = [], [], []
    for (platform, _), rows in runs.groupby(["platform_id", "workload"]):
        tables.append(
            RunTable(
                n=rows.n.to_numpy(),
                repeat=rows.repeat.to_numpy(),
                is_profile_pass=np.zeros(len(rows), bool),
                time_s=rows.time_s.to_numpy(),
            )
        )
        n_nu.append(platforms.n_nu[platform])
        n_ht.append(platforms.n_ht[platform])
    return tables, n_nu, n_ht


def read_runs(folder: Path) -> tuple[list[CurveTable], list[float], list[float]]:
    """Return the curves of every profile, and n_nu and n_ht of its platform (NaN if it has none)."""
    tables, n_nu, n_ht = read_tables(folder)
    return [scaling_curves(table) for table in tables], n_nu, n_ht
