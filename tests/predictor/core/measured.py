"""Databases of given curves."""

import numpy as np

from predictor.core.database import Database
from tests.predictor.core.databases import TIME_ONLY


def database_of_times(times, n=(1, 2, 4), **columns):
    """Build a database from {(p, w): curve} of platforms "p0", ... and workloads "w0", ...

    A curve is {n: t}, or the times at the first of the thread counts `n`. `columns` are arguments of Database.build.
    """
    curves = [curve if isinstance(curve, dict) else dict(zip(n, curve, strict=False)) for curve in times.values()]
    counts, seconds = [list(curve) for curve in curves], [list(curve.values()) for curve in curves]
    p, w = np.array(list(times)).T
    platforms = int(p.max()) + 1
    given = {
        "platforms": [f"p{i}" for i in range(platforms)],
        "workloads": [f"w{i}" for i in range(int(w.max()) + 1)],
        "platform_index": p,
        "workload_index": w,
        "groups": (TIME_ONLY,),
        "group": np.zeros(len(times), dtype=int),
        "features": np.ones((len(times), 84)),
        "t1_s": [next(iter(curve)) * next(iter(curve.values())) for curve in curves],
        "n_nu": np.full(platforms, np.nan),
        "n_ht": np.full(platforms, np.nan),
        "n_max": np.full(platforms, np.concatenate(counts).max()),
        "curve_offsets": np.cumsum([0, *map(len, counts)]),
        "curve_n": np.concatenate(counts),
        "curve_time_s": np.concatenate(seconds),
    }
    return Database.build(**given | columns)
