"""Each baseline on databases made so that it is right, and where it has nothing to go by."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from predictor.core.baselines import BASELINES
from predictor.core.baselines.laws import amdahl_terms, fit_law, usl_terms
from predictor.core.baselines.log_times import LogTimes, additive_parts, log_times, log_times_at
from predictor.core.baselines.regression import MOST_REFERENCES
from predictor.core.database import Group
from predictor.core.errors import NoReference, SettingsError, TooFewCandidates
from predictor.core.evaluate import Protocol, evaluate
from predictor.core.methods import METHODS, Query
from tests.predictor.core.databases import TIME_ONLY, random_database
from tests.predictor.core.measured import database_of_times

N = np.array([1, 2, 4, 8])
NAMES = [method.name for method in BASELINES]


def database_of_curves(curves, *, n=N, groups=(TIME_ONLY,), **platform_table):
    """From {(platform, workload): n t(n)}."""
    times = {pair: work / n for pair, work in curves.items()}
    n_max = np.full(1 + max(p for p, _ in curves), 16)
    return database_of_times(times, n, groups=groups, n_max=n_max, platform_table=platform_table)


def predicted(name, database, target=0, workload=0, n=tuple(N), **settings):
    method = METHODS[name]
    return method.predict(database, Query(workload, target, n=n), method.settings_from(settings))


def additive_database(platforms=12, workloads=6, seed=0):
    """Log times that are speed of the machine + size of the workload at each n."""
    rng = np.random.default_rng(seed)
    speed, size = rng.normal(size=(platforms, 1)) + 0.1 * np.log(N), rng.normal(size=(workloads, 1)) + 0.3 * np.log(N)
    return database_of_curves(
        {(p, w): np.exp(speed[p] + size[w]) for p in range(platforms) for w in range(workloads)}
    ), np.exp(speed[0] + size[0]) / N


@pytest.mark.parametrize("name", [n for n in NAMES if n not in {"ideal", "copy-nearest", "frequency-scaling"}])
def test_a_platform_that_is_only_faster_is_predicted_exactly(name):
    """T is half as fast as its twin in everything, whose law is Amdahl's; others are of another kind."""
    rng = np.random.default_rng(1)
    sequential = rng.uniform(0.05, 0.5, size=8)
    curves = {(p, w): 2.0 ** (p == 0) * (1 + sequential[w] * N) for p in (0, 1) for w in range(8)}
    if name not in {"additive-log", "ridge", "kernel-ridge", "low-rank", "gradient-boosting"}:
        curves |= {(2, w): rng.uniform(1, 9) * N**0.5 for w in range(8)}
    answer = predicted(name, database_of_curves(curves))
    np.testing.assert_allclose(answer.time_s, curves[0, 0] / N, rtol=1e-6)
    assert answer.t1_s == pytest.approx(curves[0, 0][0])


@pytest.mark.parametrize("name", ["additive-log", "ridge", "kernel-ridge", "low-rank", "gradient-boosting"])
def test_regressions_are_exact_where_time_is_speed_times_size(name):
    database, expected = additive_database()
    np.testing.assert_allclose(predicted(name, database).time_s, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["ridge", "kernel-ridge", "low-rank", "gradient-boosting"])
def test_regressions_learn_what_an_additive_model_cannot(name):
    """One hidden property of platforms, to which workloads respond differently."""
    rng = np.random.default_rng(2)
    property_, response = rng.normal(size=40), rng.normal(size=9)
    curves = {
        (p, w): np.exp(property_[p] * response[w] + 0.2 * response[w] * np.log(N)) for p in range(40) for w in range(9)
    }
    database = database_of_curves(curves)
    errors = {
        method: evaluate(database, [METHODS[method]], Protocol(sample=20)).report().methods[method].full.median
        for method in ("additive-log", name)
    }
    assert errors[name] < 0.35 * errors["additive-log"]


def test_the_ideal_loses_nothing():
    curves = {(p, w): (1 + w + p) * N**0.3 for p in range(2) for w in range(3)}
    answer = predicted("ideal", database_of_curves(curves), n=(1, 2, 4, 16))
    np.testing.assert_allclose(answer.time_s * answer.n, answer.t1_s)


