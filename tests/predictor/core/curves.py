"""Databases with known curves for tests of the transfer, generated from latent factors of platforms and workloads."""

from __future__ import annotations

import numpy as np

from predictor.core.database import Database, Group
from predictor.core.mpet.beyond import WHOLE_PROGRAMS
from predictor.core.reconstruct import fitted_features
from profiles.scaling.features import feature_fits
from profiles.scaling.names import FRACTIONS
from profiles.scaling.runs import CurveTable
from tests.predictor.core.databases import TIME_ONLY

COUNTS = (1, 2, 4, 8, 16)


def curve_arrays(seed, platforms=30, workloads=12, *, noise=0.01, missing=0.1, counts=COUNTS, group=TIME_ONLY):
    """Return arguments of Database.build with t(n) from platform speeds, workload work and three latent factors."""
    rng = np.random.default_rng(seed)
    x = np.log(counts)
    speed, work = rng.normal(size=platforms), rng.normal(size=workloads)
    tilt = 0.3 * rng.random(platforms)
    loss = 0.4 * rng.random(workloads)
    factors = 0.2 * rng.normal(size=(platforms, 3)) @ rng.normal(size=(3, workloads))
    log_work = (
        work[None, :, None]
        - speed[:, None, None]
        + factors[:, :, None]
        + (tilt[:, None] + loss)[:, :, None] * x
        + noise * rng.normal(size=(platforms, workloads, len(counts)))
    )
    p, w = np.nonzero(rng.random((platforms, workloads)) >= missing)
    time_s = np.exp(log_work[p, w]) / np.array(counts)
    return {
        "platforms": [f"p{i:03}" for i in range(platforms)],
        "workloads": [f"w{i:03}" for i in range(workloads)],
        "platform_index": p,
        "workload_index": w,
        "groups": (group,),
        "group": np.zeros(len(p), dtype=int),
        "features": time_only_features(counts, time_s),
        "t1_s": time_s[:, 0],
        "curve_offsets": len(counts) * np.arange(len(p) + 1),
        "curve_n": np.tile(counts, len(p)),
        "curve_time_s": time_s.ravel(),
        "n_nu": np.full(platforms, np.nan),
        "n_ht": np.full(platforms, np.nan),
        "n_max": np.full(platforms, counts[-1]),
        "platform_table": {
            "cpu_model": [f"cpu{i // 2}" for i in range(platforms)],
            "microarchitecture": [f"march{i // 4}" for i in range(platforms)],
            "architecture": ["x86_64"] * platforms,
            "base_mhz": 2000.0 + 100 * rng.random(platforms),
        },
        "workload_table": {"application": [f"app{i // 2}" for i in range(workloads)]},
    }


def time_only_features(counts, time_s):
    """Return the features (N, 84) fitted to times (N, K)."""
    n = np.array(counts)
    profiles = []
    for row in time_s:
        values = np.full((15, len(n)), np.nan)
        values[0], values[1] = row, n * row / row[0]
        profiles.append(CurveTable(n, values, False, False, float(row[0])))
    return feature_fits(profiles, [None] * len(profiles), [None] * len(profiles)).values


def decomposed_arrays(seed, platforms=12, workloads=6):
    """Return arguments for decomposed profiles where lock delay is 0 and imbalance depends on the workload."""
    arrays = curve_arrays(seed, platforms, workloads, group=Group(True, "mpal", "measured"))
    values = np.array(time_only_features(COUNTS, arrays["curve_time_s"].reshape(-1, len(COUNTS))))
    imbalance = 0.02 * (1 + arrays["workload_index"])
    for curve, element in ((1, 0.0), (2, imbalance), (3, 0.001), (4, 0.0), (5, 0.002), (6, 0.01)):
        values[:, 6 * curve] = 0.0
        values[:, 6 * curve + 1] = element
    values[:, 6 * 7 + 1] = 0.2 + 0.01 * arrays["workload_index"]  # BR/INSTR
    return arrays | {"features": values}


def curve_database(seed, *shape, **options):
    return Database.build(**curve_arrays(seed, *shape, **options))


def without_rows(arrays, dropped):
    """Return the arguments without the dropped profiles. All curves must have the same number of points."""
    keep = ~dropped
    length = len(arrays["curve_n"]) // len(dropped)
    result = dict(arrays)
    for name in ("platform_index", "workload_index", "group", "features", "t1_s"):
        result[name] = np.asarray(arrays[name])[keep]
    result["curve_offsets"] = length * np.arange(keep.sum() + 1)
    for name in ("curve_n", "curve_time_s"):
        result[name] = np.asarray(arrays[name]).reshape(-1, length)[keep].ravel()
    return result


def with_times(arrays, time_s):
    """Return the arguments with other times, (N, K) or (platforms, workloads, K); the features stay."""
    return arrays | {"t1_s": time_s[..., 0].ravel(), "curve_time_s": time_s.ravel()}


def scaled(arrays, rows, factor):
    """Return the arguments with the times of the profiles `rows` (a mask) multiplied by a factor."""
    factors = np.ones(len(arrays["t1_s"]))
    factors[rows] = factor
    times = arrays["curve_time_s"] * np.repeat(factors, np.diff(arrays["curve_offsets"]))
    return arrays | {"t1_s": arrays["t1_s"] * factors, "curve_time_s": times}


def cut_at(arrays, lengths):
    """Return the arguments with the first `lengths` (N,) points of each curve only."""
    n, times = (np.asarray(arrays[name]).reshape(len(lengths), -1) for name in ("curve_n", "curve_time_s"))
    kept = np.arange(n.shape[1]) < np.asarray(lengths)[:, None]
    return arrays | {"curve_offsets": np.append(0, np.cumsum(lengths)), "curve_n": n[kept], "curve_time_s": times[kept]}


def counted_database():
    """Return a database and a counter of its workloads that determines the slowdown on T.

    The log times on T grow by twice the counter, which has no effect on the times on the reference platform.
    """
    random = np.random.default_rng(5)
    arrays = curve_arrays(5, 2, 40, missing=0.0, noise=0.0)
    counter = random.random(40)
    p, w = np.array(arrays["platform_index"]), np.array(arrays["workload_index"])
    size = random.normal(size=40)
    time_s = np.exp(size[w] + 2 * counter[w] * (p == 1))[:, None] / np.array(COUNTS)
    arrays = with_times(arrays, time_s) | {"features": time_only_features(COUNTS, time_s)}
    arrays["features"][:, -2] = counter[w]
    arrays["features"][:, 6] = random.random(40)[w]  # an element that is not informative
    return Database.build(**arrays), counter


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
