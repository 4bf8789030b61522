"""The ablation really changes what it says, in the method itself."""

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.mpet.method import MPET
from research.mpet_ablation import (
    CHANGED_FEW_REFERENCES,
    CHANGED_HYPERPARAMETERS,
    REFERENCE_LIMITS,
    ablation_methods,
)
from tests.predictor.core.curves import counted_database, curve_database

MANY_REFERENCES = [
    method for method in ablation_methods() if method.name.removeprefix("mpet: ") not in CHANGED_FEW_REFERENCES
]


@pytest.fixture(scope="module")
def database():
    return curve_database(4, 150, 14, noise=0.05, missing=0.0)


@pytest.fixture(scope="module")
def lacking(database):
    """T known by three workloads, and its relatives without A: something can be filled in."""
    metadata = database.platform_table
    alike = np.flatnonzero(np.array(metadata["microarchitecture"]) == metadata["microarchitecture"][3])
    return database.without(3, np.arange(3, 14)).without(alike, 5)


def times(method, database, query=None):
    query = query or Query(5, 3, n=(1, 4, 16))
    return method.predict(database, query, method.settings()).time_s


def test_every_change_is_a_method_of_its_own():
    names = [method.name for method in ablation_methods()]
    assert names == [f"mpet: {name}" for name in [*CHANGED_HYPERPARAMETERS, *CHANGED_FEW_REFERENCES, *REFERENCE_LIMITS]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", CHANGED_FEW_REFERENCES)
def test_of_few_references_every_change_changes_the_answer(name):
    """Where the counters of A tell what its times do not."""
    database, _ = counted_database()
    (method,) = [each for each in ablation_methods() if each.name == f"mpet: {name}"]
    assert not np.array_equal(times(method, database, Query(5, 1)), times(MPET, database, Query(5, 1)))


@pytest.mark.parametrize("method", MANY_REFERENCES, ids=lambda method: method.name)
def test_every_change_changes_the_answer(method, database, lacking):
    view = lacking if "filled" in method.name else database
    same = method.name == "mpet: filled in whatever it tells"  # here relatives tell so much that it is filled in anyway
    assert np.array_equal(times(method, view), times(MPET, view)) == same
    assert times(method, view) == pytest.approx(times(MPET, view), rel=0.5)
