"""Answers whose slow fields wait until somebody reads them."""

import copy
import gc
import weakref
from dataclasses import asdict, fields, replace

import numpy as np
import pytest

from predictor.core.answers import Answer, DeferredAnswer
from predictor.core.methods import METHODS, Query
from tests.predictor.core.curves import curve_database

TIMES = {"t1_s": 4.0, "n": np.array([1, 2]), "time_s": np.array([4.0, 2.0])}
NO_CANDIDATES = {"candidates_t1": [], "candidates_scaling": []}


def deferred(done):
    def field(name):
        return lambda answer: done.append(name) or [name, answer.t1_s]

    return DeferredAnswer({name: field(name) for name in ("features", "curves")}, **TIMES)


def test_a_field_is_worked_out_when_it_is_first_read_and_once():
    """What was not given is as in any answer."""
    done = []
    answer = deferred(done)
    assert answer.time_s is TIMES["time_s"]
    assert (answer.warnings, answer.low_s, answer.high_s, asdict(answer.confidence)) == ([], None, None, {})
    assert done == []
    assert answer.features == ["features", 4.0]
    assert answer.features is answer.features
    assert done == ["features"]
    with pytest.raises(AttributeError, match="'DeferredAnswer' object has no attribute 'time'"):
        _ = answer.time


def test_a_changed_copy_has_every_field():
    done = []
    known = DeferredAnswer({"curves": lambda answer: done.append("curves") or {}}, **TIMES, features=0, **NO_CANDIDATES)
    changed = replace(known, t1_s=5.0)
    assert done == ["curves"]
    assert (changed.t1_s, changed.curves, changed.features, changed.warnings) == (5.0, {}, 0, [])
    assert copy.copy(deferred(done)).features == ["features", 4.0]


def test_an_answer_goes_with_its_last_name_not_when_cycles_are_sought():
    gc.disable()
    try:
        answer = METHODS["mpet"].predict(curve_database(1, 9, 6), Query(3, 5), METHODS["mpet"].settings())
        assert {one.name for one in fields(Answer)} - set(vars(answer)) != set()
        assert answer.features.shape == (84,)
        gone = weakref.ref(answer)
        del answer
        assert gone() is None
    finally:
        gc.enable()
