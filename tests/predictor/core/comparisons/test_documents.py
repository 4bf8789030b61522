import numpy as np
import pytest

from predictor.core.comparisons.documents import (
    compared_platforms,
    compared_workloads,
    distance_matrix,
    most_alike,
    with_most_profiles,
    workload_map,
)
from predictor.core.database import Database, Group

# (platform, workload): t(1), t(2), t(4)
TIMES = {
    (0, 0): (8.0, 4.0, 2.0),
    (1, 0): (4.0, 2.0, 1.0),
    (0, 1): (3.0, 2.0, 2.5),
    (1, 1): (9.0, 8.0, 8.0),
    (2, 1): (6.0, 4.0, 4.0),
    (2, 2): (1.0, 1.0, 1.0),
}


def database(measured=TIMES) -> Database:
    pairs = list(measured)
    features = np.random.default_rng(0).random((len(pairs), 84))
    features[:, 0] = np.arange(len(pairs))
    return Database.build(
        platforms=["p0", "p1", "p2"],
        workloads=["w0", "w1", "w2"],
        platform_index=[p for p, _ in pairs],
        workload_index=[w for _, w in pairs],
        groups=(Group(False, "", "measured"),),
        group=[0] * len(pairs),
        features=features,
        t1_s=[times[0] for times in measured.values()],
        n_nu=[np.nan] * 3,
        n_ht=[np.nan] * 3,
        n_max=[4] * 3,
        curve_offsets=np.arange(len(pairs) + 1) * 3,
        curve_n=[1, 2, 4] * len(pairs),
        curve_time_s=np.concatenate(list(measured.values())),
        workload_table={"strategy": ["locks", "", "recursive"]},
        revision=7,
    )


def test_platforms_are_compared_by_their_fastest_times_on_what_two_of_them_share():
    found = compared_platforms(database(), [0, 1, 2])
    assert [one["workload"] for one in found["workloads"]] == ["w0", "w1"]
    first, second = found["workloads"]
    assert (first["winner"], second["winner"]) == ("p1", "p0")
    assert [one["speed"] for one in first["platforms"]] == [1.0, 2.0]
    assert [(one["platform"], one["fastest_s"], one["fastest_n"]) for one in second["platforms"]] == [
        ("p0", 2.0, 2),
        ("p1", 8.0, 2),
        ("p2", 4.0, 2),
    ]
    summary = {one["platform"]: one for one in found["platforms"]}
    assert (summary["p0"]["wins"], summary["p1"]["wins"], summary["p2"]["wins"]) == (1, 1, 0)
    assert summary["p1"]["mean_speed"] == pytest.approx(np.sqrt(2 * 0.25))


def test_the_order_asked_for_decides_what_speeds_are_beside():
    found = compared_platforms(database(), [1, 0])
    assert [one["platform"] for one in found["platforms"]] == ["p1", "p0"]
    assert found["workloads"][0]["platforms"][1]["speed"] == 0.5


def test_without_the_first_platform_there_is_no_speed_and_still_a_winner():
    only = next(one for one in compared_platforms(database(), [2, 0, 1])["workloads"] if one["workload"] == "w0")
    assert only["winner"] == "p1"
    assert all(np.isnan(one["speed"]) for one in only["platforms"])


def test_workloads_on_one_platform_come_in_the_order_asked_for():
    found = compared_workloads(database(), 0, [1, 2, 0])
    assert found["platform"] == "p0"
    assert [one["workload"] for one in found["workloads"]] == ["w1", "w0"]
    assert found["workloads"][1]["curve"] == [{"n": 1, "time_s": 8.0}, {"n": 2, "time_s": 4.0}, {"n": 4, "time_s": 2.0}]
    row = list(TIMES).index((0, 0))
    expected = database().features[sorted(TIMES).index((0, 0))]
    assert found["workloads"][1]["characteristics"]["redundancy.m"] == pytest.approx(100 * expected[0])
    assert expected[0] == row


def test_the_matrix_and_the_map_hold_every_workload_and_say_their_revision():
    of = database()
    matrix, places = distance_matrix(of, "workloads"), workload_map(of)
    assert matrix["slugs"] == [one["workload"] for one in places["workloads"]] == ["w0", "w1", "w2"]
    assert matrix["revision"] == places["revision"] == 7
    assert np.isnan(matrix["mean"][0, 2])
    assert [one["strategy"] for one in places["workloads"]] == ["locks", "unknown", "recursive"]
    assert workload_map(of) is places


def test_what_has_no_distance_to_any_other_has_no_place_on_the_map():
    """w2 stands on a machine that has nothing else; the other two are as far apart as their distance is."""
    of = database({pair: TIMES[pair] for pair in ((0, 0), (0, 1), (2, 2))})
    places = [(one["x"], one["y"]) for one in workload_map(of)["workloads"]]
    assert np.isnan(places[2]).all()
    distance = distance_matrix(of, "workloads")["mean"][0, 1]
    assert np.hypot(*np.subtract(places[0], places[1])) == pytest.approx(distance)
    alone = database({(0, 0): TIMES[0, 0], (2, 2): TIMES[2, 2]})
    assert all(np.isnan([one["x"], one["y"]]).all() for one in workload_map(alone)["workloads"])


def test_where_there_are_many_those_with_the_most_profiles_are_taken():
    assert with_most_profiles(database(), "workloads", 2) == [0, 1]
    assert most_alike(database(), "workloads") == [1, 0]
