"""Predictions in two steps: a program known on one machine that ran the kit, and a fleet that ran other workloads."""

import numpy as np
import pytest

from predictor.core import two_steps
from predictor.core.errors import NothingShared
from predictor.core.methods import METHODS, Query
from predictor.core.two_steps import MOST_CONNECTING_WORKLOADS, MOST_FIRST_REFERENCES, connection, lacks_in_two_steps
from tests.predictor.core.curves import curve_arrays, curve_database
from tests.predictor.core.databases import TIME_ONLY, Database, rebuilt
from tests.predictor.core.mpet.asking import MPET, predict

PROGRAM = 0
KIT, FLEET, LATER = range(1, 7), range(7, 13), range(13, 19)
HOME, BOTH, EARLIER, FAR = 0, (1, 2), range(3, 20), range(20, 30)  # machines


def part_of(database, *having):
    """Return the profiles of (machines, workloads) only."""
    rows = np.zeros(len(database), dtype=bool)
    for machines, workloads in having:
        rows |= np.isin(database.platform_index, machines) & np.isin(database.workload_index, workloads)
    return database.part(np.flatnonzero(rows))


def islands(database, home=(PROGRAM, *KIT), both=(*KIT, *FLEET)):
    """The program and the kit on one machine, the kit and other workloads on two, the latter and more on some, and
    these alone on the rest."""
    return part_of(database, ([HOME], home), (BOTH, both), (EARLIER, (*FLEET, *LATER)), (FAR, LATER))


@pytest.fixture(scope="module")
def complete():
    return curve_database(3, 30, 19, missing=0.0)


def errors(complete, database, targets):
    """Return |predicted / measured - 1| of each target, and whether the interval contains the measured times."""
    found = []
    for target in targets:
        answer = predict(database, PROGRAM, target, (1, 2, 4, 8, 16))
        measured = complete.curve(int(complete.lookup(target, PROGRAM, 0)))[1]
        inside = (answer.low_s <= measured) & (measured <= answer.high_s)
        found.append((np.abs(answer.time_s / measured - 1).mean(), inside.mean()))
    return np.array(found).T


def test_the_error_is_little_more_than_with_the_workloads_measured_at_home(complete):
    in_two_steps, inside = errors(complete, islands(complete), EARLIER)
    at_home = islands(complete, home=(PROGRAM, *KIT, *FLEET))
    assert np.median(in_two_steps) < 1.5 * np.median(errors(complete, at_home, EARLIER)[0])
    assert inside.mean() >= 0.9


def test_machines_with_later_workloads_alone_are_reached_in_a_second_round(complete):
    error, inside = errors(complete, islands(complete), FAR)
    at_home = islands(complete, home=(PROGRAM, *KIT, *LATER))
    assert np.median(error) < 1.5 * np.median(errors(complete, at_home, FAR)[0])
    assert inside.mean() >= 0.9


def test_the_interval_contains_the_errors_of_both_steps(complete):
    first = predict(islands(complete), FLEET[0], HOME)
    answer = predict(islands(complete), PROGRAM, EARLIER[0])
    at_home = predict(islands(complete, home=(PROGRAM, *KIT, *FLEET)), PROGRAM, EARLIER[0])
    width, of_first, of_second = ((a.high_s / a.low_s).mean() for a in (answer, first, at_home))
    assert width > of_first
    assert width > of_second


def test_the_answer_says_so_and_names_the_machines_that_ran_both(complete):
    database = islands(complete)
    answer = predict(database, PROGRAM, FAR[0])
    assert answer.warnings[0] == (
        "the target shares no workload with a reference machine: its workloads were predicted there first, from "
        "machines that ran both (p001, p002)"
    )
    assert {candidate.platform for candidate in answer.candidates_scaling} == {"p000"}
    assert set(BOTH) <= set(database.platform_index[answer.rows_of_first_step].tolist())
    assert HOME not in database.platform_index[predict(database, PROGRAM, BOTH[0]).rows_of_first_step]


def test_without_a_machine_that_ran_both_it_is_refused_as_before(complete):
    database = islands(complete, both=FLEET)
    assert set(lacks_in_two_steps(database, PROGRAM)) == {"reference", "shared"}
    for target in (*BOTH, *FAR):
        with pytest.raises(NothingShared, match="share no workload with the target"):
            predict(database, PROGRAM, target)
        refusal = MPET.refusal(database, Query(PROGRAM, target), MPET.settings())
        assert isinstance(refusal, NothingShared)


def test_with_named_references_no_other_machine_takes_part(complete):
    database, query = islands(complete), Query(PROGRAM, FAR[0], references=(HOME,))
    with pytest.raises(NothingShared):
        MPET.predict(database, query, MPET.settings())
    assert isinstance(MPET.refusal(database, query, MPET.settings()), NothingShared)


def test_other_methods_still_refuse_it(complete):
    refused = [name for name, method in METHODS.items() if name != "mpet" and method.name != "gradient-boosting"]
    for name in refused:
        settings = METHODS[name].settings()
        assert METHODS[name].refusal(islands(complete), Query(PROGRAM, EARLIER[0]), settings) is not None


def test_a_machine_with_one_shared_workload_is_predicted_in_one_step(complete):
    database = islands(complete)
    sharing = part_of(
        complete, ([HOME], (PROGRAM, *KIT)), (BOTH, (*KIT, *FLEET)), (EARLIER, FLEET), ([FAR[0]], KIT[:1])
    )
    answer = predict(sharing, PROGRAM, FAR[0])
    assert not any("predicted there first" in warning for warning in answer.warnings)
    assert not len(answer.rows_of_first_step)
    assert len(predict(database, PROGRAM, FAR[0]).rows_of_first_step)


