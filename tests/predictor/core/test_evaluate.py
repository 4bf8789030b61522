from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Answer, Method
from predictor.core.baselines.answers import NoSettings
from predictor.core.database import Database
from predictor.core.errors import NoReference
from predictor.core.evaluate import HOLDOUTS, Protocol, chosen_rows, evaluate, hidden_pairs
from predictor.core.methods import METHODS
from profiles.jobs.executors import Processes
from tests.predictor.core.databases import database_of, features, random_arrays, random_database

MPET2020 = METHODS["mpet2020"]
T1_FACTOR, TIME_FACTOR = 1.5, np.array([1.1, 0.7, 1.3])


def method_of(predict, name="fixed"):
    return Method(name=name, version="1", settings=NoSettings, predict=predict)


def answer_of(t1_s, n, time_s, **interval):
    empty = np.full(84, np.nan)
    return Answer(t1_s, np.array(n), np.array(time_s), empty, {}, [], [], **interval)


def off_by_known_factors(database):
    """Knows t(1) = 2^row of every profile and misses it, and the curve t(1) / n, by fixed factors."""

    def predict(view, query, settings):
        rows = (database.platform_index == query.target) & (database.workload_index == query.workload)
        t1_s = database.t1_s[rows][0]
        n = np.array(query.n)
        time_s = t1_s / n * TIME_FACTOR
        return answer_of(T1_FACTOR * t1_s, n, time_s, low_s=time_s - 0.2 * t1_s / n, high_s=time_s + 0.2 * t1_s / n)

    return method_of(predict)


@pytest.fixture
def database():
    keys = [(p, w) for p in ("p", "q") for w in ("a", "b")]
    return database_of({key: (2.0**row, features(redundancy_m=1.0)) for row, key in enumerate(keys)})


def test_each_application_has_the_statistics_of_its_own_workloads():
    database = random_database(3, platforms=5, workloads=6)
    named = replace(database, workload_table={"application": ("one", "one", "two", "", "two", "")})
    result = evaluate(named, [MPET2020])
    by_application = result.by_application(named)
    assert list(by_application) == ["one", "two"]
    for application, workloads in (("one", (0, 1)), ("two", (2, 4))):
        own = [one for one in result.outcomes["mpet2020"] if named.workloads.index(one.workload) in workloads]
        report = by_application[application]["mpet2020"].full
        errors = [one.errors["full"] for one in own if "full" in one.errors]
        assert (report.count, report.refused) == (len(errors), len(own) - len(errors))
        assert report.mean == pytest.approx(100 * np.mean(errors))


def test_errors_are_means_over_the_measured_n(database):
    """Errors 10, 30, 30 %; t(1) 50 %; scaling divides by 1.5: 1.1/1.5, 0.7/1.5, 1.3/1.5."""
    report = evaluate(database, [off_by_known_factors(database)]).report().methods["fixed"]
    scaling = np.abs(TIME_FACTOR / 1.5 - 1).mean() * 100
    for part, error, bias in (("full", 70 / 3, 10 / 3), ("t1", 50, 50), ("scaling", scaling, -scaling)):
        statistics = getattr(report, part)
        for name in ("mean", "median", "p70", "p80", "p95", "max"):
            assert getattr(statistics, name) == pytest.approx(error), (part, name)
        assert statistics.bias == pytest.approx(bias)
        assert (statistics.count, statistics.refused) == (4, 0)
    assert report.seconds > 0


def test_intervals_are_judged_at_each_n(database):
    """+-0.2 t covers the 1.1 of three n only; widths are 0.4 / 1.1, 0.4 / 0.7, 0.4 / 1.3. Of 0.9..1.3, 0.5..0.9 and
    1.1..1.5 times the measured time the last two miss it, by ln 0.9 and ln 1.1."""
    report = evaluate(database, [off_by_known_factors(database)]).report().methods["fixed"]
    assert report.coverage == pytest.approx(1 / 3)
    assert report.interval_width == pytest.approx(0.4 / 1.1)
    widths = np.log([1.3 / 0.9, 0.9 / 0.5, 1.5 / 1.1])
    fines = 20 * np.array([0, -np.log(0.9), np.log(1.1)])
    assert report.interval_score == pytest.approx((widths + fines).mean())
    # Both platforms err alike: the widest error of one holds all of the other.
    assert report.constant_interval_score == pytest.approx(2 * -np.log(0.7))
    alone = evaluate(database, [off_by_known_factors(database)], Protocol(targets=(0,))).report().methods["fixed"]
    assert alone.interval_score is not None
    assert alone.constant_interval_score is None


