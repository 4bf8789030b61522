"""papers/003: its 25 applications are recovered from their own surfaces, as measured points in Section 4.1."""

import numpy as np
import pytest

from predictor.scaling_models.amdahl import Amdahl
from predictor.scaling_models.base import TooFewPoints
from predictor.scaling_models.memory_wall import MemoryWall, memory_wall_speedup
from tests.predictor.scaling_models import papers

N, RATIO = (axis.ravel() for axis in np.meshgrid(np.arange(1.0, 25.0), papers.MEMORY_WALL_MHZ / 2133, indexing="ij"))
X = np.stack([N, RATIO], axis=1)


@pytest.mark.parametrize(
    "application",
    [pytest.param(name, marks=pytest.mark.lab if row % 5 else ()) for row, name in enumerate(papers.MEMORY_WALL)],
)
def test_table_1_is_recovered(application):
    """Mean squared error under 1e-4 of the surface's variance; seen: at most 5e-9."""
    speedup = memory_wall_speedup(N, RATIO, papers.MEMORY_WALL[application])
    model = MemoryWall(random_state=0).fit(X, 10.0 / speedup, sequential_s=np.full(len(N), 10.0))
    assert model.mean_squared_error_ < 1e-4 * speedup.var()
    assert ((model.predict_speedup(X) - speedup) ** 2).mean() == pytest.approx(model.mean_squared_error_)


def test_without_memory_it_is_amdahls_law():
    t = 3.0 * (0.1 + 0.9 / N)
    assert 3.0 / memory_wall_speedup(N, RATIO, [0.9, 5.0, 0.0, 0.0]) == pytest.approx(t)
    assert Amdahl().fit(N[:, None], t).parameters()["parallel_fraction"] == pytest.approx(0.9)


def test_the_sequential_time_of_an_unmeasured_clock():
    """Eq. 3: t(1) falls with the clock as far as it is not memory's."""
    truth = np.array([0.97, 1.7, 0.05, 0.3])
    t1 = 5.0 * (1 + truth[1] * RATIO * (truth[2] + truth[3])) / RATIO
    t = t1 / memory_wall_speedup(N, RATIO, truth)
    out = np.isclose(RATIO, 2000 / 2133)
    model = MemoryWall().fit(X[~out], t[~out])
    assert model.predict(X[out]) == pytest.approx(t[out], rel=0.02)


def test_the_same_seed_is_the_same_fit():
    t = 1.0 / memory_wall_speedup(N, RATIO, papers.MEMORY_WALL["parsec-x264"])
    first, again = (MemoryWall(random_state=3).fit(X, t).parameters_ for _ in range(2))
    assert (first == again).all()


def test_refusals():
    with pytest.raises(TooFewPoints, match="clock ratio 2"):
        MemoryWall().fit([[1, 1], [2, 1], [4, 1], [2, 2]], [4.0, 2.0, 1.0, 1.0])
    with pytest.raises(TooFewPoints, match="needs 4"):
        MemoryWall().fit([[1], [2]], [2.0, 1.0])
