"""Which references are looked at where very many have the workload: by the formula, and by what may be seen alone."""

import numpy as np
import pytest

from predictor.core.curves import evaluated_curves
from predictor.core.database import Database, Group
from predictor.core.metadata import platform_metadata
from predictor.core.methods import METHODS, Query
from predictor.core.mpet import gathering
from predictor.core.mpet.gathering import gather_evidence, nearest_platforms
from tests.predictor.core.curves import curve_arrays, curve_database
from tests.predictor.core.databases import TIME_ONLY

OTHER_RUNTIME = Group(False, "openmp", "measured")
WORKLOAD, TARGET = 2, 5


def two_runtimes(seed=4):
    """Every pair of the first runtime, a third of them of the second one too, with other times."""
    arrays = curve_arrays(seed, 40, 10, missing=0.3)
    count = len(arrays["t1_s"])
    twice = np.concatenate([np.arange(count), np.arange(0, count, 3)])
    times = np.asarray(arrays["curve_time_s"]).reshape(count, -1)[twice]
    times[count:] *= 3.0
    return Database.build(
        **arrays
        | {name: np.asarray(arrays[name])[twice] for name in ("platform_index", "workload_index", "features", "t1_s")}
        | {
            "groups": (TIME_ONLY, OTHER_RUNTIME),
            "group": np.repeat([0, 1], [count, len(twice) - count]),
            "curve_n": np.tile(arrays["curve_n"][: times.shape[1]], len(twice)),
            "curve_time_s": times.ravel(),
            "curve_offsets": times.shape[1] * np.arange(len(twice) + 1),
        }
    )


def platforms_with(database, workload, target):
    platforms = np.unique(database.platform_index[database.rows_of_workload(workload)]).astype(np.int64)
    return platforms[platforms != target]


def distances_one_by_one(database, query, groups, platforms):
    """The formula of `nearest_platforms`, platform by platform and workload by workload; all have A at all n."""
    evaluated, metadata = evaluated_curves(database), platform_metadata(database)
    columns = [0, 1, 3, 4]
    own = [w for w in range(len(database.workloads)) if w != query.workload]
    own = [w for w in own if database.lookup(query.target, w, groups) >= 0]
    variances = []
    for platform in platforms.tolist():
        both = [w for w in own if database.lookup(platform, w, groups) >= 0]
        gaps = [
            evaluated.values[column, database.lookup(query.target, w, groups)]
            - evaluated.values[column, database.lookup(platform, w, groups)]
            for w in both
            for column in columns
        ]
        variances.append((np.var(gaps) if gaps else np.nan, len(both) / len(own)))
    median = np.median([variance for variance, _ in variances if np.isfinite(variance)])
    behaviour = [np.inf if np.isnan(v) else v / median * shared + 1.0 - shared for v, shared in variances]
    return np.array(behaviour) + 0.3 * metadata.squared_distances(platforms, query.target)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("groups", [(0,), (0, 1), (1, 0)])
def test_the_nearest_are_those_of_the_formula(seed, groups):
    """Also where rows are hidden: of T, of the workload, and of others."""
    database = two_runtimes(seed).without([TARGET, TARGET, 7, 9, 11], [WORKLOAD, 4, 3, WORKLOAD, 6])
    query = Query(WORKLOAD, TARGET)
    platforms = platforms_with(database, WORKLOAD, TARGET)
    platforms = platforms[database.lookup(platforms, WORKLOAD, groups) >= 0]
    distances = distances_one_by_one(database, query, groups, platforms)
    most = np.count_nonzero(np.isfinite(distances)) // 2
    expected = np.sort(platforms[np.argsort(distances, kind="stable")[:most]])
    assert nearest_platforms(database, query, groups, platforms, most).tolist() == expected.tolist()


def test_all_are_looked_at_where_too_few_share_a_workload():
    """T's only other workload is known on three platforms: the index cannot tell who is near among the others."""
    database = curve_database(3, 30, 6, missing=0.0)
    others = [w for w in range(6) if w not in (WORKLOAD, 4)]
    view = database.without(*(index.ravel() for index in np.meshgrid([TARGET], others)))
    view = view.without(np.arange(10, 30), 4).without(np.setdiff1d(np.arange(10), [1, 2, 3, TARGET]), 4)
    platforms = platforms_with(view, WORKLOAD, TARGET)
    query = Query(WORKLOAD, TARGET)
    assert nearest_platforms(view, query, (0,), platforms, 4).tolist() == platforms.tolist()
    assert nearest_platforms(view, query, (0,), platforms, 3).tolist() == [1, 2, 3]


