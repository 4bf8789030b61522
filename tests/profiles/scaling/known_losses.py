"""Curves with known losses, for tests."""

import numpy as np

from profiles.scaling.losses import LOSSES
from profiles.scaling.runs import CurveTable


def curves(n, time_s, imbalance=None, lock=None) -> CurveTable:
    """Return the curves of a profile with work imbalance and lock delay as its only losses, and the redundancy."""
    n, time_s = np.array(n), np.array(time_s, dtype=float)
    values = np.full((15, len(n)), np.nan)
    values[0] = time_s
    decomposed = imbalance is not None
    if decomposed:
        values[2:8] = 0
        values[LOSSES.index("work_imbalance") + 1] = imbalance
        values[LOSSES.index("lock_delay") + 1] = lock if lock is not None else 0
    used = 1 - values[2:8].sum(axis=0) if decomposed else np.ones(len(n))
    values[1] = n * time_s * used / time_s[0]
    return CurveTable(n, values, decomposed, sequential=False, t1_s=float(time_s[0]))


HALF = curves([1, 2, 4], [16.0, 10.0, 5.0], imbalance=[0.0, 0.1, 0.2])
