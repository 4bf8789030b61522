"""Fixtures of the tests of snapshots: profiles that are stored without runs."""

import pytest

from tests.predictor.stored import store_platforms, store_profiles, store_source, store_workloads


@pytest.fixture
def grid(db):
    """Store two platforms and two workloads, not in the order of their slugs, with a public profile each."""
    platforms, workloads = store_platforms(["b", "a"]), store_workloads(["w2", "w1"])
    pairs = [(platform, workload) for platform in platforms for workload in workloads]
    return platforms, workloads, store_profiles(store_source(), pairs)