def test_what_few_references_there_are_all_are_looked_at(monkeypatch):
    database, query = curve_database(3, 30, 6), Query(WORKLOAD, TARGET)
    every = gather_evidence(database, query).platforms
    monkeypatch.setattr(gathering, "MOST_EXAMINED", len(every))
    assert gather_evidence(database, query).platforms.tolist() == every.tolist()
    monkeypatch.setattr(gathering, "MOST_EXAMINED", 12)
    some = gather_evidence(database, query).platforms
    assert len(some) == 12
    assert set(some.tolist()) < set(every.tolist())


def test_no_hidden_profile_chooses_the_references(monkeypatch):
    """Absurd values in what is hidden, of T and of others, of A and of other workloads, change no digit."""
    monkeypatch.setattr(gathering, "MOST_EXAMINED", 10)
    arrays = curve_arrays(8, 40, 8, missing=0.1)
    hidden = np.array([TARGET, TARGET, 7, 9, 20]), np.array([WORKLOAD, 4, WORKLOAD, 3, 1])
    hit = np.isin(arrays["platform_index"] * 8 + arrays["workload_index"], hidden[0] * 8 + hidden[1])
    assert hit.sum() > 2
    planted = arrays | {
        "t1_s": np.where(hit, 1e100, arrays["t1_s"]),
        "curve_time_s": np.where(np.repeat(hit, 5), 1e100, arrays["curve_time_s"]),
    }
    query = Query(WORKLOAD, TARGET, n=(1, 4, 16))
    answers = [
        METHODS["mpet"].predict(Database.build(**each).without(*hidden), query, METHODS["mpet"].settings())
        for each in (arrays, planted)
    ]
    assert answers[0].time_s.tolist() == answers[1].time_s.tolist()
    assert answers[0].high_s.tolist() == answers[1].high_s.tolist()


@pytest.mark.lab
def test_the_nearest_predict_as_well_as_all(monkeypatch):
    """Where platforms come in families, a quarter of the references errs at most a fifth more."""
    database = curve_database(2, 160, 14, missing=0.1)
    rows = np.random.default_rng(1).choice(len(database), 40, replace=False)
    method = METHODS["mpet"]

    def mean_error(examined):
        monkeypatch.setattr(gathering, "MOST_EXAMINED", examined)
        errors = []
        for row in rows.tolist():
            n, time_s = database.curve(row)
            query = Query(int(database.workload_index[row]), int(database.platform_index[row]), n=tuple(n.tolist()))
            errors.append(np.abs(method.predict(database, query, method.settings()).time_s / time_s - 1).mean())
        return np.mean(errors)

    of_some = mean_error(40)
    assert of_some <= 1.2 * mean_error(1000)
    assert of_some < 0.016  # 0.020 where the gaps of the table counted as 0


def twins_measured_with_one_thread():
    """Forty platforms that have all workloads at all n. Platforms 0 to 5 are alike, T among them; where these have the
    workload, it is at n = 1 alone."""
    arrays = curve_arrays(8, 40, 8, missing=0.0)
    platform, workload = arrays["platform_index"], arrays["workload_index"]
    n, times = (np.asarray(arrays[name]).reshape(len(platform), -1) for name in ("curve_n", "curve_time_s"))
    times[platform <= TARGET] = np.tile(times[platform == 0], (TARGET + 1, 1))
    is_single = (platform <= TARGET) & (workload == WORKLOAD)
    kept = np.ones(n.shape, dtype=bool)
    kept[is_single, 1:] = False
    return Database.build(
        **arrays
        | {
            "t1_s": times[:, 0],
            "curve_n": n[kept],
            "curve_time_s": times[kept],
            "curve_offsets": np.append(0, np.cumsum(kept.sum(axis=1))),
        }
    )


def test_twins_are_near_at_the_counts_at_which_they_were_measured(monkeypatch):
    """That the workload ran with one thread alone on T's twins says nothing against them at n = 1."""
    monkeypatch.setattr(gathering, "MOST_EXAMINED", 20)
    database, query = twins_measured_with_one_thread(), Query(WORKLOAD, TARGET, n=(1,))
    assert set(range(TARGET)) < set(gather_evidence(database, query).platforms.tolist())
    settings = METHODS["mpet"].settings(references=10)
    answer = METHODS["mpet"].predict(database.without([TARGET], [WORKLOAD]), query, settings)
    truth = database.t1_s[database.lookup(0, WORKLOAD, (0,))]
    assert answer.t1_s == pytest.approx(truth, rel=0.02)
    assert {candidate.platform for candidate in answer.candidates_t1[:3]} <= {database.platforms[p] for p in range(5)}
