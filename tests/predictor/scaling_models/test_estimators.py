"""Every registered model is an estimator as scikit-learn means it, and refuses what it cannot read by name and row.

scikit-learn's checks that feed arbitrary numbers, several targets or sparse matrices do not apply: X is thread counts
(at least 1), sizes and clock ratios, and t is times above 0.
"""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from predictor.scaling_models import SCALING_MODEL_NAMES
from predictor.scaling_models.memory_wall import memory_wall_speedup
from predictor.scaling_models.points import PointsError
from predictor.scaling_models.registry import SCALING_MODELS, describe_model
from tests.paths import ROOT

CHECKS = (
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
)


def points(name):
    """A frame, times and further measures that every model can be fitted to."""
    n, size = (axis.ravel() for axis in np.meshgrid([1, 2, 3, 4, 6, 8.0], [2, 3, 4, 6, 8.0]))
    fixed = {"parallel_penalty", "automatic", "amdahl", "usl", "mpet_curve", "growth", "memory_wall"}
    if name in fixed:
        n, size = np.array([1, 2, 3, 4, 5, 6, 7, 8.0]), np.ones(8)
    t = size**2 * (0.9 / n + 0.1)
    if name == "gustafson":
        t = 0.5 + size / n
    if name == "memory_wall":
        t = 1 / memory_wall_speedup(n, np.ones(8), [0.9, 1, 0.1, 0.2])
    frame = pd.DataFrame({"label": "x", "size": size, "n": n, "clock_ratio": 1.0})
    further = {}
    if name == "task_graph":
        parts = {"work_s": n * t * 0.9, "delay_s": n * t * 0.05, "no_work_s": n * t * 0.05}
        further = {"measures": parts | {"tasks": size, "waits": size}}
    return frame, t, further


def test_the_names_are_those_of_the_register_in_its_order():
    assert tuple(SCALING_MODELS) == SCALING_MODEL_NAMES


@pytest.mark.parametrize("name", SCALING_MODELS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_scikit_learns_checks(name, check):
    check(name, SCALING_MODELS[name]())


@pytest.mark.parametrize("name", SCALING_MODELS)
def test_fit_learns_and_predict_answers(name):
    frame, t, further = points(name)
    model = SCALING_MODELS[name]()
    with pytest.raises(NotFittedError):
        model.predict(frame)
    before = frame.copy(), t.copy()
    assert model.fit(frame, t, **further) is model
    said = model.predict(frame)
    assert said.shape == t.shape
    assert np.median(np.abs(said / t - 1)) < 0.1
    assert frame.equals(before[0])
    assert (t == before[1]).all()
    learned = model.parameters()
    assert learned or name == "parallel_penalty"
    assert all(isinstance(value, float) for value in learned.values())
    assert model.score(frame, t) > 0.9


@pytest.mark.parametrize("name", SCALING_MODELS)
def test_columns_go_by_name_in_a_frame_and_by_place_in_an_array(name):
    frame, t, further = points(name)
    model = SCALING_MODELS[name]()
    columns = [*model.needed, *(column for column in model.optional if frame[column].nunique() > 1)]
    by_place = clone(model).fit(frame[columns].to_numpy(), t, **further).predict(frame[columns].to_numpy())
    assert clone(model).fit(frame, t, **further).predict(frame) == pytest.approx(by_place)
    assert clone(model).fit(frame, t, **further).n_features_in_ >= len(columns)


@pytest.mark.parametrize("name", [name for name in SCALING_MODELS if name != "parallel_penalty"])
def test_a_fitted_model_can_be_kept(name):
    """A parallel penalty holds functions; everything else pickles."""
    frame, t, further = points(name)
    model = SCALING_MODELS[name]().fit(frame, t, **further)
    assert pickle.loads(pickle.dumps(model)).predict(frame) == pytest.approx(model.predict(frame))


@pytest.mark.parametrize("name", SCALING_MODELS)
def test_points_that_are_none_are_named(name):
    frame, t, further = points(name)
    at = np.arange(len(t))
    for X, times, reason in (
        (frame.drop(columns="n"), t, "n: required column"),
        (frame.assign(n=np.where(at == 2, 0, frame["n"])), t, "n, row 2: 0 is not a thread count"),
        (frame, np.where(at == 1, -1.0, t), "time_s, row 1: -1 is not a time above 0 s"),
        (frame, np.where(at == 0, np.nan, t), "time_s, row 0: nan is not a finite number"),
        (frame, t[1:], r"time_s: expected \d+ times"),
        (frame["n"].to_numpy(), t, "2 dimensions"),
        (np.ones((len(t), 9)), t, "got 9 columns; the model reads"),
        (frame.assign(n="many"), t, "not numbers"),
    ):
        with pytest.raises(PointsError, match=reason):
            SCALING_MODELS[name]().fit(X, times, **further)


@pytest.mark.parametrize("name", SCALING_MODELS)
def test_descriptions(name):
    described = describe_model(name)
    assert described["summary"]
    assert described["source"]
    assert set(described["settings"]) == set(SCALING_MODELS[name]().get_params())


def test_no_django_is_imported():
    code = "import sys, predictor.scaling_models.registry; sys.exit('django' in sys.modules)"
    environment = {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=False).returncode == 0
