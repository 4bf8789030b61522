"""Cost of one prediction, overhead of the service over the method, and cost of reading a snapshot.

Compare ratios within a run, not seconds: pytest lab/performance/test_predictions.py --benchmark-enable
"""

from dataclasses import replace

import numpy as np
import pytest

from lab.performance.conftest import sized
from predictor.core.methods import Query, get_method
from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from predictor.snapshot.building import build_snapshot
from predictor.snapshot.cache import read_database
from profiles.models import Profile
from tests.predictor.conftest import store
from tests.predictor.stored import store_platforms, store_profiles, store_source, store_workloads
from tests.samples import sample_counters, sample_measurements

PLATFORMS, WORKLOADS = sized((15, 17), (4, 4))  # the size of the paper's database
MANY = sized((100, 60), (6, 5))
REQUEST = PredictionRequest("app0-section0", "machine-1")
ROUNDS = 30


@pytest.fixture
def papers_size(db):
    """Store every workload on every platform, with all 84 elements valid, and return the snapshot."""
    measurements = sample_measurements(PLATFORMS, WORKLOADS, counters=False)
    rng = np.random.default_rng(1)
    profiles = [
        replace(one, counters=sample_counters(rng, np.unique(one.runs.n).tolist())) for one in measurements.profiles
    ]
    store(replace(measurements, profiles=profiles))
    database = read_database()
    assert database.features.shape == (PLATFORMS * WORKLOADS, 84)
    assert np.isfinite(database.features).all()
    return database


def forget():
    Prediction.objects.all().delete()


@pytest.mark.benchmark(group="one prediction")
def test_the_method_alone(benchmark, papers_size):
    method = get_method("mpet2020")
    query = Query(papers_size.workloads.index("app0-section0"), papers_size.platforms.index("machine-1"))
    answer = benchmark.pedantic(method.predict, (papers_size, query, method.settings()), rounds=ROUNDS, warmup_rounds=1)
    assert np.isfinite(answer.time_s).all()


@pytest.mark.benchmark(group="one prediction")
def test_through_the_service_and_stored(benchmark, papers_size):
    prediction = benchmark.pedantic(predict, (REQUEST,), setup=forget, rounds=ROUNDS, warmup_rounds=1)
    assert Prediction.objects.get() == prediction


@pytest.mark.benchmark(group="one prediction")
def test_asked_again(benchmark, papers_size):
    first = predict(REQUEST)
    assert benchmark.pedantic(predict, (REQUEST,), rounds=ROUNDS, warmup_rounds=1) == first


@pytest.mark.benchmark(group="one prediction")
def test_over_the_api_in_process(benchmark, papers_size, client, django_user_model):
    client.force_login(django_user_model.objects.create_user("owner"))
    asked = {"workload": REQUEST.workload, "target": REQUEST.target}

    def post():
        return client.post("/api/v1/predictions/", asked, content_type="application/json")

    response = benchmark.pedantic(post, setup=forget, rounds=ROUNDS, warmup_rounds=1)
    assert response.status_code == 201
    assert response.json()["t1_s"] == Prediction.objects.get().answer["t1_s"]


@pytest.fixture
def many(db):
    """Store 6,000 profiles with 16 thread counts."""
    platforms = store_platforms([f"p{index:03}" for index in range(MANY[0])])
    workloads = store_workloads([f"w{index:02}" for index in range(MANY[1])])
    pairs = [(platform, workload) for platform in platforms for workload in workloads]
    store_profiles(store_source(), pairs, n=np.arange(1, 17, dtype=np.int32))


@pytest.mark.benchmark(group="reading 6,000 profiles")
def test_as_a_snapshot(benchmark, many):
    built = benchmark.pedantic(build_snapshot, (None, ("measured",)), rounds=5, warmup_rounds=1)
    assert built.database.features.shape == (MANY[0] * MANY[1], 84)


@pytest.mark.benchmark(group="reading 6,000 profiles")
def test_as_objects_with_their_arrays(benchmark, many):
    def read():
        rows = Profile.objects.select_related("curves", "feature_vector")
        return np.array([row.feature_vector.values for row in rows])

    assert benchmark.pedantic(read, rounds=5, warmup_rounds=1).shape == (MANY[0] * MANY[1], 84)