def test_estimates_reach_the_same_machines_and_are_near_the_answers(complete):
    database, everywhere = islands(complete), np.arange(30)
    lacks = MPET.lacks_by_target(database, PROGRAM)
    assert [word for word in lacks if word] == ["reference"]
    *_, found = MPET.estimate(database, PROGRAM, everywhere, 4)
    assert np.isfinite(found.time_s[1:]).all()
    answers = [predict(database, PROGRAM, target, (4,)).time_s[0] for target in range(1, 30)]
    assert np.median(np.abs(np.log(found.time_s[1:] / answers))) < 0.15


def test_measurements_of_the_program_on_a_target_are_never_used():
    """A far machine that has the program is refused as before, and a hidden measurement changes no digit."""
    arrays = curve_arrays(3, 30, 19, missing=0.0)
    hit = (arrays["platform_index"] == FAR[0]) & (arrays["workload_index"] == PROGRAM)
    absurd = arrays | {
        "t1_s": np.where(hit, 1e100, arrays["t1_s"]),
        "curve_time_s": np.where(np.repeat(hit, 5), 1e100, arrays["curve_time_s"]),
    }
    having = (*LATER, PROGRAM)
    answers = []
    for columns in (arrays, absurd):
        complete = Database.build(**columns)
        database = part_of(
            complete, ([HOME], (PROGRAM, *KIT)), (BOTH, (*KIT, *FLEET)), (EARLIER, (*FLEET, *LATER)), (FAR, LATER),
            ([FAR[0]], having),
        )  # fmt: skip
        with pytest.raises(NothingShared):
            predict(database, PROGRAM, FAR[0])
        answers.append(predict(database.without(FAR[0], PROGRAM), PROGRAM, FAR[0]))
    assert np.array_equal(answers[0].time_s, answers[1].time_s)
    assert np.array_equal(answers[0].high_s, answers[1].high_s)
    assert np.array_equal(answers[0].time_s, predict(islands(complete), PROGRAM, FAR[0]).time_s)


def test_hidden_profiles_of_the_machines_between_are_not_used(complete):
    database = islands(complete)
    hidden = database.without(BOTH[0], np.array(KIT))
    rebuilt = islands(complete.part(np.flatnonzero(~hidden_pairs(complete, [BOTH[0]], KIT))))
    assert np.array_equal(predict(hidden, PROGRAM, FAR[0]).time_s, predict(rebuilt, PROGRAM, FAR[0]).time_s)
    assert not np.array_equal(predict(hidden, PROGRAM, FAR[0]).time_s, predict(database, PROGRAM, FAR[0]).time_s)


def hidden_pairs(database, machines, workloads):
    return np.isin(database.platform_index, machines) & np.isin(database.workload_index, workloads)


def test_the_work_is_bounded():
    """Sixteen workloads are predicted in each of two rounds, on at most four references."""
    complete = curve_database(3, 40, 60, missing=0.0)
    of_fleet, later = np.arange(10, 30), np.arange(30, 60)
    database = part_of(
        complete,
        (range(6), (0, 1)),
        (range(6, 8), (1, *of_fleet)),
        (range(8, 20), (*of_fleet, *later)),
        (range(20, 40), later),
    )
    connects = connection(database, 0, 0)
    assert connects.references.tolist() == [0, 1, 2, 3]
    assert [len(workloads) for workloads in connects.rounds] == [MOST_CONNECTING_WORKLOADS, MOST_CONNECTING_WORKLOADS]
    assert np.flatnonzero(connects.reached).tolist() == list(range(8, 40))
    asked = []

    def counted(view, query, settings):
        asked.append(query)
        return MPET.predict.args[0](view, query, settings)

    two_steps.connected_database(counted, database, connects, MPET.settings())
    two_steps.connected_database(counted, database, connects, MPET.settings())
    assert len(asked) == MOST_FIRST_REFERENCES * 2 * MOST_CONNECTING_WORKLOADS


def test_workloads_of_many_machines_are_chosen_and_each_machine_gets_one(complete):
    """Two machines have a workload of their own, which is worth less than those of all others."""
    own = (FLEET[0], range(20, 22))
    database = part_of(
        complete, ([HOME], (PROGRAM, *KIT)), (BOTH, (*KIT, *FLEET)), (EARLIER, FLEET[1:]), (own[1], own[:1])
    )
    connects = connection(database, PROGRAM, 0)
    assert len(connects.rounds) == 1
    assert connects.rounds[0].tolist() == list(FLEET)
    assert connects.reached[20:22].all()


def test_simulated_profiles_of_the_same_workloads_change_no_digit(complete):
    database = islands(complete)
    simulated = part_of(complete, ([HOME, 1, 2], (*KIT, *FLEET, *LATER)))
    lengths = np.concatenate([np.diff(database.curve_offsets), np.diff(simulated.curve_offsets)])
    columns = ("platform_index", "workload_index", "features", "t1_s", "curve_n")
    both = rebuilt(
        database,
        **{name: np.concatenate([getattr(database, name), getattr(simulated, name)]) for name in columns},
        groups=(TIME_ONLY._replace(origin="simulated"), TIME_ONLY),
        group=np.repeat([1, 0], [len(database), len(simulated)]),
        curve_offsets=np.append(0, np.cumsum(lengths)),
        curve_time_s=np.append(database.curve_time_s, 10.0 * simulated.curve_time_s),
        **dict.fromkeys(("standard_error", "run_deviation", "disturbed_share")),
    )
    for target in (EARLIER[0], FAR[0]):
        answer, expected = predict(both, PROGRAM, target), predict(database, PROGRAM, target)
        assert np.array_equal(answer.time_s, expected.time_s)
        assert np.array_equal(answer.high_s, expected.high_s)
