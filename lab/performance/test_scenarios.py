"""Cost of a changed scenario compared with a plain prediction, and of a ranking: compare ratios within a run.

pytest lab/performance/test_scenarios.py --benchmark-enable
"""

import pytest

from lab.performance.conftest import sized
from predictor.core.methods import Query
from predictor.core.scenarios import Scenario, ScenarioFacts, run_scenario
from predictor.core.scenarios.scenario import PlatformChanges, WorkloadChanges
from predictor.predictions.question import PredictionRequest
from predictor.predictions.rankings import rank_platforms
from predictor.predictions.service import preview_answer
from predictor.snapshot.cache import read_database
from tests.predictor.conftest import store
from tests.predictor.core.scenarios.answers import decomposed_database, in_scenario
from tests.samples import sample_measurements

PLATFORMS, WORKLOADS = sized((15, 26), (7, 6))  # the size of the demo
PAPERS = sized((15, 17), (4, 4))
SCENARIOS = {
    "migration": Scenario(),
    "sequential": Scenario("sequential"),
    "parallelisation": Scenario("parallelisation", "wavefront"),
    "virtual workload": Scenario(workload=WorkloadChanges.of({"lock_delay": 0.5, "work": 2})),
    "virtual platform": Scenario(platform=PlatformChanges.of({"n_ht": 6, "n_max": 64})),
}


@pytest.mark.benchmark(group="one answer among 15 platforms x 26 workloads")
@pytest.mark.parametrize("method", ["mpet", "mpet2020"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_one_answer(benchmark, method, scenario):
    database, _, counted = decomposed_database(platforms=PLATFORMS, workloads=WORKLOADS)
    query = in_scenario(Query(3, 5), method, SCENARIOS[scenario])
    found = benchmark(run_scenario, database, query, ScenarioFacts("memory", lambda: counted))
    assert found.t1_s > 0


@pytest.fixture
def papers_size(db):
    store(sample_measurements(*PAPERS))
    return read_database()


@pytest.mark.benchmark(group="through the service, 15 platforms x 17 workloads")
def test_a_preview_with_changes(benchmark, papers_size):
    request = PredictionRequest(
        "app0-section0", "machine-1", workload_changes={"lock_delay": 0.5}, platform_changes={"n_max": 32}
    )
    assert benchmark.pedantic(preview_answer, (request,), rounds=20, warmup_rounds=1)["changes"]


@pytest.mark.benchmark(group="through the service, 15 platforms x 17 workloads")
def test_a_ranking_computed(benchmark, papers_size):
    found = benchmark.pedantic(rank_platforms, ("app0-section0",), rounds=5, warmup_rounds=1)
    assert len(found.results) == PAPERS[0]
