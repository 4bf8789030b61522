"""Intervals: every registered model gives one, or says why not."""

import numpy as np
import pytest

from predictor.scaling_models.base import jackknife, prediction_interval
from predictor.scaling_models.memory_wall import MemoryWall, memory_wall_speedup
from predictor.scaling_models.parallel_penalty import ParallelPenalty
from predictor.scaling_models.registry import SCALING_MODELS
from predictor.scaling_models.smoothers import Polynomial
from predictor.scaling_models.task_graph import TaskGraphModel
from tests.predictor.scaling_models.test_estimators import points
from tests.predictor.scaling_models.test_task_graph import program


def fitted(name, noise=0.02):
    frame, t, further = points(name)
    t = t * np.random.default_rng(1).lognormal(0, noise, len(t))
    model = SCALING_MODELS[name]() if name != "parallel_penalty" else ParallelPenalty(epsilon=1.0)
    columns = [*model.needed, *(column for column in model.optional if frame[column].nunique() > 1)]
    return model.fit(frame[columns].to_numpy(), t, **further), frame[columns].to_numpy(), t, further


@pytest.mark.parametrize("name", SCALING_MODELS)
def test_every_model_has_an_interval_around_its_answer(name):
    model, X, t, further = fitted(name)
    new = X[-1:].copy()
    new[0, 0] = 12.0
    low, high, reason = jackknife(model, X, t, new, 0.9, **further)
    assert reason == ""
    assert (low < model.predict(new)).all()
    assert (model.predict(new) < high).all()
    wider = jackknife(model, X, t, new, 0.99, **further)
    assert (wider[0] < low).all()
    assert (wider[1] > high).all()


def test_what_was_measured_beside_the_times_is_left_out_with_its_points():
    """papers/002 beyond the sizes that were learned: most of what comes lies inside."""
    X, t, measures = program(2.0 ** np.arange(10, 19), np.arange(1.0, 5.0), noise=0.05)
    model = TaskGraphModel().fit(X, t, measures=measures)
    asked, actual, _ = program(2.0 ** np.arange(19, 22), np.arange(1.0, 5.0))
    low, high = prediction_interval(model, X, t, asked, 0.9, measures=measures)
    assert np.isfinite(low).all()
    assert ((low <= actual) & (actual <= high)).mean() > 0.7


def test_the_reference_stays_in_every_refit():
    """One point at n = 1: without it a memory wall and a penalty would refuse."""
    n = np.array([[1.0], [2.0], [3.0], [4.0], [6.0]])
    t = 10 / memory_wall_speedup(n[:, 0], np.ones(5), [0.95, 1.0, 0.1, 0.1])
    for model in (MemoryWall(), ParallelPenalty(penalty=Polynomial(1))):
        low, high, reason = jackknife(model.fit(n, t), n, t, [[8.0]])
        assert (reason, bool(low[0] <= high[0])) == ("", True)


@pytest.mark.parametrize(
    ("model", "n", "t", "reason"),
    [
        ("usl", [1, 2, 3], [3.0, 2.0, 1.5], "some of the points: Universal scalability law needs 3"),
        ("memory_wall", [1, 1, 2, 3], [3.0, 3.0, 2.0, 1.5], "needs 3 points that can be left out one at a time; found"),
    ],
)
def test_why_there_is_none(model, n, t, reason):
    X = np.array(n, dtype=float)[:, None]
    fit = SCALING_MODELS[model]().fit(X, t)
    low, high, said = jackknife(fit, X, t, [[4.0], [8.0]])
    assert reason in said
    assert np.isnan(low).all()
    assert np.isnan(high).all()
    with pytest.raises(ValueError, match=r"level 1\.0 is not between 0 and 1"):
        jackknife(fit, X, t, [[4.0]], 1.0)
