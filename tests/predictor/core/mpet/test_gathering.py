"""What is gathered about A on T: which rows and references, their curves, and what is left out of them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from predictor.core import curves
from predictor.core.curves import evaluated_curves
from predictor.core.database import Database, Group
from predictor.core.errors import PredictionError
from predictor.core.metadata import platform_metadata
from predictor.core.methods import Query
from predictor.core.mpet import gathering
from predictor.core.mpet.gathering import connected_rows, gather_evidence, without_outliers
from predictor.core.mpet.method import MpetSettings, evidence_with_parts
from tests.predictor.core.curves import COUNTS, curve_arrays, curve_database, cut_at, scaled, with_times, without_rows
from tests.predictor.core.databases import TIME_ONLY
from tests.predictor.core.mpet.asking import predict

GROUPS = (TIME_ONLY, Group(False, "openmp", "measured"))
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
            "groups": GROUPS,
            "group": np.repeat([0, 1], [count, len(twice) - count]),
            "curve_n": np.tile(COUNTS, len(twice)),
            "curve_time_s": times.ravel(),
            "curve_offsets": len(COUNTS) * np.arange(len(twice) + 1),
        }
    )


def test_a_kept_table_has_the_rows_that_are_looked_up(monkeypatch):
    """Also where pairs are hidden, and of several runtimes."""
    arrays, query = curve_arrays(4, 30, 12, missing=0.3), Query(2, 5, group=0)
    database = Database.build(**arrays | {"groups": GROUPS, "group": np.arange(len(arrays["t1_s"])) % 3 == 0})
    views = [
        database,
        database.without([5, 7, 9, 9], [3, 2, 2, 4]),
        database.without(np.arange(0, 30, 4)[:, None], [1, 2, 6]),
    ]

    def rows_of(view):
        found = gather_evidence(view, query)
        return found.platforms.tolist(), found.workloads.tolist(), found.rows.tolist()

    monkeypatch.setattr(curves, "DENSE_PAIRS_RATIO", 0)
    looked_up = [rows_of(view) for view in views]
    monkeypatch.setattr(curves, "DENSE_PAIRS_RATIO", 1_000_000)
    assert [rows_of(view) for view in views] == looked_up
    assert looked_up[1] != looked_up[0]
    platforms, workloads, rows = looked_up[1]
    for at, platform in enumerate([*platforms, 5]):
        expected = views[1].lookup(platform, [*workloads, 2], (0, 1))
        expected[-1] = -1 if platform == 5 else expected[-1]
        assert rows[at] == expected.tolist()


def test_curves_are_as_measured_at_the_knots_and_0_where_there_are_none():
    database = curve_database(5, 20, 10, missing=0.3)
    found = gather_evidence(database, Query(1, 3, n=COUNTS))
    assert found.n.tolist() == list(COUNTS)
    for p, platform_rows in enumerate(found.rows):
        for b, row in enumerate(platform_rows[:-1]):
            expected = np.log(np.array(COUNTS) * database.curve(row)[1]) if row >= 0 else 0.0
            np.testing.assert_allclose(found.curves[:, p, b], expected, atol=1e-12)


def test_a_curve_measured_at_few_n_bends_like_its_workload():
    """Between n = 1 and 16 it follows the mean curve of the others, shifted linearly in ln n; beyond, it is held."""
    arrays = curve_arrays(6, 20, 8, missing=0.0, noise=0.0)
    counts, times = (np.asarray(arrays[name]).reshape(160, -1) for name in ("curve_n", "curve_time_s"))
    bent = times * np.where(counts == 4, 1.5, 1.0)  # every curve has a bump at n = 4
    kept = np.ones(counts.shape, dtype=bool)
    kept[8 * 7 + 2, 1:-1] = False  # of platform 7 and workload 2 the ends alone are known
    arrays |= {
        "curve_n": counts[kept],
        "curve_time_s": bent[kept],
        "curve_offsets": np.concatenate([[0], np.cumsum(kept.sum(axis=1))]),
    }
    found = gather_evidence(Database.build(**arrays), Query(1, 3, n=COUNTS))
    p, b = found.platforms.tolist().index(7), found.workloads.tolist().index(2)
    np.testing.assert_allclose(found.curves[:, p, b], np.log(counts[0] * bent[8 * 7 + 2]), atol=0.05)


def test_hiding_a_pair_twice_is_hiding_it_once():
    once, *twice = (two_runtimes().without(*pairs) for pairs in ((7, 2), ([7, 7], [2, 2])))
    for view in (*twice, once.without(7, 2)):
        assert view.hidden.tolist() == once.hidden.tolist()
        assert sorted(view.hidden_rows) == sorted(once.hidden_rows)


def test_of_very_many_workloads_some_are_looked_at(monkeypatch):
    """Those of T first, then those that many references have or that are called like A; without the bound a question
    costs the third power of their number."""
    names = [f"other{b:02}" for b in range(18)] + [f"solver-{b}" for b in range(6)]
    database = Database.build(**curve_arrays(3, 8, 24, missing=0.0) | {"workloads": names})
    known, rare, workload = [1, 7, 13], [3, 5], 18
    database = database.without(0, np.setdiff1d(np.arange(24), known))
    database = database.without([[1], [2]], rare).without([6, 7], workload)
    query = Query(workload, 0)
    assert gather_evidence(database, query).workloads.tolist() == [*known, *np.setdiff1d(np.arange(24), [*known, 18])]
    monkeypatch.setattr(gathering, "MOST_EXAMINED", 20)
    found = gather_evidence(database, query)
    assert len(found.workloads) == 20
    assert set(known) | {19, 20, 21, 22, 23} <= set(found.workloads.tolist())
    assert not set(rare) & set(found.workloads.tolist())
    assert np.isfinite(predict(database, workload, 0).time_s).all()


def test_platforms_without_the_workload_are_no_references_of_a_target_with_very_many(monkeypatch):
    """T has as many workloads as are used, and lacks three times as many that others have. Nothing is filled in, and
    every reference must have A: a profile that does not exist counted as 1 s."""
    database = curve_database(3, 30, 24)
    target, workload = 0, 23
    database = database.without([[target]], np.arange(5, 23)).without([np.arange(1, 20)], workload)
    monkeypatch.setattr(gathering, "MOST_EXAMINED", 5)
    evidence, _ = evidence_with_parts(database, Query(workload, target), MpetSettings())
    assert evidence.measured_on_target.sum() == 5
    assert evidence.has_workload.all()
    assert set(evidence.platforms.tolist()) <= set(range(20, 30))


# --- Which references are looked at where very many have the workload ---


def distances_one_by_one(database, query, groups, platforms):
    """The formula of `gather_evidence`, platform by platform and workload by workload; all have A at all n."""
    evaluated, metadata = evaluated_curves(database), platform_metadata(database)
    own = [w for w in range(len(database.workloads)) if w != query.workload]
    own = [w for w in own if database.lookup(query.target, w, groups) >= 0]
    variances = []
    for platform in platforms.tolist():
        both = [w for w in own if database.lookup(platform, w, groups) >= 0]
        gaps = [
            evaluated.values[column, database.lookup(query.target, w, groups)]
            - evaluated.values[column, database.lookup(platform, w, groups)]
            for w in both
            for column in (0, len(COUNTS) - 1)
        ]
        variances.append((np.var(gaps), len(both) / len(own)))
    median = np.median([variance for variance, _ in variances])
    behaviour = [variance / median * shared + 1.0 - shared for variance, shared in variances]
    return np.array(behaviour) + 0.3 * metadata.squared_distances(platforms, query.target)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("groups", [(0,), (0, 1), (1, 0)])
def test_of_many_references_the_nearest_are_examined(seed, groups, monkeypatch):
    """Also where rows are hidden: of T, of the workload, and of others."""
    database = two_runtimes(seed).without([TARGET, TARGET, 7, 9, 11], [WORKLOAD, 4, 3, WORKLOAD, 6])
    query = Query(WORKLOAD, TARGET)
    _, platforms, _ = connected_rows(database, query, groups)
    distances, most = distances_one_by_one(database, query, groups, platforms), len(platforms) // 2
    monkeypatch.setattr(gathering, "MOST_EXAMINED", most)
    _, found, _ = connected_rows(database, query, groups)
    assert found.tolist() == np.sort(platforms[np.argsort(distances, kind="stable")[:most]]).tolist()


def test_only_platforms_that_share_a_workload_with_the_target_are_examined(monkeypatch):
    """T's only other workload is known on three platforms."""
    database = curve_database(3, 30, 6, missing=0.0)
    view = database.without(TARGET, np.setdiff1d(np.arange(6), (4,)))
    view = view.without(np.setdiff1d(np.arange(30), [1, 2, 3, TARGET]), 4)
    monkeypatch.setattr(gathering, "MOST_EXAMINED", 2)
    found = gather_evidence(view, Query(WORKLOAD, TARGET)).platforms
    assert len(found) == 2
    assert set(found.tolist()) < {1, 2, 3}


