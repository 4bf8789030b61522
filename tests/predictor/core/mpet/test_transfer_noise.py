"""Noise of measurements widens the interval by what the weights carry of it, and moves no time."""

import numpy as np
import pytest

from predictor.core.database import Database
from predictor.core.methods import METHODS, Query
from predictor.core.mpet.kriging import gaussian_transfer
from predictor.core.mpet.method import evidence_with_parts
from predictor.core.mpet.transfer import widen_by_noise
from predictor.core.numerics import DISTURBANCE, carried_variance, squares_with_single_runs
from tests.predictor.core.curves import curve_arrays

SIZES = pytest.mark.parametrize("platforms", [2, 5, 12, 30])  # one for each way of transfer
MPET = METHODS["mpet"]
TARGET, WORKLOAD = 1, 2


def answer_with(arrays, level=0.9, **columns):
    database = Database.build(**arrays, **columns)
    method = MPET
    return method.predict(database, Query(WORKLOAD, TARGET), method.settings_from({"level": level}))


def half_widths(answer):
    return np.log(answer.high_s / answer.time_s)


@SIZES
@pytest.mark.parametrize("whose", ["workload", "target", "all"])
@pytest.mark.parametrize("column", ["standard_error", "disturbed_share"])
def test_noise_widens_the_interval_and_moves_no_time(platforms, whose, column):
    """The noise of A on the references, of the other workloads on T, of everything."""
    arrays = curve_arrays(3, platforms, missing=0.0)
    noisy = {
        "workload": arrays["workload_index"] == WORKLOAD,
        "target": arrays["platform_index"] == TARGET,
        "all": arrays["workload_index"] >= 0,
    }[whose]
    still = answer_with(arrays)
    little, much = (answer_with(arrays, **{column: scale * noisy}) for scale in (0.1, 0.5))
    for answer in (little, much):
        assert answer.time_s.tolist() == still.time_s.tolist()
    assert (half_widths(still) < half_widths(little)).all()
    assert (half_widths(little) < half_widths(much)).all()


@SIZES
def test_what_is_unknown_or_quiet_changes_nothing(platforms):
    arrays = curve_arrays(3, platforms, missing=0.0)
    still = answer_with(arrays)
    nothing = np.zeros(len(arrays["platform_index"]))
    for column in (nothing, nothing * np.nan):
        quiet = answer_with(arrays, standard_error=column, disturbed_share=column)
        assert quiet.high_s.tolist() == still.high_s.tolist()


@SIZES
@pytest.mark.parametrize("once", ["target", "workload", "all but one"])
def test_what_was_measured_once_is_as_noisy_as_what_was_repeated(platforms, once):
    """Everything repeated alike, with e = s: nothing changes when some of it was measured once; unknown, it narrows."""
    arrays = curve_arrays(3, platforms, missing=0.0)
    rows = np.arange(len(arrays["platform_index"]))
    is_once = {
        "target": (arrays["platform_index"] == TARGET) & (arrays["workload_index"] != 4),
        "workload": arrays["workload_index"] == WORKLOAD,
        "all but one": rows != np.flatnonzero(arrays["workload_index"] != WORKLOAD)[0],
    }[once]
    repeated = np.full(len(rows), 0.2)
    columns = {"standard_error": np.where(is_once, np.nan, 0.2), "run_deviation": np.where(is_once, np.nan, 0.2)}
    expected = answer_with(arrays, standard_error=repeated, run_deviation=repeated)
    answer = answer_with(arrays, **columns)
    assert answer.time_s.tolist() == expected.time_s.tolist()
    np.testing.assert_allclose(answer.high_s, expected.high_s, rtol=1e-9)
    unknown = answer_with(arrays, standard_error=columns["standard_error"])
    assert (half_widths(unknown) < half_widths(answer)).all()


def test_the_platform_itself_says_how_noisy_it_is_before_others_do():
    """e = s / 2; by hand: 0.1 and 0.3 on p (root mean square 0.2236), 0.5 on q; r was measured once."""
    s = np.array([[0.1, 0.3, np.nan], [0.5, np.nan, np.nan], [np.nan, np.nan, np.nan]])
    squares = squares_with_single_runs(s / 2, s)
    np.testing.assert_allclose(squares[0], [0.0025, 0.0225, 0.05])
    np.testing.assert_allclose(squares[1], [0.0625, 0.25, 0.25])
    np.testing.assert_allclose(squares[2], (0.01 + 0.09 + 0.25) / 3)


