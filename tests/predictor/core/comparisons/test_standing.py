"""How fast a platform is against the others."""

import numpy as np
import pytest

from predictor.core.comparisons.standing import standing_of
from predictor.core.database import Database, Group


@pytest.fixture
def database():
    """Three platforms; workload a and b are of one strategy, c has none and is on one platform alone."""
    times = {
        (0, 0): [8.0, 2.0],
        (1, 0): [4.0, 3.0],
        (2, 0): [9.0, 1.0],
        (0, 1): [5.0, 5.0],
        (1, 1): [6.0, 4.0],
        (0, 2): [7.0, 7.0],
    }
    pairs = sorted(times)
    return Database.build(
        platforms=("p", "q", "r"),
        workloads=("a", "b", "c"),
        platform_index=[platform for platform, _ in pairs],
        workload_index=[workload for _, workload in pairs],
        groups=(Group(False, "", "measured"),),
        group=[0] * len(pairs),
        features=np.ones((len(pairs), 84)),
        t1_s=[times[pair][0] for pair in pairs],
        n_nu=[np.nan] * 3,
        n_ht=[np.nan] * 3,
        n_max=[2] * 3,
        curve_offsets=np.arange(0, 2 * len(pairs) + 1, 2),
        curve_n=[1, 2] * len(pairs),
        curve_time_s=[time for pair in pairs for time in times[pair]],
        workload_table={"strategy": ("pipeline", "pipeline", "unknown"), "application": ("x", "x", "y")},
    )


def test_each_workload_counts_with_its_least_time_against_the_others_that_have_it(database):
    (group,) = standing_of(database, 0)
    # a: 2 s against 3 and 1, faster than half; b: 5 s against 4, faster than none
    assert (group.group, group.faster_than, group.workloads, group.platforms) == ("pipeline", 0.25, 2, 2)
    (best,) = standing_of(database, 2)
    assert (best.faster_than, best.percent) == (1.0, 100)


def test_a_platform_without_a_shared_workload_has_no_standing(database):
    assert standing_of(database.without(1, 0).without(2, 0).without(1, 1), 0) == []
