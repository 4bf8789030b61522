"""Quick estimates of many targets: near the method's answers, and blind to what was measured for the pair itself."""

import numpy as np
import pytest

from predictor.core import estimates
from predictor.core.cuts import known_at, with_wrong_profiles
from predictor.core.database import Database, Group
from predictor.core.methods import METHODS, Query
from tests.predictor.core.curves import curve_arrays, curve_database
from tests.predictor.core.databases import TIME_ONLY
from tests.predictor.core.mpet.asking import estimates_of

WORKLOAD = 2


def every_target(database):
    return np.arange(len(database.platforms))


def planted(arrays, platforms, workloads):
    """Absurd times at these pairs."""
    pairs = set(zip(*np.broadcast_arrays(platforms, workloads), strict=True))
    hit = np.array([pair in pairs for pair in zip(arrays["platform_index"], arrays["workload_index"], strict=True)])
    times = np.where(np.repeat(hit, 5), 1e100, arrays["curve_time_s"])
    return arrays | {"t1_s": np.where(hit, 1e100, arrays["t1_s"]), "curve_time_s": times}


@pytest.mark.parametrize("n", [pytest.param(None, marks=pytest.mark.lab), 4])
def test_they_are_near_the_answers_of_the_method(n):
    database, method = curve_database(1, 80, 14), METHODS["mpet"]
    *_, found = method.estimate(database, WORKLOAD, every_target(database), n)
    ratios = []
    for target in range(80):
        answer = method.predict(database, Query(WORKLOAD, target, n=n and (n,)), method.settings())
        best = int(np.nanargmin(answer.time_s))
        ratios.append(abs(np.log(found.time_s[target] / answer.time_s[best])))
        assert n is None or found.n[target] == n
    assert np.median(ratios) < 0.08
    assert np.max(ratios) < 0.5


def test_so_they_are_of_a_workload_that_ran_with_all_threads_of_one_machine_alone():
    database, method = curve_database(1, 30, 14), METHODS["mpet"]
    rows = database.rows_of_workload(WORKLOAD)
    home = database.platform_index[max(rows.tolist(), key=lambda row: database.curve(row)[0].max())]
    others = np.setdiff1d(every_target(database), home)
    known = known_at(database, "workload-most", WORKLOAD).without(others, WORKLOAD)
    *_, found = method.estimate(known, WORKLOAD, others, 1)
    off = [
        np.log(found.time_s[i] / method.predict(known, Query(WORKLOAD, target, n=(1,)), method.settings()).time_s[0])
        for i, target in enumerate(others.tolist())
    ]
    assert np.median(np.abs(off)) < 0.15


@pytest.mark.parametrize("seed", range(3))
def test_profiles_that_are_wrong_move_hardly_an_estimate(seed):
    database = curve_database(1, 80, 14)
    right = estimates_of(database, WORKLOAD, every_target(database))
    found = estimates_of(with_wrong_profiles(database, 0.05, seed), WORKLOAD, every_target(database))
    off = np.abs(np.log(found.time_s / right.time_s))
    assert np.median(off) < 0.04
    assert np.quantile(off, 0.95) < 0.2


def test_a_reference_with_all_of_the_weight_tells_though_others_contradict_it(monkeypatch):
    database = Database.build(**planted(curve_arrays(1, 80, 14), np.arange(0, 80, 5), [WORKLOAD]))

    guesses_of = estimates._ratio_guesses

    def first_alone(shared, targets, near, is_near):
        weights, guesses = guesses_of(shared, targets, near, is_near)
        return np.broadcast_to(np.arange(near.shape[1]) == 0, weights.shape).astype(float), guesses

    monkeypatch.setattr(estimates, "_ratio_guesses", first_alone)
    found = estimates_of(database, WORKLOAD, every_target(database), 4)
    monkeypatch.setattr(estimates, "FEWEST_JUDGING", 81)
    unjudged = estimates_of(database, WORKLOAD, every_target(database), 4)
    assert found.time_s == pytest.approx(unjudged.time_s, rel=1e-9)


def test_with_few_references_they_are_near_the_answers_too():
    database, method = curve_database(4, 60, 14), METHODS["mpet"]
    lost = database.platform_index[database.rows_of_workload(WORKLOAD)][10:]
    database = database.without(lost, WORKLOAD)
    *_, found = method.estimate(database, WORKLOAD, lost, 4)
    answers = [method.predict(database, Query(WORKLOAD, t, n=(4,)), method.settings()).time_s[0] for t in lost.tolist()]
    assert np.median(np.abs(np.log(found.time_s / answers))) < 0.1