def test_a_copy_is_the_curve_of_the_nearest_platform():
    curves = {(p, w): (1 + w) * (1 + 0.1 * p) * N**0.3 for p in (0, 1, 5) for w in range(3)}
    answer = predicted("copy-nearest", database_of_curves(curves))
    np.testing.assert_allclose(answer.time_s, curves[1, 0] / N)
    assert {candidate.platform for candidate in answer.candidates_t1} == {"p1"}
    assert {candidate.workload for candidate in answer.candidates_t1} == {"w1", "w2"}


def test_frequency_scaling_takes_the_ratio_of_clocks_from_platforms_that_have_one():
    curves = {(p, w): (1 + w) * (1 + 0.1 * p) * N**0.3 for p in range(3) for w in range(3)}
    answer = predicted("frequency-scaling", database_of_curves(curves, base_mhz=[2000, np.nan, 3000]))
    np.testing.assert_allclose(answer.time_s, curves[2, 0] / N * 1.5)
    for mhz, whose in (([np.nan, 1000, 1000], "p0"), ([1000, np.nan, np.nan], "any reference")):
        with pytest.raises(TooFewCandidates, match=whose):
            predicted("frequency-scaling", database_of_curves(curves, base_mhz=mhz))


@pytest.mark.parametrize(
    ("terms", "coefficients"), [(amdahl_terms, [6.0, 0.5]), (usl_terms, [6.0, 0.3, 0.02]), (usl_terms, [2.0, 0.0, 0.1])]
)
def test_laws_find_their_coefficients_again(terms, coefficients):
    n = np.array([1.0, 2, 3, 4, 6, 8])
    np.testing.assert_allclose(fit_law(terms(n), coefficients @ terms(n)), coefficients, atol=1e-9)


def test_a_law_never_predicts_a_time_of_nothing():
    """Work that only appears beyond n = 1 fits without any at n = 1."""
    n = np.array([2, 4, 8, 16])
    curves = {(p, w): 1e-3 * n.astype(float) ** 4 for p in range(2) for w in range(2)}
    for name in ("amdahl", "usl"):
        answer = predicted(name, database_of_curves(curves, n=n), n=(1, 2, 16))
        assert (answer.time_s > 0).all()
        assert answer.t1_s > 0


@pytest.mark.parametrize("name", NAMES)
def test_baselines_answer_or_refuse_whatever_is_missing(name):
    """Databases with gaps and single platforms: finite positive times, or a refusal with its reason."""
    answered = 0
    for seed, shape in enumerate([(6, 7), (2, 2), (3, 1), (4, 3)]):
        database = random_database(seed, *shape, missing=0.4, groups=(TIME_ONLY,))
        for target in range(shape[0]):
            for workload in range(min(shape[1], 2)):
                try:
                    answer = predicted(name, database, target, workload, n=(1, 2, 7))
                except (NoReference, TooFewCandidates) as error:
                    assert str(error)
                else:
                    answered += 1
                    assert np.isfinite(answer.time_s).all()
                    assert (answer.time_s > 0).all()
    assert answered > 3 or name == "frequency-scaling"


@pytest.mark.parametrize("name", NAMES)
def test_time_only_curves_are_consistent_and_decomposed_ones_not_claimed(name):
    for decomposed in (False, True):
        curves = {(p, w): (1 + w) * (2 + p) * N**0.3 for p in range(3) for w in range(4)}
        database = database_of_curves(
            curves, groups=(Group(decomposed, "", "measured"),), base_mhz=[1000.0, 2000.0, 3000.0]
        )
        answer = predicted(name, database)
        if decomposed:
            assert np.isnan(answer.curves["redundancy"]).all()
        else:
            np.testing.assert_allclose(answer.curves["redundancy"], answer.n * answer.time_s / answer.t1_s)
        assert np.isnan(answer.features).all()
        assert len(answer.curves) == 15


def test_only_the_references_asked_for_take_part():
    database, _ = additive_database()
    method = METHODS["copy-nearest"]
    answer = method.predict(database, Query(0, 0, references=(3,)), method.settings())
    assert {candidate.platform for candidate in answer.candidates_t1} == {database.platforms[3]}


def test_a_wrong_setting_is_refused():
    for name, setting in (("kernel-ridge", "width"), ("low-rank", "rank"), ("gradient-boosting", "trees")):
        with pytest.raises(SettingsError, match=setting):
            METHODS[name].settings_from({setting: 0})


def test_more_trees_than_a_request_can_grow_are_refused():
    with pytest.raises(SettingsError, match="trees: 101 is above 100"):
        METHODS["gradient-boosting"].settings_from({"trees": 101})


