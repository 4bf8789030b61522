import numpy as np
import pytest

from predictor.core.comparisons.documents import (
    compare_platforms,
    compare_workloads,
    pair_that_shares_most,
    positions_with_most_profiles,
)
from tests.predictor.core.comparisons.matrices import distance_matrix, workload_map
from tests.predictor.core.measured import database_of_times

# (platform, workload): t(1), t(2), t(4)
TIMES = {
    (0, 0): (8.0, 4.0, 2.0),
    (1, 0): (4.0, 2.0, 1.0),
    (0, 1): (3.0, 2.0, 2.5),
    (1, 1): (9.0, 8.0, 8.0),
    (2, 1): (6.0, 4.0, 4.0),
    (2, 2): (1.0, 1.0, 1.0),
}


def database(measured=TIMES, cores=(4, 1, np.nan)):
    features = np.random.default_rng(0).random((len(measured), 84))
    features[:, 0] = np.arange(len(measured))
    return database_of_times(
        measured,
        platforms=["p0", "p1", "p2"],
        workloads=["w0", "w1", "w2"],
        features=features,
        n_nu=[np.nan] * 3,
        n_ht=[np.nan] * 3,
        n_max=[4] * 3,
        platform_table={"physical_cores": cores},
        workload_table={"strategy": ["locks", "", "recursive"]},
        revision=7,
    )


def column(rows, *names):
    """Return the attributes of each row."""
    return [tuple(getattr(row, name) for name in names) for row in rows]


def test_platforms_are_compared_by_their_fastest_times_on_what_two_of_them_share():
    comparison = compare_platforms(database(), [0, 1, 2])
    assert column(comparison.workloads, "workload", "winner") == [("w0", "p1"), ("w1", "p0")]
    first, second = comparison.workloads
    assert column(first.platforms, "speed") == [(1.0,), (2.0,)]
    assert column(second.platforms, "platform", "fastest_s", "fastest_n") == [
        ("p0", 2.0, 2),
        ("p1", 8.0, 2),
        ("p2", 4.0, 2),
    ]
    assert column(comparison.platforms, "platform", "wins") == [("p0", 1), ("p1", 1), ("p2", 0)]
    assert comparison.platforms[1].mean_speed == pytest.approx(np.sqrt(2 * 0.25))


def test_per_core_the_time_is_multiplied_by_the_cores_that_the_threads_take():
    comparison = compare_platforms(database(), [0, 1, 2])
    first, second = comparison.workloads
    assert column(first.platforms, "core_time_s") == [(2.0 * 4,), (1.0 * 1,)]
    assert first.platforms[1].speed_per_core == 8.0
    # 2 s on 2 cores, 8 s on 1; the cores of the third are unknown.
    assert (first.winner_per_core, second.winner_per_core) == ("p1", "p0")
    assert np.isnan(second.platforms[2].speed_per_core)
    assert column(comparison.platforms, "platform", "wins_per_core") == [("p0", 1), ("p1", 1), ("p2", 0)]
    assert comparison.platforms[1].mean_speed_per_core == pytest.approx(np.sqrt(8 * 0.5))
    assert np.isnan(comparison.platforms[2].mean_speed_per_core)


def test_at_equal_n_all_are_compared_at_the_largest_n_that_they_share():
    measured = {pair: TIMES[pair] for pair in ((0, 0), (0, 1))}
    measured |= {(1, 0): {1: 4.0, 2: 2.0, 8: 1.0}, (1, 1): {3: 9.0, 5: 8.0, 6: 8.0}}
    comparison = compare_platforms(database(measured), [0, 1])
    assert column(comparison.workloads, "equal_n", "winner_at_equal_n") == [(2, "p1"), (None, None)]
    both = comparison.workloads[0].platforms
    assert column(both, "equal_n_time_s", "speed_at_equal_n") == [(4.0, 1.0), (2.0, 2.0)]
    assert column(comparison.platforms, "wins_at_equal_n", "mean_speed_at_equal_n") == [(0, 1.0), (1, 2.0)]


def test_whole_machines_are_compared_only_where_both_were_measured_on_every_core():
    """Of p1's four cores w0 ran on one, so it says nothing of the whole machine; w1 on all: n = 4."""
    measured = {(0, 0): (8.0, 4.0, 2.0), (1, 0): (10.0,), (0, 1): (8.0, 4.0, 2.0), (1, 1): (4.0, 2.0, 1.0)}
    first, second = compare_platforms(database(measured, (4, 4, 4)), [0, 1]).workloads
    assert (first.winner, first.winner_per_core, first.equal_n, first.winner_at_equal_n) == (None, None, 1, "p0")
    partial, whole = first.on("p1"), second.on("p1")
    assert (partial.whole, partial.whole_n, partial.compared) == (False, 4, "equal_n")
    assert np.isnan([partial.speed, partial.speed_per_core]).all()
    assert partial.speed_at_equal_n == 0.8
    assert (whole.whole, whole.compared, whole.speed) == (True, "whole", 2.0)


