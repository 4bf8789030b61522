"""trust 2: at how many thread counts there is an answer is for the code to say, not for a platform."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from predictor.core.answers import Query, answered_thread_counts
from predictor.core.database import Database
from predictor.core.methods import METHODS, get_method
from predictor.core.scenarios import Scenario, run_scenario
from predictor.core.scenarios.scenario import PlatformChanges
from tests.predictor.core.measured import database_of_times
from tests.predictor.core.scenarios.answers import in_scenario


@given(st.one_of(st.integers(1, 512), st.integers(1, 2**31 - 1)))
@example(513)
@example(2**20)
def test_at_most_512_from_one_to_all(n_max):
    """Every one where they are few, and all powers of two."""
    counts = answered_thread_counts(n_max)
    assert len(counts) <= 512
    assert (counts[0], counts[-1]) == (1, n_max)
    assert (np.diff(counts) > 0).all()
    if n_max <= 512:
        assert counts.tolist() == list(range(1, n_max + 1))
    if n_max <= 2**20:
        assert np.isin(2 ** np.arange(int(np.log2(n_max)) + 1), counts).all()


@pytest.fixture(scope="module")
def large() -> Database:
    """Three workloads on two machines of 2^20 threads, SMT beyond 2^19."""
    n = np.array([1, 2, 4, 8, 64, 1024, 2**20])
    times = {(p, w): (1 + p) * (1 + w) * (0.05 + 0.95 / n) for p in range(2) for w in range(3)}
    features = np.where(np.arange(84) < 2, 0.9, np.nan)[None].repeat(len(times), axis=0)
    clocks = {"base_mhz": [2000.0, 2400.0]}
    return database_of_times(times, n, features=features, n_ht=[2.0**19, 2.0**19], platform_table=clocks)


@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_answers_at_those(large, name):
    method = get_method(name)
    answer = method.predict(large, Query(0, 1), method.settings())
    assert answer.n.tolist() == answered_thread_counts(2**20).tolist()


@pytest.mark.parametrize("changes", [{"n_ht": 1000}, {"n_max": 4096}, {"n_max": 3, "n_ht": 2}], ids=str)
def test_a_changed_machine_too(large, changes):
    scenario = Scenario(platform=PlatformChanges.of(changes))
    answer = run_scenario(large, in_scenario(Query(0, 1), "mpet", scenario))
    assert len(answer.n) <= 512
    assert np.isfinite(answer.time_s).all()
    assert answer.baseline.n.tolist() == answered_thread_counts(2**20).tolist()