def test_what_few_references_there_are_all_are_looked_at(monkeypatch):
    database, query = curve_database(3, 30, 6), Query(WORKLOAD, TARGET)
    every = gather_evidence(database, query).platforms.tolist()
    for most in (len(every), 12):
        monkeypatch.setattr(gathering, "MOST_EXAMINED", most)
        found = gather_evidence(database, query).platforms.tolist()
        assert len(found) == most
        assert set(found) <= set(every)


def test_no_hidden_profile_chooses_the_references(monkeypatch):
    """Absurd values in what is hidden, of T and of others, of A and of other workloads, change no digit."""
    monkeypatch.setattr(gathering, "MOST_EXAMINED", 10)
    arrays = curve_arrays(8, 40, 8, missing=0.1)
    hidden = np.array([TARGET, TARGET, 7, 9, 20]), np.array([WORKLOAD, 4, WORKLOAD, 3, 1])
    hit = np.isin(arrays["platform_index"] * 8 + arrays["workload_index"], hidden[0] * 8 + hidden[1])
    assert hit.sum() > 2
    first, second = (
        predict(Database.build(**each).without(*hidden), WORKLOAD, TARGET, (1, 4, 16))
        for each in (arrays, scaled(arrays, hit, 1e100))
    )
    assert first.time_s.tolist() == second.time_s.tolist()
    assert first.high_s.tolist() == second.high_s.tolist()


