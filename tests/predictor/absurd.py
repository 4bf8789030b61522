"""Runs that no machine gives, for tests of outliers and of privacy."""

from dataclasses import replace

import numpy as np

from profiles.measurements import RunTable


def multiplied(runs: RunTable, factor) -> RunTable:
    """All times, and with them their parts, multiplied by whole numbers, one for all runs or one each."""
    factor = np.broadcast_to(factor, runs.n.shape)
    parts = np.where(runs.parts_ns < 0, -1, runs.parts_ns * factor[:, None])
    return replace(runs, time_s=runs.time_s * factor, time_ns=runs.time_ns * factor, parts_ns=parts)


def all_waiting(runs: RunTable) -> RunTable:
    """Nearly the whole thread time of the profile pass is lock delay."""
    total = runs.n * runs.time_ns
    parts = np.where(runs.is_profile_pass[:, None], 0, -1) + np.zeros_like(runs.parts_ns)
    parts[:, 1] = np.where(runs.is_profile_pass, total * 99 // 100, -1)
    parts[:, 0] = np.where(runs.is_profile_pass, total - parts[:, 1], -1)
    return replace(runs, parts_ns=parts)