def test_a_nan_has_no_interval_and_is_refused_there(database):
    def predict(view, query, settings):
        time_s = np.array([1.0, np.nan, 1.0])
        return answer_of(1.0, query.n, time_s, low_s=time_s / 9, high_s=time_s * 9)

    result = evaluate(database, [method_of(predict)])
    assert [outcome.intervals.with_interval for outcome in result.outcomes["fixed"]] == [2] * 4
    assert result.report().methods["fixed"].refused_n == 4


def test_refused_and_partly_invalid_predictions_are_counted(database):
    def predict(view, query, settings):
        if query.target == 0:
            raise NoReference("a", "p")
        return answer_of(1.0, query.n, [1.0, np.nan, 1.0])

    evaluation = evaluate(database, [method_of(predict)])
    report = evaluation.report().methods["fixed"]
    assert (report.t1.count, report.t1.refused) == (2, 2)
    for statistics in (report.full, report.scaling):
        assert (statistics.count, statistics.refused, statistics.mean, statistics.bias) == (0, 4, None, None)
    assert report.coverage is report.interval_width is report.interval_score is None
    assert report.refused_n == 2 * 3 + 2 * 1
    outcomes = evaluation.outcomes["fixed"]
    assert [(one.refused_n, one.refusal is None) for one in outcomes] == [*[(3, False)] * 2, *[(1, True)] * 2]


@pytest.mark.parametrize("holdout", HOLDOUTS)
@pytest.mark.parametrize("probes", [None, 2])
def test_a_method_sees_nothing_that_the_protocol_hides(holdout, probes):
    database = random_database(4, missing=0.1)
    asked = []

    def predict(view, query, settings):
        platforms, workloads = hidden_for(database, query, holdout)
        assert (view.lookup(platforms, workloads, range(3)) == -1).all()
        known = view.workload_index[view.rows_of_platform(query.target)]
        of_group = known[view.group[view.rows_of_platform(query.target)] == query.group]
        if probes is not None:
            assert len(np.unique(of_group)) <= probes
            assert query.workload not in of_group
        others = ~np.isin(database.platform_index, [query.target]) & (database.workload_index != query.workload)
        assert not view.hidden[others].any()
        asked.append((query.target, query.workload, tuple(sorted(np.unique(of_group)))))
        return answer_of(1.0, query.n, np.ones(len(query.n)))

    methods = [method_of(predict, "first"), method_of(predict, "second")]
    evaluate(database, methods, Protocol(holdout=holdout, probes=probes))
    assert len(asked) == 2 * len(chosen_rows(database, Protocol()))
    assert asked[::2] == asked[1::2]


def siblings_of(database, workload):
    application = database.workload_table["application"]
    return [w for w, name in enumerate(application) if name == application[workload]]


def hidden_for(database, query, holdout):
    """What the protocol promises, from the columns."""
    if holdout == "application":
        siblings = siblings_of(database, query.workload)
        return np.full(len(siblings), query.target), np.array(siblings)
    if holdout == "pair":
        return np.array([query.target]), np.array([query.workload])
    column = database.platform_table[holdout]
    twins = [p for p, name in enumerate(column) if name == column[query.target]]
    assert len(twins) > 1
    return np.array(twins), np.full(len(twins), query.workload)


def test_an_unknown_cpu_model_is_shared_with_nobody():
    arrays = random_arrays(0)
    arrays["platform_table"] = {"cpu_model": [""] * 6}
    platforms, workloads = hidden_pairs(Database.build(**arrays), 0, Protocol(holdout="cpu_model"))
    assert (platforms.tolist(), workloads.tolist()) == ([0], [0])


def known_on(database, row, protocol, workload=None):
    """The platforms on which the protocol leaves the row's workload, or another, to be seen."""
    view = database.without(*hidden_pairs(database, row, protocol))
    workload = database.workload_index[row] if workload is None else workload
    return set(view.platform_index[view.rows_of_workload(workload)])


