"""The public datasets as curves, read plainly: a second opinion beside the project's own reader."""

from pathlib import Path

import numpy as np
import pandas as pd

from profiles.measurements import RunTable
from profiles.scaling.runs import CurveTable, scaling_curves


def read_tables(folder: Path) -> tuple[list[RunTable], list[float], list[float]]:
    """The runs of every profile and the n_nu and n_ht of its platform (NaN = none)."""
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
    """The curves of every profile and the n_nu and n_ht of its platform (NaN = none)."""
    tables, n_nu, n_ht = read_tables(folder)
    return [scaling_curves(table) for table in tables], n_nu, n_ht
