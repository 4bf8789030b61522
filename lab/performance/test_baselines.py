"""Cost of a prediction of each baseline, compared with mpet2020: `pytest lab/performance --benchmark-enable`.

One database has the size of the paper's, the other that of a public dataset. Compare ratios within a run, not seconds.
"""

import numpy as np
import pytest

from lab.performance.conftest import sized
from predictor.core.baselines.log_times import log_times
from predictor.core.database import Database
from predictor.core.evaluate import Protocol, evaluate
from predictor.core.methods import METHODS, Query
from tests.predictor.core.databases import TIME_ONLY, random_arrays

NAMES = ["mpet2020", *(name for name, method in METHODS.items() if method.baseline)]
SHAPES = {"paper": sized((15, 17), (8, 6)), "large": sized((180, 50), (24, 12))}
LEFT_OUT = sized(100, 10)


def database_of(shape):
    arrays = random_arrays(1, *shape, missing=0.0, invalid=0.0, groups=(TIME_ONLY,))
    clocks = np.linspace(1000.0, 4000.0, shape[0])
    return Database.build(**arrays | {"platform_table": arrays["platform_table"] | {"base_mhz": clocks}})


@pytest.fixture(scope="module", params=SHAPES)
def database(request):
    return database_of(SHAPES[request.param])


@pytest.mark.benchmark(group="one prediction")
@pytest.mark.parametrize("name", NAMES)
def test_one_prediction(benchmark, database, name):
    method = METHODS[name]
    view = database.without(5, 3)
    query = Query(3, 5, n=(1, 2, 4))
    log_times(view, query)  # shared by all baselines of an evaluation
    answer = benchmark.pedantic(method.predict, (view, query, method.settings()), rounds=5, warmup_rounds=1)
    assert np.isfinite(answer.t1_s)


@pytest.mark.benchmark(group="what baselines share")
def test_reading_the_log_times(benchmark, database):
    query = Query(3, 5, n=(1, 2, 4))
    logs = benchmark.pedantic(lambda: log_times(database.without(5, 3), query), rounds=5, warmup_rounds=1)
    assert len(logs.platforms) == len(database.platforms) - 1


@pytest.mark.benchmark(group="leave one out")
@pytest.mark.parametrize("name", ["mpet2020", "ridge"])
def test_leaving_out_100(benchmark, database, name):
    evaluation = benchmark.pedantic(evaluate, (database, [METHODS[name]], Protocol(sample=LEFT_OUT)), rounds=2)
    assert len(evaluation.outcomes[name]) == LEFT_OUT