class TestReferences:
    @pytest.fixture
    def database(self):
        return random_database(1, missing=0.0)

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_so_many_have_the_workload_and_all_else_stays(self, database, count):
        known = known_on(database, 0, Protocol(references=count))
        assert len(known) == count
        assert database.platform_index[0] not in known
        other = (database.workload_index[0] + 1) % len(database.workloads)
        assert len(known_on(database, 0, Protocol(references=count), other)) == len(database.platforms)

    def test_with_its_application_known_nowhere_else(self, database):
        protocol = Protocol("application", references=2)
        siblings = siblings_of(database, database.workload_index[0])
        assert len(siblings) > 1
        assert len({frozenset(known_on(database, 0, protocol, workload)) for workload in siblings}) == 1
        assert len(known_on(database, 0, protocol, siblings[0])) == 2

    def test_none_is_like_the_target(self, database):
        kinds = database.platform_table["microarchitecture"]
        own = kinds[database.platform_index[0]]
        known = known_on(database, 0, Protocol(unlike=True))
        assert known
        assert own not in {kinds[platform] for platform in known}
        assert len(known_on(database, 0, Protocol(unlike=True, references=1))) == 1

    def test_are_drawn_from_the_seed(self, database):
        drawn = [known_on(database, 0, Protocol(references=1, seed=seed)) for seed in (1, 1, *range(2, 12))]
        assert drawn[0] == drawn[1]
        assert len(set(map(frozenset, drawn))) > 1

    def test_of_a_small_database_are_all_that_there_are(self, database):
        known = known_on(database, 0, Protocol(references=1000))
        assert known == set(range(len(database.platforms))) - {database.platform_index[0]}


def test_several_holdouts_hide_the_siblings_on_all_alike_platforms():
    database = random_database(1, missing=0.0)
    target, workload = database.platform_index[0], database.workload_index[0]
    kinds, applications = database.platform_table["microarchitecture"], database.workload_table["application"]
    hidden = set(zip(*hidden_pairs(database, 0, Protocol("application,microarchitecture")), strict=True))
    assert hidden == {
        (p, w)
        for p, kind in enumerate(kinds)
        for w, name in enumerate(applications)
        if kind == kinds[target] and name == applications[workload]
    }


def test_probes_are_drawn_from_the_seed():
    database = random_database(1, missing=0.0)
    drawn = [hidden_pairs(database, 0, Protocol(probes=2, seed=seed))[1].tolist() for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1]
    assert len({tuple(sorted(hidden)) for hidden in drawn}) > 1
    assert all(len(hidden) == 1 + 4 for hidden in drawn)


def test_the_sample_depends_on_seed_and_targets_alone():
    database = random_database(1)
    first = chosen_rows(database, Protocol(sample=10, seed=3))
    assert chosen_rows(database, Protocol(sample=10, seed=3, holdout="cpu_model", probes=1)).tolist() == first.tolist()
    assert chosen_rows(database, Protocol(sample=10, seed=4)).tolist() != first.tolist()
    assert len(set(first.tolist())) == 10
    on_two = chosen_rows(database, Protocol(targets=(1, 4)))
    assert set(database.platform_index[on_two]) == {1, 4}
    assert len(chosen_rows(database, Protocol(sample=10**6))) == (~np.isnan(database.t1_s)).sum()


def test_processes_change_no_outcome():
    database = random_database(2)
    seen = []
    alone = evaluate(database, [MPET2020], Protocol(sample=45))
    parallel = evaluate(
        database, [MPET2020], Protocol(sample=45), executor=Processes(2), progress=lambda *at: seen.append(at)
    )
    timeless = [[replace(outcome, seconds=0.0) for outcome in run.outcomes["mpet2020"]] for run in (alone, parallel)]
    assert timeless[0] == timeless[1]
    assert seen == [(done, 45) for done in (6, 12, 18, 24, 30, 36, 42, 45)]


def test_settings_reach_their_method():
    database = random_database(2)
    chosen = MPET2020.settings_from({"t1_workloads": 1, "t1_platforms": 1})
    plain, narrow = (
        evaluate(database, [MPET2020], Protocol(sample=30), settings=settings).report().methods["mpet2020"].t1
        for settings in (None, {"mpet2020": chosen})
    )
    assert plain.count == narrow.count > 0
    assert plain.mean != narrow.mean


@pytest.mark.parametrize(
    "wrong", [{"holdout": "moon"}, {"holdout": "pair,"}, {"references": 0}, {"probes": 0}, {"sample": 0}]
)
def test_a_protocol_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Protocol(**wrong)


def test_nothing_to_predict_is_an_error(database):
    with pytest.raises(ValueError, match="no measured profile"):
        evaluate(database, [MPET2020], Protocol(targets=(7,)))