@pytest.mark.lab
def test_the_nearest_predict_as_well_as_all(monkeypatch):
    """Where platforms come in families, a quarter of the references errs at most a fifth more."""
    database = curve_database(2, 160, 14, missing=0.1)
    rows = np.random.default_rng(1).choice(len(database), 40, replace=False)

    def mean_error(examined):
        monkeypatch.setattr(gathering, "MOST_EXAMINED", examined)
        errors = []
        for row in rows.tolist():
            n, time_s = database.curve(row)
            pair = int(database.workload_index[row]), int(database.platform_index[row])
            errors.append(np.abs(predict(database, *pair, tuple(n.tolist())).time_s / time_s - 1).mean())
        return np.mean(errors)

    of_some = mean_error(40)
    assert of_some <= 1.2 * mean_error(1000)
    assert of_some < 0.016  # 0.020 where the gaps of the table counted as 0


def test_twins_are_near_at_the_counts_at_which_they_were_measured(monkeypatch):
    """Platforms 0 to 5 are alike, T among them; that the workload ran on them with one thread alone says nothing
    against them at n = 1."""
    monkeypatch.setattr(gathering, "MOST_EXAMINED", 20)
    arrays = curve_arrays(8, 40, 8, missing=0.0)
    platform, workload = arrays["platform_index"], arrays["workload_index"]
    times = arrays["curve_time_s"].reshape(len(platform), -1)
    times[platform <= TARGET] = np.tile(times[platform == 0], (TARGET + 1, 1))
    for column in arrays["platform_table"].values():
        column[: TARGET + 1] = (TARGET + 1) * [column[TARGET]]
    is_single = (platform <= TARGET) & (workload == WORKLOAD)
    database = Database.build(**cut_at(with_times(arrays, times), np.where(is_single, 1, len(COUNTS))))
    assert set(range(TARGET)) < set(gather_evidence(database, Query(WORKLOAD, TARGET, n=(1,))).platforms.tolist())
    answer = predict(database.without([TARGET], [WORKLOAD]), WORKLOAD, TARGET, (1,), references=10)
    truth = database.t1_s[database.lookup(0, WORKLOAD, (0,))]
    assert answer.t1_s == pytest.approx(truth, rel=0.02)
    assert {candidate.platform for candidate in answer.candidates_t1[:3]} <= {database.platforms[p] for p in range(5)}


