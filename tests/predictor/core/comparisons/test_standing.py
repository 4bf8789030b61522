"""How fast a platform is against the others."""

import pytest

from predictor.core.comparisons.standing import standing_of
from tests.predictor.core.measured import database_of_times


@pytest.fixture
def database():
    """Three platforms; workloads w0 and w1 have the same strategy, w2 has none and is on one platform only."""
    times = {(0, 0): (8, 2), (1, 0): (4, 3), (2, 0): (9, 1), (0, 1): (5, 5), (1, 1): (6, 4), (0, 2): (7, 7)}
    table = {"strategy": ("pipeline", "pipeline", "unknown"), "application": ("x", "x", "y")}
    return database_of_times(times, (1, 2), workload_table=table)


def test_each_workload_counts_with_its_least_time_against_the_others_that_have_it(database):
    (group,) = standing_of(database, 0)
    # w0: 2 s against 3 and 1, faster than half; w1: 5 s against 4, faster than none
    assert (group.group, group.faster_than, group.workloads, group.platforms) == ("pipeline", 0.25, 2, 2)
    (best,) = standing_of(database, 2)
    assert (best.faster_than, best.percent) == (1.0, 100)


def test_a_platform_without_a_shared_workload_has_no_standing(database):
    assert standing_of(database.without(1, 0).without(2, 0).without(1, 1), 0) == []
