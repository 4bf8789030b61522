"""Small databases for tests of the core: from given profiles, or random from a seed."""

from __future__ import annotations

import inspect

import numpy as np

from predictor.core.database import Database, Group
from profiles.scaling.names import FEATURE_NAMES

TIME_ONLY = Group(decomposed=False, runtime="", origin="measured")


def features(**elements):
    """Return a feature vector (84,) with the given elements (`redundancy_m` for redundancy.m). The others are NaN."""
    values = np.full(len(FEATURE_NAMES), np.nan)
    for name, value in elements.items():
        curve, _, element = name.partition("_")
        values[FEATURE_NAMES.index(f"{curve}.{element}")] = value
    return values


def database_of(profiles, groups=(TIME_ONLY,), **platform_columns):
    """Build a database from {(platform, workload) or (platform, workload, group): (t1_s, features (84,))}.

    Platforms and workloads are given by slug. The measured curve of each profile is t(1) / n at n = 1, 2, 4.
    """
    keys = [(*key, 0)[:3] for key in profiles]
    platforms = sorted({key[0] for key in keys})
    workloads = sorted({key[1] for key in keys})
    columns = {
        "n_nu": np.full(len(platforms), np.nan),
        "n_ht": np.full(len(platforms), np.nan),
        "n_max": np.full(len(platforms), 4),
    } | platform_columns
    t1_s = np.array([t1 for t1, _ in profiles.values()])
    return Database.build(
        platforms=platforms,
        workloads=workloads,
        platform_index=[platforms.index(key[0]) for key in keys],
        workload_index=[workloads.index(key[1]) for key in keys],
        groups=groups,
        group=[key[2] for key in keys],
        features=np.array([vector for _, vector in profiles.values()]).reshape(-1, len(FEATURE_NAMES)),
        t1_s=t1_s,
        curve_offsets=3 * np.arange(len(keys) + 1),
        curve_n=np.tile([1, 2, 4], len(keys)),
        curve_time_s=(np.where(np.isnan(t1_s), 1.0, t1_s)[:, None] / np.array([1, 2, 4])).ravel(),
        **columns,
    )


def random_arrays(seed, platforms=6, workloads=7, *, missing=0.25, invalid=0.3, groups=None):
    """Return arguments of Database.build: random profiles in random order, with gaps, groups, ties and zeros."""
    rng = np.random.default_rng(seed)
    groups = groups or (
        Group(True, "mpal", "measured"),
        Group(False, "mpal", "measured"),
        Group(True, "openmp", "measured"),
    )
    keys = [
        (p, w, g)
        for p in range(platforms)
        for w in range(workloads)
        for g in range(len(groups))
        if rng.random() > missing
    ]
    keys = [keys[i] for i in rng.permutation(len(keys))]
    p, w, g = np.array(keys, dtype=np.int64).reshape(-1, 3).T
    values = rng.normal(size=(len(keys), len(FEATURE_NAMES)))
    values[rng.random(values.shape) < 0.1] = 0.0  # zeros, by which Eq. 21 cannot divide
    values[:, rng.random(len(FEATURE_NAMES)) < 0.1] = 0.5  # elements with the same value in all profiles
    values[rng.random(values.shape) < invalid] = np.nan
    values[rng.random(len(keys)) < 0.05] = np.nan  # sequential profiles, which have no valid element
    n_nu = np.where(rng.random(platforms) < 0.3, np.nan, 4.0)
    n_ht = np.where(rng.random(platforms) < 0.3, np.nan, 8.0)
    t1_s = rng.lognormal(size=len(keys))
    time_s = rng.lognormal(size=(len(keys), 3))
    return {
        "platforms": [f"p{i:02}" for i in range(platforms)],
        "workloads": [f"w{i:02}" for i in range(workloads)],
        "platform_index": p,
        "workload_index": w,
        "groups": groups,
        "group": g,
        "features": values,
        "t1_s": np.where(rng.random(len(keys)) < 0.05, np.nan, t1_s),
        "curve_offsets": 3 * np.arange(len(keys) + 1),
        "curve_n": np.tile([1, 2, 4], len(keys)),
        "curve_time_s": time_s.ravel(),
        "n_nu": n_nu,
        "n_ht": n_ht,
        "n_max": np.full(platforms, 16),
        "platform_table": {
            "cpu_model": [f"cpu{i // 2}" for i in range(platforms)],
            "microarchitecture": [f"march{i // 3}" for i in range(platforms)],
            "architecture": ["x86_64"] * platforms,
        },
        "workload_table": {"application": [f"app{i // 2}" for i in range(workloads)]},
    }


def random_database(seed, *shape, **options):
    return Database.build(**random_arrays(seed, *shape, **options))


def rebuilt(database, **columns):
    """Return the database rebuilt with some arguments of Database.build replaced."""
    return Database.build(
        **{name: getattr(database, name) for name in inspect.signature(Database.build).parameters} | columns
    )


def permuted(arrays, seed):
    """Return the arguments of Database.build with platforms, workloads and profiles in another order."""
    rng = np.random.default_rng(seed)
    result = dict(arrays)
    for axis, index, tables in (
        ("platforms", "platform_index", ("n_nu", "n_ht", "n_max")),
        ("workloads", "workload_index", ()),
    ):
        order = rng.permutation(len(arrays[axis]))
        rank = np.argsort(order)
        result[axis] = [arrays[axis][i] for i in order]
        result[index] = rank[arrays[index]]
        result |= {name: np.asarray(arrays[name])[order] for name in tables}
        table = axis[:-1] + "_table"
        result[table] = {name: [column[i] for i in order] for name, column in arrays[table].items()}
    rows = rng.permutation(len(arrays["t1_s"]))
    for name in ("platform_index", "workload_index", "group", "features", "t1_s"):
        result[name] = np.asarray(result[name])[rows]
    result["curve_time_s"] = np.asarray(arrays["curve_time_s"]).reshape(-1, 3)[rows].ravel()
    return result