# --- Absurd profiles among the evidence: whatever is left, an answer is made of numbers ---

ABSURD_SHARE, ABSURD_LOG_FACTOR, FEW = 0.15, 6.0, 2


def with_absurd_profiles(rng):
    """A small database, dense or sparse, in which some profiles are off by some e^6, whole curves at once; and a query,
    in half the cases for a workload that few have on a platform that has few."""
    platforms, workloads = int(rng.integers(3, 30)), int(rng.integers(2, 14))
    missing = float(rng.choice([0.0, 0.3, 0.6, 0.8]))
    arrays = curve_arrays(int(rng.integers(1000)), platforms, workloads, missing=missing)
    count = len(arrays["t1_s"])
    factors = np.where(rng.random(count) < ABSURD_SHARE, np.exp(rng.normal(0.0, ABSURD_LOG_FACTOR, count)), 1.0)
    arrays = scaled(arrays, slice(None), factors)
    workload, target = int(rng.integers(workloads)), int(rng.integers(platforms))
    if count and rng.random() < 0.5:
        rare = (arrays["workload_index"] == workload) & (arrays["platform_index"] != target)
        dropped = rng.permutation(np.flatnonzero(rare))[FEW:]
        own = rng.permutation(np.flatnonzero(arrays["platform_index"] == target))[FEW:]
        arrays = without_rows(arrays, np.isin(np.arange(count), np.append(dropped, own)))
    return arrays, workload, target


@given(st.integers(0, 2**32 - 1))
@example(50)  # a reference was left that shared nothing with the target
@example(245)
@example(1311)  # none was left that had the workload
@example(28403)  # nothing was measured at all
@settings(max_examples=25, deadline=None)
def test_an_answer_among_absurd_profiles_has_times(seed):
    try:
        answer = predict(*with_absurd_profiles(np.random.default_rng(seed)))
    except PredictionError:
        return
    assert np.isfinite(np.concatenate([answer.time_s, answer.low_s, answer.high_s, [answer.t1_s]])).all()


@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_one_absurd_upload_among_three_references_is_left_out(factor):
    """Where the workload is alike on the others: a spread of one in ln t among three would explain much."""
    arrays = curve_arrays(3, 4, 10, missing=0)
    absurd = (arrays["workload_index"] == 2) & (arrays["platform_index"] == 1)
    clean, answer = (predict(each, 2, 3, (1, 4, 16)) for each in (arrays, scaled(arrays, absurd, factor)))
    np.testing.assert_allclose(answer.time_s, clean.time_s, rtol=0.25)


def test_nothing_tells_which_of_two_workloads_on_the_target_is_wrong():
    arrays = curve_arrays(3, 12, 6)
    arrays = without_rows(arrays, (arrays["platform_index"] == 5) & (arrays["workload_index"] > 1))
    absurd = (arrays["workload_index"] == 1) & (arrays["platform_index"] == 5)
    evidence = gather_evidence(Database.build(**scaled(arrays, absurd, 1e3)), Query(4, 5))
    assert without_outliers(evidence).measured_on_target.sum() == 2