def test_log_times_are_linear_in_log_n_and_constant_outside():
    database = database_of_curves({(0, 0): np.array([1.0, 4.0, 4.0, 2.0]), (1, 0): np.ones(4)})
    values = np.exp(log_times_at(database, np.array([0, 1, -1]), np.array([1, 2, 3, 8, 100])))
    expected = 2 ** (2 + 0 * np.log(3))  # the same between n = 2 and n = 4
    np.testing.assert_allclose(values[0], [1, 4, expected, 2, 2])
    np.testing.assert_allclose(values[1], 1)
    assert np.isnan(values[2]).all()


def test_the_learned_thread_counts_are_those_measured_on_the_target():
    database, expected = additive_database()
    answer = predicted("additive-log", database, n=tuple(range(1, 101)))
    assert log_times(database.without(0, 0), Query(0, 0, n=(3,))).n.tolist() == [1, 2, 4, 8]
    assert len(answer.time_s) == 100
    np.testing.assert_allclose(answer.time_s[[0, 99]] * [1, 100], [expected[0], expected[3] * 8], rtol=0.05)


def test_additive_parts_ignore_what_is_missing():
    rng = np.random.default_rng(3)
    size, speed = rng.normal(size=(5, 2)), rng.normal(size=(7, 2))
    values = size[None] + speed[:, None]
    of_workload, of_platform = additive_parts(values)
    np.testing.assert_allclose(of_workload[None] + of_platform[:, None], values)
    holes = np.where(rng.random((7, 5, 1)) < 0.2, np.nan, values)
    of_workload, of_platform = additive_parts(holes)
    np.testing.assert_allclose(of_workload[None] + of_platform[:, None], values, atol=0.2)


def test_every_baseline_says_that_it_is_one():
    assert [name for name, method in METHODS.items() if method.baseline] == NAMES
    assert not METHODS["mpet2020"].describe().baseline
    assert METHODS["ridge"].describe().baseline
    assert all(method.summary.endswith(".") for method in BASELINES)


class TestNearestReferences:
    """Of many platforms the regressions learn from those that are most like the target."""

    def database(self):
        """Six platforms like the target, and six on which every other workload takes longer."""
        rng = np.random.default_rng(4)
        size = rng.normal(size=6)
        odd = np.arange(6) % 2
        kind = {p: 0.0 if p < 7 else 2.0 for p in range(13)}
        return database_of_curves(
            {(p, w): np.exp(size[w] + kind[p] * odd[w]) * np.ones(4) for p in range(13) for w in range(6)}
        )

    def test_are_kept_with_their_times(self):
        database = self.database()
        logs = log_times(database.without(0, 1), Query(1, 0, n=tuple(N)))
        few = logs.with_nearest_references(6)
        assert [database.platforms[p] for p in few.platforms] == [f"p{p}" for p in range(1, 7)]
        assert few.of_references.shape == (6, 5, 4)
        assert few.with_nearest_references(6) is few
        np.testing.assert_array_equal(few.of_workload, logs.of_workload[np.isin(logs.platforms, few.platforms)])

    @pytest.mark.parametrize("name", ["ridge", "kernel-ridge", "low-rank", "gradient-boosting"])
    def test_take_part_alone(self, name, monkeypatch):
        database, seen = self.database(), []
        method = METHODS[name]
        assert predicted(name, database, workload=1).confidence.references == 12
        of_all = LogTimes.with_nearest_references
        monkeypatch.setattr(
            LogTimes, "with_nearest_references", lambda logs, most: seen.append(most) or of_all(logs, 6)
        )
        assert method.predict(database, Query(1, 0, n=tuple(N)), method.settings_from({})).confidence.references == 6
        assert seen == [MOST_REFERENCES]


def test_log_times_of_many_rows_are_read_in_parts(monkeypatch):
    database, _ = additive_database()
    rows = np.arange(60).reshape(12, 5)
    whole = log_times_at(database, rows, N)
    monkeypatch.setattr("predictor.core.baselines.log_times.VALUES_AT_ONCE", 7)
    np.testing.assert_array_equal(log_times_at(database, rows, N), whole)


def test_trees_are_grown_by_one_thread(monkeypatch):
    """Threads for a few hundred rows wait for each other where another process has the cores."""
    fit, threads = HistGradientBoostingRegressor.fit, set()

    def watched(*arguments):
        threads.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp")
        return fit(*arguments)

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", watched)
    with threadpool_limits(2):
        predicted("gradient-boosting", additive_database()[0])
    assert threads == {1}
