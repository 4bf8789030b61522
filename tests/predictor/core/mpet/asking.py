"""Queries to `mpet`, and databases of given times."""

from __future__ import annotations

import numpy as np

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.methods import METHODS
from predictor.core.mpet.beyond import WHOLE_PROGRAMS
from predictor.core.reconstruct import fitted_features
from profiles.scaling.names import FRACTIONS
from tests.predictor.core.curves import time_only_features
from tests.predictor.core.databases import TIME_ONLY

MPET = METHODS["mpet"]


def predict(database, workload, target, n=None, *, among=None, group=None, **settings):
    """Return the answer of `mpet`, from the references `among`. `database` may be the arguments of Database.build."""
    database = Database.build(**database) if isinstance(database, dict) else database
    return MPET.predict(database, Query(workload, target, group, among, n), MPET.settings_from(settings))


def predict_named(database, workload, target, n=None):
    return predict(database, database.workloads.index(workload), database.platforms.index(target), n)


def features_of_program(n, time_s, used):
    """Return the features of a whole program, as `mpet sweep` measures it, with these U(n)."""
    curves = np.zeros((15, len(n)))
    curves[0], curves[1], curves[8:] = time_s, n * time_s * used / time_s[0], np.nan
    curves[2 + FRACTIONS.index("work_imbalance")] = 1.0 - used
    return fitted_features(n, curves, np.nan, np.nan)


def database_of_times(curves, n_max, used=(), **tables):
    """Return a database of t(n), {(platform, workload): {n: seconds}}. `used`: U(n) of whole programs."""
    platforms, workloads = (sorted({pair[axis] for pair in curves}) for axis in (0, 1))
    pairs = sorted(curves)
    counts = [np.array(sorted(curves[pair])) for pair in pairs]
    times = [np.array([curves[pair][n] for n in sorted(curves[pair])]) for pair in pairs]
    features = [
        features_of_program(n, time_s, np.array(used[pair]))
        if pair in used
        else time_only_features(tuple(n), time_s[None])[0]
        for pair, n, time_s in zip(pairs, counts, times, strict=True)
    ]
    columns = {"n_nu": np.full(len(platforms), np.nan), "n_ht": np.full(len(platforms), np.nan)} | tables
    return Database.build(
        platforms=platforms,
        workloads=workloads,
        platform_index=[platforms.index(pair[0]) for pair in pairs],
        workload_index=[workloads.index(pair[1]) for pair in pairs],
        groups=(TIME_ONLY, WHOLE_PROGRAMS) if used else (TIME_ONLY,),
        group=[int(pair in used) for pair in pairs],
        features=features,
        t1_s=[time_s[0] * n[0] for n, time_s in zip(counts, times, strict=True)],
        curve_offsets=np.append(0, np.cumsum([len(n) for n in counts])),
        curve_n=np.concatenate(counts),
        curve_time_s=np.concatenate(times),
        n_max=[n_max[platform] for platform in platforms],
        **columns,
    )
