"""papers/003, Section 4.3: learning curves, and the surfaces they are made on."""

import numpy as np
import pytest

from predictor.scaling_models.base import TooFewPoints
from predictor.scaling_models.memory_wall import memory_wall_speedup
from research.scaling.studies.clocks import (
    LEARNERS,
    Surface,
    learning_curves,
    means_over_surfaces,
    measured_surface,
    published_surfaces,
)
from research.scaling.studies.workloads import MeasuredWorkload, measured_workloads
from tests.predictor.scaling_models import papers
from tests.research.scaling.studies.kit import clock_runs, sweep
from tests.samples import sample_runs

N, RATIO = (axis.ravel() for axis in np.meshgrid(np.arange(1.0, 13.0), [0.5, 0.75, 1.0, 1.25]))
WALL = Surface("wall", np.stack([N, RATIO], axis=1), memory_wall_speedup(N, RATIO, [0.99, 2.0, 0.1, 0.2]))


def test_published_surfaces_are_table_1_with_its_errors():
    surfaces = published_surfaces()
    assert [surface.name for surface in surfaces] == list(papers.MEMORY_WALL)
    for surface, mse in zip(surfaces, (0.0021, 0.0931), strict=False):
        assert surface.X.shape == (24 * 14, 2)
        clean = memory_wall_speedup(*surface.X.T, papers.MEMORY_WALL[surface.name])
        assert ((surface.speedup - clean) ** 2).mean() == pytest.approx(mse, rel=0.3)
    again, other = published_surfaces()[0], published_surfaces(seed=1)[0]
    assert (surfaces[0].speedup == again.speedup).all()
    assert (surfaces[0].speedup != other.speedup).any()


@pytest.mark.lab
def test_the_wall_is_learned_from_few_points_where_others_need_many():
    """The paper's finding: the model needs about one order of magnitude fewer measurements."""
    curves = list(learning_curves([WALL], repeats=3))
    assert [curve["points"] for curve in curves] == [4, 8, 16, 32]
    at_16 = curves[2]["mse"]
    assert set(at_16) == set(LEARNERS)
    assert at_16["memory_wall"] < min(at_16[name] for name in LEARNERS if name != "memory_wall")
    assert curves[3]["mse"]["kernel_ridge"] < curves[0]["mse"]["kernel_ridge"]


def test_amdahls_law_is_recovered():
    speedup = 1 / (0.1 + 0.9 / N)
    asked = np.array([[24.0, 1.0]])
    said = LEARNERS["amdahl"](WALL.X, speedup, asked, 0)
    assert said == pytest.approx([1 / (0.1 + 0.9 / 24)], rel=1e-4)


def test_means_count_who_is_best():
    curves = [
        {"surface": "a", "points": 4, "mse": {"x": 1.0, "y": 2.0}},
        {"surface": "b", "points": 4, "mse": {"x": 3.0, "y": 2.0}},
    ]
    x, y = means_over_surfaces(curves)
    assert (x["mean"], x["deviation"], x["best_on"], x["surfaces"]) == (2, 1, 1, 2)
    assert (y["mean"], y["best_on"]) == (2, 1)


def test_measured_clocks():
    surface = measured_surface(measured_workloads(sweep())[2])
    assert set(surface.X[:, 1]) == {0.5, 0.75, 1.0}  # of base_mhz = 2000
    assert len(surface.speedup) == 12
    assert surface.speedup == pytest.approx(1 / (0.1 + 0.9 / surface.X[:, 0]), rel=0.01)


def test_thread_counts_alone_where_no_clock_was_held():
    runs = sample_runs(np.random.default_rng(0))
    surface = measured_surface(MeasuredWorkload("w", "box", "unknown", runs))
    assert set(surface.X[:, 1]) == {1}
    assert len(surface.speedup) == 11
    few = MeasuredWorkload("w", "box", "unknown", clock_runs().own, 10.0)
    with pytest.raises(TooFewPoints, match="needs 8 points; found 4"):
        measured_surface(few)