@pytest.mark.parametrize("averaged", [1, 48])
def test_what_was_measured_for_the_pair_itself_changes_no_estimate(monkeypatch, averaged):
    """Whether the target is one of those that the workload's mean curve is made of, or not."""
    monkeypatch.setattr(estimates, "ENOUGH", averaged)
    monkeypatch.setattr("predictor.core.mpet.gathering.ENOUGH", averaged)
    arrays = curve_arrays(5, 30, 8)
    known = estimates_of(Database.build(**arrays), WORKLOAD, np.arange(30))
    for target in range(30):
        other = estimates_of(Database.build(**planted(arrays, [target], [WORKLOAD])), WORKLOAD, np.array([target]))
        assert other.time_s[0] == pytest.approx(known.time_s[target], rel=1e-6)
        assert other.n[0] == known.n[target]


def test_what_is_hidden_changes_no_estimate():
    arrays, hidden = curve_arrays(6, 30, 8), (np.array([1, 4, 9, 9]), np.array([WORKLOAD, 5, 3, WORKLOAD]))
    found = [
        estimates_of(Database.build(**each).without(*hidden), WORKLOAD, np.arange(30))
        for each in (arrays, planted(arrays, *hidden))
    ]
    assert found[0].time_s.tolist() == found[1].time_s.tolist()


def test_targets_are_estimated_alike_alone_and_together():
    database = curve_database(7, 40, 9, missing=0.2)
    together = estimates_of(database, WORKLOAD, every_target(database))
    for target in (0, 7, 39):
        alone = estimates_of(database, WORKLOAD, np.array([target]))
        assert alone.time_s[0] == pytest.approx(together.time_s[target], rel=1e-5)


def test_there_is_none_where_nothing_is_shared():
    database = curve_database(8, 12, 4, missing=0.0)
    found = estimates_of(database.without(3, [0, 1, 3]), WORKLOAD, every_target(database))
    assert np.flatnonzero(np.isnan(found.time_s)).tolist() == [3]  # of platform 3 the workload itself remains
    nowhere = database.without(np.arange(12), WORKLOAD)
    assert np.isnan(estimates_of(nowhere, WORKLOAD, every_target(database)).time_s).all()
    no_other_workload = curve_database(1, 12, 1)
    assert np.isnan(estimates_of(no_other_workload, 0, every_target(database)).time_s).all()


def test_a_workload_of_one_thread_count_has_no_scaling():
    arrays = curve_arrays(9, 20, 6, missing=0.0)
    kept = np.tile([True, *[False] * 4], len(arrays["t1_s"])) | np.repeat(arrays["workload_index"] != WORKLOAD, 5)
    arrays |= {name: arrays[name][kept] for name in ("curve_n", "curve_time_s")}
    arrays["curve_offsets"] = np.cumsum([0, *kept.reshape(-1, 5).sum(axis=1)])
    database = Database.build(**arrays)
    assert estimates_of(database, WORKLOAD, np.arange(20)).n.tolist() == [1] * 20
    assert np.isnan(estimates_of(database, WORKLOAD, np.arange(20), 4).time_s).all()


def test_each_target_is_compared_in_its_own_group():
    """The workload is known in two origins: each target asks the one that has the more references without itself."""
    arrays = curve_arrays(10, 20, 6, missing=0.0)
    groups = (TIME_ONLY, Group(False, "", "simulated"))
    simulated = arrays["platform_index"] >= 10
    times = np.where(np.repeat(simulated, 5), 7.0, 1.0) * arrays["curve_time_s"]
    database = Database.build(**arrays | {"groups": groups, "group": simulated.astype(int), "curve_time_s": times})
    found = estimates_of(database, WORKLOAD, np.arange(20))
    method = METHODS["mpet"]
    for target in (0, 9, 10, 19):
        refused = method.refusal(database, Query(WORKLOAD, target), method.settings()) is not None
        assert np.isnan(found.time_s[target]) == refused


def test_of_very_many_references_each_model_keeps_its_share(monkeypatch):
    database = curve_database(11, 60, 10, missing=0.0)
    every = estimates_of(database, WORKLOAD, every_target(database))
    monkeypatch.setattr(estimates, "MOST_ESTIMATE_REFERENCES", 30)
    some = estimates.SharedCurves.of(database, WORKLOAD, (0,))
    assert len(some.references) == 30
    models = [database.platform_table["cpu_model"][platform] for platform in some.references]
    assert len(set(models)) == 30  # of thirty models of two platforms each
    thinned = estimates_of(database, WORKLOAD, every_target(database))
    assert np.median(np.abs(np.log(thinned.time_s / every.time_s))) < 0.1


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_where_most_pairs_are_unknown_no_time_is_what_no_machine_takes(seed):
    """With negative weights of a nearly singular system, the worst were off by factors of 1,000 to 20,000."""
    database = curve_database(seed, 60, 30, missing=0.7, noise=0.3)
    found = estimates_of(database, WORKLOAD, every_target(database)).time_s
    rows = database.rows_of_workload(WORKLOAD)
    least = np.array([database.curve(row)[1].min() for row in rows.tolist()])
    assert np.abs(np.log(found[database.platform_index[rows]] / least)).max() < 2.0