def test_the_mean_speed_is_of_whole_machines_and_says_of_how_many():
    measured = {
        **{(0, 0): (8.0, 4.0, 2.0), (1, 0): (10.0,), (2, 0): (2.0, 1.0, 0.5)},
        **{(0, 1): (8.0, 4.0, 2.0), (1, 1): (4.0, 2.0, 1.0)},
        **{(1, 2): (1.0, 1.0, 1.0), (2, 2): (1.0, 1.0, 1.0)},
    }
    comparison = compare_platforms(database(measured, (4, 4, 4)), [0, 1, 2])
    first, second, third = comparison.platforms
    assert [second.compared_whole, second.compared_at_equal_n, second.left_out_not_on_first] == [1, 1, 1]
    assert second.mean_speed == 2.0  # not the geometric mean with 2 s on four cores over 10 s on one
    assert second.mean_speed_at_equal_n == pytest.approx(np.sqrt(2 * 0.8))
    assert (third.compared_whole, third.mean_speed, third.left_out_not_on_first) == (1, 4.0, 1)
    assert (first.compared_whole, first.wins, second.wins, third.wins) == (2, 0, 2, 1)


def test_without_a_common_n_what_is_not_of_whole_machines_is_left_out():
    comparison = compare_platforms(database({(0, 0): {2: 8.0, 4: 4.0}, (1, 0): (10.0,)}, (4, 4, 4)), [0, 1])
    assert comparison.workloads[0].on("p1").compared == "no_common_n"
    second = comparison.platforms[1]
    assert (second.compared_whole, second.compared_at_equal_n, second.left_out_no_common_n) == (0, 0, 1)
    assert np.isnan(second.mean_speed)


def test_a_machine_that_lends_a_program_less_than_its_cores_is_whole_with_those():
    measured = {(0, 0): {1: 8.0, 4: 4.0}, (1, 0): {1: 10.0, 4: 6.0}}
    whole = compare_platforms(database(measured, (64, 4, 4)), [0, 1]).workloads[0]  # n_max is 4
    assert column(whole.platforms, "compared") == [("whole",), ("whole",)]


def test_the_first_platform_is_what_speeds_are_relative_to():
    comparison = compare_platforms(database(), [1, 0])
    assert column(comparison.platforms, "platform") == [("p1",), ("p0",)]
    assert comparison.workloads[0].platforms[1].speed == 0.5
    without = next(one for one in compare_platforms(database(), [2, 0, 1]).workloads if one.workload == "w0")
    assert without.winner == "p1"
    assert all(np.isnan(profile.speed) for profile in without.platforms)


def test_workloads_on_one_platform_come_in_the_order_asked_for():
    comparison = compare_workloads(database(), 0, [1, 2, 0])
    assert comparison.platform == "p0"
    second, first = comparison.workloads
    assert (second.workload, first.workload) == ("w1", "w0")
    assert (first.n.tolist(), first.time_s.tolist()) == ([1, 2, 4], [8.0, 4.0, 2.0])
    assert first.characteristics["redundancy.m"] == pytest.approx(100 * 0)
    assert second.characteristics["redundancy.m"] == pytest.approx(100 * 2)


def test_the_matrix_and_the_map_hold_every_workload_and_say_their_revision():
    of = database()
    matrix, similarity_map = distance_matrix(of, "workloads"), workload_map(of)
    assert matrix["slugs"] == ["w0", "w1", "w2"]
    assert [(point["workload"], point["strategy"]) for point in similarity_map["workloads"]] == [
        ("w0", "locks"),
        ("w1", "unknown"),
        ("w2", "recursive"),
    ]
    assert matrix["revision"] == similarity_map["revision"] == 7
    assert np.isnan(matrix["mean"][0, 2])


def test_what_has_no_distance_to_any_other_has_no_place_on_the_map():
    """w2 stands on a machine that has nothing else; the other two are as far apart as their distance is."""
    of = database({pair: TIMES[pair] for pair in ((0, 0), (0, 1), (2, 2))})
    points = [(point["x"], point["y"]) for point in workload_map(of)["workloads"]]
    assert np.isnan(points[2]).all()
    distance = distance_matrix(of, "workloads")["mean"][0, 1]
    assert np.hypot(*np.subtract(points[0], points[1])) == pytest.approx(distance)
    alone = database({pair: TIMES[pair] for pair in ((0, 0), (2, 2))})
    assert all(np.isnan([point["x"], point["y"]]).all() for point in workload_map(alone)["workloads"])


def test_where_there_are_many_those_with_the_most_profiles_are_taken():
    assert positions_with_most_profiles(database(), "workloads", 2) == [0, 1]
    assert pair_that_shares_most(database(), "workloads") == [1, 0]
