"""The mean of transfers; and their intervals, which hold what they promise where the truth is known."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictor.core.database import Database
from predictor.core.evaluate import Protocol, evaluate
from predictor.core.metadata import platform_metadata
from predictor.core.methods import Query, SettingsError
from predictor.core.mpet.gathering import gather_evidence
from predictor.core.mpet.kriging import gaussian_transfer
from predictor.core.mpet.method import evidence_with_parts
from predictor.core.mpet.transfer import Transfer, mean_transfer, stranger_variance, usual_departure, widen_by_noise
from predictor.core.numerics import (
    DISTURBANCE,
    carried_variance,
    conformal_factor,
    left_out_errors,
    squares_with_single_runs,
)
from tests.predictor.core.curves import curve_arrays, curve_database, database_of_times, scaled
from tests.predictor.core.mpet.asking import MPET, predict


def transfer(value, error, half_width=0.1):
    return Transfer(
        value=np.full(2, value),
        half_width=np.full(2, half_width),
        platform_weights=np.full((2, 3), 1 / 3),
        workload_weights=np.full(4, 0.25),
        platform_distance=np.full(3, 0.5),
        workload_distance=np.full(4, 0.5),
        errors_on_target=np.full((2, 4), error),
    )


@pytest.mark.parametrize(
    ("errors", "weight", "value"),
    [
        ((0.1, 0.3), 1.0, 1.25),
        ((0.0, 0.0), 1.0, 1.5),
        ((0.1, 0.3), 0.5, 1.4),  # inverse errors 10 and 10 / 3: with half the weight 5 to 10 / 3, a share of 0.6
    ],
)
def test_transfers_count_by_how_wrong_they_are_on_the_target(errors, weight, value):
    mean = mean_transfer(transfer(1.0, errors[0]), transfer(2.0, errors[1]), weight=weight)
    np.testing.assert_allclose(mean.value, value, rtol=1e-3)
    np.testing.assert_allclose(mean.platform_weights.sum(axis=1), 1.0)


def test_a_transfer_counts_less_by_the_variance_of_what_was_not_measured():
    """Errors 0.1 and sqrt(0.1^2 + 0.08) = 0.3."""
    mean = mean_transfer(transfer(1.0, 0.1), transfer(2.0, 0.1), more=np.array([0.0, 0.08]))
    np.testing.assert_allclose(mean.value, 1.25, rtol=1e-3)


def test_the_interval_of_a_mean_is_the_geometric_mean_of_its_parts():
    """Shares 3/4 and 1/4, widths 0.1 and 1.6: their geometric mean is 0.2."""
    mean = mean_transfer(transfer(1.0, 0.1), transfer(2.0, 0.3, half_width=1.6))
    np.testing.assert_allclose(mean.half_width, 0.2, rtol=1e-3)


def test_platforms_of_one_generation_are_nearer_on_paper():
    names = ["Zen2", "Zen3", "Sandy Bridge-EP", "granite rapids", "unheard of", ""]
    arrays = curve_arrays(1, 6, 4) | {"platform_table": {"microarchitecture": names}}
    vectors = platform_metadata(Database.build(**arrays)).vectors
    apart = ((vectors[:, None] - vectors) ** 2).sum(axis=2)
    assert apart[0, 1] < apart[0, 2] < apart[2, 3]
    assert np.isfinite(vectors).all()
    np.testing.assert_array_equal(vectors[4], vectors[5])  # unknown: like the median


# --- Where T has few workloads: what other machines' workloads say of its interval ---

MACHINES, PROGRAMS = 12, 20


def machines(sigma, known_on_target, rng):
    """Times of the programs on machines of random speed, from which each departs by `sigma`; the first machine has only
    so many of them, and the program that is asked for is known on the last one alone."""
    curves = {}
    work = rng.normal(size=PROGRAMS)
    for p in range(MACHINES):
        speed = rng.normal()
        for b in range(PROGRAMS):
            seconds = np.exp(work[b] + speed + sigma * rng.normal())
            if (p > 0 or b <= known_on_target) and (b > 0 or p in (0, MACHINES - 1)):
                curves[f"machine-{p:02}", f"program-{b:02}"] = {1: seconds}
    return database_of_times(curves, {f"machine-{p:02}": 1 for p in range(MACHINES)})


@pytest.mark.lab
@pytest.mark.parametrize(("sigma", "known"), [(0.4, 1), (0.05, 1), (0.05, 2), (0.4, 2)])
def test_with_one_workload_or_two_on_the_target_intervals_hold(sigma, known):
    rng = np.random.default_rng(7)
    inside, widths = [], []
    for _ in range(150):
        database = machines(sigma, known, rng)
        answer = predict(database, 0, 0, (1,))
        measured = database.curve(int(database.rows_of_platform(0)[0]))[1][0]
        inside.append(answer.low_s[0] <= measured <= answer.high_s[0])
        widths.append(np.log(answer.high_s[0] / answer.low_s[0]))
    assert 0.8 <= np.mean(inside) <= 0.98
    assert np.median(widths) == pytest.approx(2 * 1.645 * np.sqrt(2 + 2 / known) * sigma, rel=0.4)


def test_where_no_two_machines_have_workloads_enough_a_usual_departure_is_assumed():
    database = database_of_times({pair: {1: 1.0} for pair in product("pt", "ab")}, {"p": 1, "t": 1})
    assert usual_departure(gather_evidence(database, Query(0, 1)), 0.9) == 0.6


def test_the_target_tells_nothing_of_usual_departures():
    database = machines(0.3, 5, np.random.default_rng(3))
    evidence = gather_evidence(database, Query(0, 0))
    hidden = replace(evidence, database=database.without(0, np.arange(1, 4)))
    usual, of_others = (usual_departure(each, 0.9) for each in (evidence, hidden))
    assert usual == of_others


def test_applications_and_references_make_a_stranger_less_strange():
    def variance(applications, platforms):
        arrays = curve_arrays(3, platforms, 12, missing=0.0) | {"workload_table": {"application": applications}}
        return stranger_variance(gather_evidence(Database.build(**arrays), Query(0, 1)))

    two = ["a"] + 6 * ["b"] + 5 * ["c"]
    assert variance(two, 3) > variance(two, 10) > 0
    assert variance(["a"] + 11 * ["b"], 3) > variance(two, 3)
    assert variance(["b", *two[1:]], 3) == 0
    assert variance([f"own-{b:02}" for b in range(12)], 3) == 0


# --- Calibration ---


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
    found = left_out_errors(projection, projection @ np.ones((1, 2, 1)), np.array([4, 4]))
    assert all(np.isnan(values).all() for values in found)


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
    arrays = curve_arrays(23, 40, 14, noise=0.03, missing=0.0)
    arrays["platform_table"] = {"base_mhz": arrays["platform_table"]["base_mhz"]}  # no platform has a twin
    noisy = arrays["platform_index"] == 7
    factors = np.exp(0.3 * np.random.default_rng(3).normal(size=len(noisy)))[noisy]
    widths = []
    for database in (Database.build(**arrays), Database.build(**scaled(arrays, noisy, factors))):
        answers = [predict(database, w, 7) for w in range(0, 14, 2)]
        widths.append(np.median([np.median(a.high_s / a.low_s) for a in answers]))
    assert widths[1] > 1.1 * widths[0]


def test_intervals_are_around_the_prediction_and_wider_beyond_what_was_measured():
    answer = predict(curve_database(10, 30, 8), 2, 1, (1, 4, 16, 64))
    assert ((answer.low_s < answer.time_s) & (answer.time_s < answer.high_s)).all()
    ratio = np.log(answer.high_s / answer.low_s)
    assert ratio[3] > ratio[2] + 0.19 * np.log(4)


# --- Noise of measurements widens the interval by what the weights carry of it, and moves no time ---

SIZES = pytest.mark.parametrize("platforms", [2, 5, 12, 30])  # one for each way of transfer
TARGET, WORKLOAD = 1, 2


def answer_with(arrays, **columns):
    return predict(arrays | columns, WORKLOAD, TARGET)


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
    still, little, much = (answer_with(arrays, **{column: scale * noisy}) for scale in (0.0, 0.1, 0.5))
    assert little.time_s.tolist() == much.time_s.tolist() == still.time_s.tolist()
    assert (half_widths(still) < half_widths(little)).all()
    assert (half_widths(little) < half_widths(much)).all()


@SIZES
def test_what_is_unknown_or_quiet_changes_nothing(platforms):
    arrays = curve_arrays(3, platforms, missing=0.0)
    nothing = np.zeros(len(arrays["platform_index"]))
    columns = ({}, *({"standard_error": zero, "disturbed_share": zero} for zero in (nothing, nothing * np.nan)))
    still, quiet, unknown = (answer_with(arrays, **each).high_s.tolist() for each in columns)
    assert still == quiet == unknown


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
    repeated, known = np.full(len(rows), 0.2), np.where(is_once, np.nan, 0.2)
    expected = answer_with(arrays, standard_error=repeated, run_deviation=repeated)
    answer = answer_with(arrays, standard_error=known, run_deviation=known)
    assert answer.time_s.tolist() == expected.time_s.tolist()
    np.testing.assert_allclose(answer.high_s, expected.high_s, rtol=1e-9)
    assert (half_widths(answer_with(arrays, standard_error=known)) < half_widths(answer)).all()


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
    alone = np.where(own, 9.0, np.nan)
    columns = ({}, {"standard_error": 9.0 * own}, {"standard_error": alone, "run_deviation": alone})
    still, noisy, once = (answer_with(arrays, **each).high_s.tolist() for each in columns)
    assert still == noisy == once


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
    on_target = arrays["platform_index"] == TARGET
    still, alike, quieter, little, much = (
        answer_with(arrays, **{column: np.where(on_target, own, others)})
        for own, others in ((0.0, 0.0), (0.5, 0.5), (0.1, 0.3), (0.4, 0.3), (0.8, 0.3))
    )
    for unchanged in (alike, quieter):
        np.testing.assert_allclose(half_widths(unchanged), half_widths(still))
    assert (half_widths(still) < half_widths(little)).all()
    assert (half_widths(little) < half_widths(much)).all()
    assert much.time_s.tolist() == still.time_s.tolist()


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
