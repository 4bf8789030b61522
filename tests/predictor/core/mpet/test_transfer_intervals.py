"""Intervals hold what they promise: on exchangeable scores, and on databases whose truth is known."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictor.core.database import Database
from predictor.core.evaluate import Protocol, evaluate
from predictor.core.methods import METHODS, Query, SettingsError
from predictor.core.numerics import conformal_factor, left_out_errors
from tests.predictor.core.curves import COUNTS, curve_arrays, curve_database

MPET = METHODS["mpet"]


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
def test_the_factor_covers_another_score_of_the_same_kind(level):
    """Whatever the distribution; a Cauchy has no variance."""
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(4000):
        scores = np.abs(rng.standard_cauchy(61))
        covered.append(scores[-1] <= conformal_factor(scores[:-1], np.ones(60, dtype=bool), level, 60))
    assert level - 0.01 < np.mean(covered) < level + 0.04


def test_fewer_exchangeable_units_widen():
    scores = np.abs(np.random.default_rng(1).normal(size=(1, 100)))
    usable = np.ones(scores.shape, dtype=bool)
    factors = [conformal_factor(scores, usable, 0.9, units) for units in (100, 12, 6)]
    assert factors[0] < factors[1] < factors[2]


def test_nothing_to_calibrate_with_is_wide():
    """As of Student's t with two degrees of freedom, whose quantile at 95 % is 2.92."""
    scores, usable = np.full((3, 2), 0.1), np.ones((3, 2), dtype=bool)
    assert conformal_factor(scores, usable, 0.9, 2) == pytest.approx(2.92, abs=0.001)
    assert conformal_factor(scores, ~usable, 0.9, 20) == pytest.approx(2.92, abs=0.001)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
@settings(max_examples=30, deadline=None)
def test_left_out_errors_are_those_of_kriging_anew(seed, families):
    """Block deletion against ordinary kriging without the family, solved for each platform."""
    rng = np.random.default_rng(seed)
    R = 9
    F = rng.normal(size=(R, 12))
    K, y = F @ F.T / 12 + 0.1 * np.eye(R), rng.normal(size=R)
    of = np.arange(R) % families
    inverse = np.linalg.inv(K)
    rows = inverse.sum(axis=1)
    projection = inverse - np.outer(rows, rows) / rows.sum()
    errors, variances = left_out_errors(projection[None], (projection @ y)[None, :, None], of)
    for p in range(R):
        others = of != of[p]
        border = np.ones((others.sum() + 1, others.sum() + 1))
        border[:-1, :-1], border[-1, -1] = K[np.ix_(others, others)], 0.0
        to_p = np.append(K[others, p], 1.0)
        weights = np.linalg.solve(border, to_p)
        assert errors[0, p, 0] == pytest.approx(y[p] - weights[:-1] @ y[others], rel=1e-6, abs=1e-9)
        assert variances[0, p] == pytest.approx(K[p, p] - weights @ to_p, rel=1e-6)


def test_a_family_that_is_everybody_has_no_error():
    projection = np.array([[[2.0, -2.0], [-2.0, 2.0]]])
    errors, variances = left_out_errors(projection, projection @ np.ones((1, 2, 1)), np.array([4, 4]))
    assert np.isnan(errors).all()
    assert np.isnan(variances).all()


def unrelated(arrays):
    """The same without cpu models and microarchitectures: nobody is anybody's twin."""
    table = {name: column for name, column in arrays["platform_table"].items() if name == "base_mhz"}
    return arrays | {"platform_table": table}


HOLDOUTS = ("pair", "cpu_model", "microarchitecture")
SOME = {("pair", 48), ("cpu_model", 5), ("microarchitecture", 14)}


@pytest.mark.parametrize(
    ("holdout", "platforms"),
    [pytest.param(*one, marks=() if one in SOME else pytest.mark.lab) for one in product(HOLDOUTS, (5, 14, 48))],
)
def test_coverage_on_known_truth(holdout, platforms):
    """Of about 200 curves with independent noise nine of ten times lie inside; small databases may be wider."""
    database = curve_database(21, platforms, 14, noise=0.05)
    report = evaluate(database, [MPET], Protocol(holdout=holdout, sample=200)).report().methods[MPET.name]
    assert 0.84 <= report.coverage <= (0.97 if platforms == 48 else 1.0)


def test_level_is_a_setting():
    database = curve_database(22, 40, 14, noise=0.05)
    narrow, wide = (
        evaluate(database, [MPET], Protocol(sample=60), settings={"mpet": MPET.settings(level=level)})
        .report()
        .methods["mpet"]
        for level in (0.6, 0.9)
    )
    assert 0.5 < narrow.coverage < 0.75
    assert wide.interval_width > 1.5 * narrow.interval_width
    for level in (0.0, 0.4, 0.999, 1.0):
        with pytest.raises(SettingsError):
            MPET.settings(level=level)


def test_a_noisier_target_gets_wider_intervals():
    """Calibrated on how wrong the known workloads are predicted on this very target."""
    arrays = unrelated(curve_arrays(23, 40, 14, noise=0.03, missing=0.0))
    rng = np.random.default_rng(3)
    noisy = arrays["platform_index"] == 7
    factor = np.exp(np.where(noisy, 0.3 * rng.normal(size=len(noisy)), 0.0))
    changed = arrays | {
        "curve_time_s": arrays["curve_time_s"] * np.repeat(factor, len(COUNTS)),
        "t1_s": arrays["t1_s"] * factor,
    }
    widths = {}
    for name, one in (("calm", arrays), ("noisy", changed)):
        answers = [MPET.predict(Database.build(**one), Query(w, 7), MPET.settings()) for w in range(14)]
        widths[name] = np.median([np.median(a.high_s / a.low_s) for a in answers])
    assert widths["noisy"] > 1.1 * widths["calm"]


def test_intervals_are_around_the_prediction_and_wider_beyond_what_was_measured():
    database = curve_database(10, 30, 8)
    answer = MPET.predict(database, Query(2, 1, n=(1, 4, 16, 64)), MPET.settings())
    assert (answer.low_s < answer.time_s).all()
    assert (answer.time_s < answer.high_s).all()
    ratio = np.log(answer.high_s / answer.low_s)
    assert ratio[3] > ratio[2] + 0.19 * np.log(4)


def test_no_interval_where_there_is_no_time():
    database = curve_database(2, 30, 6, counts=(1,))
    answer = MPET.predict(database, Query(2, 1, n=(1, 4)), MPET.settings())
    assert np.isfinite([answer.low_s[0], answer.high_s[0]]).all()
    assert np.isnan([answer.low_s[1], answer.high_s[1]]).all()
