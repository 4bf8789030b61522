"""Cost of a fit: each model on a curve of 26 points, the automatic choice with 48 companions, and the memory wall on
24 x 14 points. Compare ratios within a run: pytest lab/performance/test_scaling_models.py --benchmark-enable
"""

import numpy as np
import pytest

from predictor.scaling_models.automatic import AutomaticChoice
from predictor.scaling_models.base import prediction_interval
from predictor.scaling_models.companions import companions_from_curves
from predictor.scaling_models.extended_amdahl import ExtendedAmdahl
from predictor.scaling_models.memory_wall import MemoryWall, memory_wall_speedup
from predictor.scaling_models.registry import SCALING_MODELS
from predictor.scaling_models.task_graph import TaskGraphModel
from tests.predictor.scaling_models import papers
from tests.predictor.scaling_models.test_task_graph import program

N = np.arange(1.0, 53.0)
RNG = np.random.default_rng(0)
HALF = N[:26, None]


def curve(seed):
    rng = np.random.default_rng(seed)
    return (1 + rng.uniform(0, 0.1) * (N - 1) + 0.3 * np.maximum(N / 26 - 1, 0)) / N * rng.lognormal(0, 0.01, len(N))


@pytest.mark.benchmark(group="one fit of 26 points")
@pytest.mark.parametrize(
    "name", ["amdahl", "gustafson", "usl", "mpet_curve", "growth", "parallel_penalty", "automatic"]
)
def test_on_its_own(benchmark, name):
    settings = {"epsilon": 10.0} if name == "parallel_penalty" else {}
    t = curve(0)[:26]
    model = benchmark(lambda: SCALING_MODELS[name](**settings).fit(HALF, t))
    assert model.predict(HALF).shape == (26,)


@pytest.mark.benchmark(group="one fit of 26 points")
def test_automatic_with_companions(benchmark):
    """A fit with its prediction should take less than 5 ms."""
    kin = companions_from_curves([(N, curve(seed)) for seed in range(1, 49)])
    t = curve(0)[:26]
    said = benchmark(lambda: AutomaticChoice(26).fit(HALF, t, companions=kin).predict(N[26:, None]))
    assert np.median(np.abs(said / curve(0)[26:] - 1)) < 0.2


@pytest.mark.benchmark(group="memory wall")
def test_memory_wall_of_24_by_14_points(benchmark):
    """A fit should take well under a second."""
    n, ratio = (axis.ravel() for axis in np.meshgrid(np.arange(1.0, 25.0), papers.MEMORY_WALL_MHZ / 2133))
    t = 1 / memory_wall_speedup(n, ratio, papers.MEMORY_WALL["splash2x-radiosity"])
    X = np.stack([n, ratio], axis=1)
    model = benchmark.pedantic(lambda: MemoryWall(random_state=0).fit(X, t), rounds=5, warmup_rounds=1)
    assert model.mean_squared_error_ < 1e-4


@pytest.mark.benchmark(group="a stream of 1,000 points")
@pytest.mark.parametrize("how", ["partial_fit of each", "one fit of all"])
def test_extended_amdahl(benchmark, how):
    x, p = RNG.uniform(1, 1e6, 1000), RNG.choice([1.0, 2.0, 4.0, 8.0], 1000)
    X, t = np.stack([p, x], axis=1), 1e-9 * x**2 * (0.9 / p + 0.1)

    def stream():
        model = ExtendedAmdahl()
        for at in range(1000):
            model.partial_fit(X[at : at + 1], t[at : at + 1])
        return model

    model = benchmark.pedantic(stream if how != "one fit of all" else lambda: ExtendedAmdahl().fit(X, t), rounds=3)
    assert model.parallel_fraction_ == pytest.approx(0.9)


@pytest.mark.benchmark(group="task graph")
@pytest.mark.parametrize("how", ["fit", "interval"])
def test_task_graph(benchmark, how):
    """Fit 63 sizes on 8 workers, as in the paper's sort. An interval needs five more fits."""
    X, t, measures = program(2.0 ** np.linspace(13, 27, 63), np.arange(1.0, 9.0), noise=0.02)

    def run():
        model = TaskGraphModel().fit(X, t, measures=measures)
        return model.predict(X) if how == "fit" else prediction_interval(model, X, t, X, measures=measures)[1]

    assert np.isfinite(benchmark.pedantic(run, rounds=2)).all()
