"""papers/002 on programs whose parts are known: larger sizes on more threads, and better than direct regression."""

import numpy as np
import pytest

from predictor.scaling_models.points import PointsError
from predictor.scaling_models.task_graph import (
    TASK_MEASURES,
    TaskGraphModel,
    positive_fit,
)
from research.scaling.studies.tasks import DirectRegression


def program(size, p, seed=0, noise=0.0):
    """Like a parallel merge sort: n log n work that inflates, delay with the tasks, missing work with (p - 1)^2."""
    rng = np.random.default_rng(seed)
    x, p = (axis.ravel() for axis in np.meshgrid(size, p))
    tasks = x / 64
    parts = {
        "work_s": 2e-8 * x * np.log2(x) * (1 + 0.3 * (p - 1) / p),
        "delay_s": tasks * 1e-6 * (1 + 0.05 * (p - 1)),
        "no_work_s": (p - 1) ** 2 * 2e-10 * x,
    }
    parts = {name: value * rng.lognormal(0, noise, len(x)) for name, value in parts.items()}
    t = sum(parts.values()) / p
    return np.stack([p, x], axis=1), t, parts | {"tasks": tasks, "waits": tasks / 2}


TRAINED = program(2.0 ** np.arange(10, 21), np.arange(1.0, 9.0))
ASKED = program(2.0 ** np.arange(21, 25), np.arange(30.0, 37.0))  # Table 1b: larger, on more workers


def test_larger_sizes_on_more_threads():
    X, t, measures = TRAINED
    model = TaskGraphModel().fit(X, t, measures=measures)
    assert model.predict(ASKED[0]) == pytest.approx(ASKED[1], rel=0.1)
    there = model.predict_measures(ASKED[0])
    for name in ("work_s", "delay_s", "tasks"):
        assert there[name] == pytest.approx(ASKED[2][name], rel=0.1), name


def test_better_than_direct_regression_with_noise():
    """Section 5's comparison: the median error of the two-step model against one regression of the time."""
    X, t, measures = program(2.0 ** np.arange(10, 21), np.arange(1.0, 9.0), seed=1, noise=0.03)
    ours = TaskGraphModel().fit(X, t, measures=measures).predict(ASKED[0])
    direct = DirectRegression().fit(X, t).predict(ASKED[0])
    errors = [float(np.median(np.abs(said / ASKED[1] - 1))) for said in (ours, direct)]
    assert errors[0] < 0.2
    assert errors[0] < errors[1]


def test_coefficients_are_never_negative():
    X, t, measures = program(2.0 ** np.arange(10, 21), np.arange(1.0, 9.0), seed=2, noise=0.2)
    assert min(TaskGraphModel().fit(X, t, measures=measures).parameters().values()) >= 0
    assert positive_fit(np.array([[1.0], [2.0]]), np.array([-1.0, -2.0])).tolist() == [0.0]


@pytest.mark.parametrize("name", TASK_MEASURES)
def test_a_missing_or_broken_measure_is_named(name):
    X, t, measures = TRAINED
    with pytest.raises(PointsError, match=name):
        TaskGraphModel().fit(X, t, measures={k: v for k, v in measures.items() if k != name})
    with pytest.raises(PointsError, match=name):
        TaskGraphModel().fit(X, t, measures=measures | {name: -np.ones(len(t))})


def test_sizes_below_two_are_refused():
    X, t, measures = TRAINED
    with pytest.raises(PointsError, match="size, row 1: 1 is below 2"):
        TaskGraphModel().fit(X, t, measures=measures).predict([[1, 4], [1, 1]])