def test_the_measured_pair_itself_has_no_say():
    """Its noise belongs to what the method may not see."""
    arrays = curve_arrays(3, 12, missing=0.0)
    own = (arrays["workload_index"] == WORKLOAD) & (arrays["platform_index"] == TARGET)
    assert answer_with(arrays, standard_error=9.0 * own).high_s.tolist() == (answer_with(arrays).high_s.tolist())
    alone = {name: np.where(own, 9.0, np.nan) for name in ("standard_error", "run_deviation")}
    assert answer_with(arrays, **alone).high_s.tolist() == answer_with(arrays).high_s.tolist()


def test_one_reference_by_hand():
    """A is known to 10 % there and nothing else is noisy: half the interval grows as 1.645 standard errors do."""
    arrays = curve_arrays(3, 2, missing=0.0)
    noisy = answer_with(arrays, standard_error=0.1 * (arrays["workload_index"] == WORKLOAD))
    expected = np.hypot(half_widths(answer_with(arrays)), 1.6448536 * 0.1)
    np.testing.assert_allclose(half_widths(noisy), expected, rtol=1e-4)  # between knots interpolated


@pytest.mark.parametrize("column", ["standard_error", "disturbed_share"])
def test_of_many_references_only_what_the_target_is_noisier_counts(column):
    """44 references: the errors by which the interval is calibrated hold their noise."""
    arrays = curve_arrays(3, 45, missing=0.0)
    still, on_target = answer_with(arrays), arrays["platform_index"] == TARGET
    alike = answer_with(arrays, **{column: np.full(len(on_target), 0.5)})
    np.testing.assert_allclose(half_widths(alike), half_widths(still))
    little, much = (answer_with(arrays, **{column: np.where(on_target, own, 0.3)}) for own in (0.4, 0.8))
    assert (half_widths(still) < half_widths(little)).all()
    assert (half_widths(little) < half_widths(much)).all()
    assert much.time_s.tolist() == still.time_s.tolist()
    quieter = answer_with(arrays, **{column: np.where(on_target, 0.1, 0.3)})
    np.testing.assert_allclose(half_widths(quieter), half_widths(still))


@pytest.mark.parametrize("of_ratios", [0.0, 0.25, 1.0])
def test_of_many_references_the_noise_counts_by_hand(of_ratios):
    """All errors are 0.1, on T 0.2: V of the answer as far as ratios count, else (0.2^2 - 0.1^2) sum_b v_b^2."""
    arrays = curve_arrays(3, 45, missing=0.0)
    errors = np.where(arrays["platform_index"] == TARGET, 0.2, 0.1)
    database = Database.build(**arrays, standard_error=errors)
    evidence, parts = evidence_with_parts(database, Query(WORKLOAD, TARGET), MPET.settings())
    transfer = gaussian_transfer(evidence, parts, 0.9)
    u, v = transfer.platform_weights, transfer.workload_weights
    whole = 0.1**2 * (u**2).sum(axis=1) * (1.0 + (v**2).sum()) + 0.2**2 * (v**2).sum()
    variance = of_ratios * whole + (1.0 - of_ratios) * 0.03 * (v**2).sum()
    widened = widen_by_noise(evidence, transfer, 0.9, of_ratios)
    np.testing.assert_allclose(widened.half_width, np.hypot(transfer.half_width, 1.6448536 * np.sqrt(variance)))


def test_the_carried_variance_is_that_of_simulated_noise():
    """100,000 draws of independent noise, and of a common disturbance of T and one of A on each reference."""
    rng = np.random.default_rng(5)
    u, v = np.array([[0.7, 0.6, -0.3]]), np.array([0.5, 0.3, 0.2])
    errors, disturbed = 0.1 * rng.random((4, 4)), np.zeros((4, 4))
    errors[-1, -1] = 0  # (T,A), which nobody measured
    disturbed[:-1, -1], disturbed[-1, :-1] = [1, 0.5, 0], [1, 0, 0.5]
    draws = 100_000
    z = errors * rng.standard_normal((draws, 4, 4))
    z[:, :-1, -1] += DISTURBANCE * disturbed[:-1, -1] * rng.standard_normal((draws, 3))
    z[:, -1, :-1] += DISTURBANCE * disturbed[-1, :-1] * rng.standard_normal((draws, 1))
    carried = (z[:, :-1, -1] + (z[:, -1:, :-1] - z[:, :-1, :-1]) @ v) @ u[0]
    (variance,) = carried_variance(errors**2, disturbed, u, v)
    assert variance == pytest.approx(carried.var(), rel=0.02)
