"""Answers with known curves that satisfy Eq. 3-4, and databases of decomposed profiles."""

from __future__ import annotations

import numpy as np

from predictor.core.answers import Answer, Query, refit_features
from predictor.core.database import Database, Group
from predictor.core.methods import get_method
from predictor.core.scenarios import Scenario, ScenarioQuery
from profiles.scaling.features import feature_fits
from profiles.scaling.names import CURVE_NAMES, FRACTIONS, RELATIVE_MEASURES
from profiles.scaling.runs import CurveTable

DECOMPOSED = Group(True, "mpal", "measured")


def in_scenario(query: Query, method: str, scenario: Scenario | None = None, **settings) -> ScenarioQuery:
    """Return the query for a method in a scenario, by default a migration."""
    chosen = get_method(method)
    values = chosen.settings_from(settings)
    return ScenarioQuery(**vars(query), method=chosen, settings=values, scenario=scenario or Scenario())


def answer_of(n, time_s, *, n_nu=np.nan, n_ht=np.nan, interval=None, decomposed=True, measures=None, **fractions):
    """Return an answer with R and U from t(n) and the fractions by Eq. 3-4, and with the 84 elements fitted.

    The prediction interval, if any, is t(n) divided and multiplied by the factor `interval`.
    """
    n, time_s = np.asarray(n, dtype=np.int64), np.asarray(time_s, dtype=float)
    t1_s = float(time_s[0] * n[0])
    curves = {name: np.full(len(n), np.nan) for name in CURVE_NAMES}
    used = np.ones(len(n))
    if decomposed:
        parts = {name: np.broadcast_to(np.asarray(fractions.get(name, 0.0), float), n.shape) for name in FRACTIONS}
        curves |= {name: values.copy() for name, values in parts.items()}
        used = 1.0 - sum(parts.values())
    curves |= {name: np.full(len(n), value) for name, value in (measures or {}).items()}
    curves |= {"redundancy": n * time_s * used / t1_s, "utilisation": used}
    answer = Answer(t1_s, n, time_s, np.full(84, np.nan), curves, [], [])
    if interval:
        answer = Answer(
            t1_s, n, time_s, answer.features, curves, [], [], low_s=time_s / interval, high_s=time_s * interval
        )
    return refit_features(answer, n_nu, n_ht)


def assert_consistent(answer):
    """Assert Eq. 3-4: n t U = R t(1), U and the fractions sum to 1, and all values are in their ranges."""
    used = answer.curves["utilisation"]
    np.testing.assert_allclose(
        answer.n * answer.time_s * used, answer.curves["redundancy"] * answer.t1_s, rtol=1e-9, atol=0
    )
    fractions = np.stack([answer.curves[name] for name in FRACTIONS])
    if np.isfinite(fractions).all():
        np.testing.assert_allclose(fractions.sum(axis=0) + used, 1.0, rtol=1e-9)
        assert (fractions >= 0).all()
    assert (used > 0).all()
    assert (answer.time_s > 0).all()


def decomposed_database(seed=0, platforms=6, workloads=6, *, strategies=None, sequential=(), groups=(DECOMPOSED,)):
    """Return a database with every workload on every platform, its curves, and its counters.

    Each workload has one fraction that grows with n. Workloads in `sequential` are only measured at n = 1. Platforms
    have n_ht = 4 and n_max = 8, except the first one, which has no SMT threads and n_max = 4.
    """
    rng = np.random.default_rng(seed)
    names = [f"w{at}" for at in range(workloads)]
    n_max = np.array([4] + [8] * (platforms - 1))
    n_ht = np.array([np.nan] + [4.0] * (platforms - 1))
    speed, work, grow = rng.uniform(1, 3, platforms), rng.uniform(5, 20, workloads), rng.uniform(0.01, 0.08, workloads)
    curves, pairs, counted = [], [], []
    for p in range(platforms):
        for w in range(workloads):
            n = np.array([1]) if names[w] in sequential else np.arange(1, n_max[p] + 1)
            values = np.full((15, len(n)), np.nan)
            lock = grow[w] * (n - 1)
            behind = np.maximum(n - n_ht[p], 0) if np.isfinite(n_ht[p]) else np.zeros(len(n))
            values[0] = work[w] / speed[p] / n * (1 + 0.02 * (n - 1) + 0.1 * behind) / (1 - lock)
            values[0] *= 1 + 0.01 * rng.random(len(n))
            values[2:8] = 0.0
            values[2] = lock
            values[1] = n * values[0] * (1 - lock) / values[0, 0]
            values[8:] = (0.1 + 0.1 * w + 0.01 * np.arange(7))[:, None]
            curves.append(CurveTable(n, values, True, len(n) == 1, float(values[0, 0])))
            pairs.append((p, w))
            counted.append(values[8:, 0])
    fits = feature_fits(curves, [None] * len(pairs), [n_ht[p] for p, _ in pairs])
    database = Database.build(
        platforms=[f"p{at}" for at in range(platforms)],
        workloads=names,
        platform_index=[p for p, _ in pairs],
        workload_index=[w for _, w in pairs],
        groups=groups,
        group=np.zeros(len(pairs)),
        features=fits.values,
        t1_s=[one.t1_s for one in curves],
        curve_offsets=np.concatenate([[0], np.cumsum([len(one.n) for one in curves])]),
        curve_n=np.concatenate([one.n for one in curves]),
        curve_time_s=np.concatenate([one.time_s for one in curves]),
        n_nu=np.full(platforms, np.nan),
        n_ht=n_ht,
        n_max=n_max,
        platform_table={"base_mhz": np.full(platforms, 2000.0), "architecture": ["x86_64"] * platforms},
        workload_table={"strategy": strategies or ["wavefront"] * workloads},
    )
    return database, curves, np.array(counted).reshape(-1, len(RELATIVE_MEASURES))
