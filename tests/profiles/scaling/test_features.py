"""The curve model: what is recovered, what is invalid, and that batches change nothing. The 84 elements, the fit error,
and that the mathematics needs no web framework."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.scaling.features import evaluate_curves, feature_fit, feature_fits, fit_curves
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, FEATURE_NAMES, RELATIVE_MEASURES
from profiles.scaling.runs import scaling_curves
from tests.paths import ROOT
from tests.profiles.scaling.datasets import read_runs
from tests.profiles.scaling.test_runs import decomposed
from tests.samples import runs_of, sample_counters, sample_runs

COUNTS = ((1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16), (1, 2, 4, 16), (1, 16), (1,), (2, 4, 8), (8,))
BREAKPOINTS = ((4, 8), (None, 8), (4, None), (None, None), (8, 8))


def sample_profiles(seed, size=12):
    """Profiles of all kinds, with their breakpoints."""
    rng = np.random.default_rng(seed)
    profiles, n_nu, n_ht = [], [], []
    for _ in range(size):
        counts = COUNTS[rng.integers(len(COUNTS))]
        runs = sample_runs(rng, counts=counts, repeats=2, decomposed=bool(rng.integers(2)))
        profiles.append(scaling_curves(runs, sample_counters(rng) if rng.integers(2) else None))
        nu, ht = BREAKPOINTS[rng.integers(len(BREAKPOINTS))]
        n_nu.append(nu)
        n_ht.append(ht)
    return profiles, n_nu, n_ht


def test_there_are_84_names_in_order_those_of_the_paper():
    assert (len(CURVE_NAMES), len(ELEMENTS), len(FEATURE_NAMES), len(set(FEATURE_NAMES))) == (14, 6, 84, 84)
    assert FEATURE_NAMES[0] == "redundancy.m"
    assert FEATURE_NAMES[4 * 6 + 3] == "task_distribution.b_nu"
    assert FEATURE_NAMES[-1] == "L1-LD/LLC-LDM.b_ht"
    ratios = ("BR/INSTR", "BR-M/BR", "BR-M/INSTR", "L1-LD/INSTR", "L1-STM/L1-ST", "LLC-LD/INSTR", "L1-LD/LLC-LDM")
    assert CURVE_NAMES[7:] == ratios
    assert all(name == "/".join(ratio) for name, ratio in RELATIVE_MEASURES.items())


def test_task_distribution_alone_follows_the_gaussian_sum():
    rows = []
    for n in (1, 2, 3, 4):
        share = n * (n + 1) / 2 * 10_000
        rows.append((n, 1_000_000, (int(n * share), 0, 0, int(n * share), 0, 0)))
    fit = feature_fit(scaling_curves(decomposed(*rows)), None, None)
    values = dict(zip(FEATURE_NAMES, fit.values, strict=True))
    assert values["task_distribution.m"] == pytest.approx(0.01)
    assert values["task_distribution.b"] == pytest.approx(0, abs=1e-12)
    assert values["lock_delay.m"] == pytest.approx(0.03)  # the best straight line through 1, 3, 6, 10
    assert fit.rms[CURVE_NAMES.index("task_distribution")] < 1e-12 < fit.rms[CURVE_NAMES.index("lock_delay")]


def test_a_decomposed_profile_on_the_model_is_rebuilt_exactly():
    """Redundancy and parts are straight lines here, so the fit is the curve and the times come back."""
    rows = [(n, 1_000_000, (0, n * n * 10_000, 0, 0, 0, 0)) for n in (1, 2, 4)]
    rows = [(n, time // n, tuple(part // n for part in parts)) for n, time, parts in rows]
    curves = scaling_curves(decomposed(*rows))
    np.testing.assert_allclose(curves.curve("work_imbalance"), curves.n * 0.01, rtol=1e-12)
    assert feature_fit(curves, None, None).fit_error < 1e-12


def test_the_fit_error_covers_what_can_be_rebuilt():
    """Profile pass at n = 1 and 2 only: the fitted curves still answer for n = 4."""
    rows = [(n, 1_000_000 // n, None) for n in (1, 2, 4)] + [(n, 1_000_000 // n, (0,) * 6) for n in (1, 2)]
    fit = feature_fit(scaling_curves(decomposed(*rows)), None, None)
    assert fit.values[1] == pytest.approx(1)
    assert fit.fit_error < 1e-12


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_batch_equals_one_by_one_and_an_invalid_curve_never_becomes_zero(seed):
    profiles, n_nu, n_ht = sample_profiles(seed)
    fits = feature_fits(profiles, n_nu, n_ht)
    for row, (curves, nu, ht) in enumerate(zip(profiles, n_nu, n_ht, strict=True)):
        alone = feature_fit(curves, nu, ht)
        np.testing.assert_array_equal(alone.values, fits.values[row])
        np.testing.assert_array_equal(alone.rms, fits.rms[row])
        np.testing.assert_array_equal(alone.fit_error, fits.fit_error[row])
        invalid = np.isnan(curves.values[1:]).all(axis=1) | curves.sequential
        assert np.isnan(alone.values.reshape(14, 6)).all(axis=1).tolist() == invalid.tolist()
        assert np.isnan(alone.rms[invalid]).all()


def test_no_profile_is_no_fit_and_lengths_must_agree():
    assert feature_fits([], [], []).values.shape == (0, 84)
    with pytest.raises(ValueError, match="zip"):
        feature_fits([scaling_curves(runs_of({1: [1.0]}))], [], [None])


def test_the_mathematics_and_the_reader_of_datasets_do_not_import_django():
    modules = "profiles.scaling.features, profiles.scaling.runs, profiles.measurements.datasets"
    code = f"import sys, {modules}; sys.exit(any(name.startswith('django') for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("folder", "profiles", "percent"),
    [("sparecores-gb6", 2864, 8.7), ("gbm", 59, 10.7), ("rrze-likwid", 32, 5.4)],
)
def test_the_models_floor_on_public_measurements(shared_data, folder, profiles, percent):
    """Mean relative error of t(n) rebuilt from the fit, known to a tenth of a percent from an earlier computation."""
    curves, n_nu, n_ht = read_runs(shared_data / folder)
    fits = feature_fits(curves, n_nu, n_ht)
    assert len(curves) == profiles
    assert 100 * fits.fit_error.mean() == pytest.approx(percent, abs=0.06)


NAN = np.nan
LINE, SUM = np.array([False]), np.array([True])


def fit(n, values, n_nu=None, n_ht=None, gaussian_sum=False):
    """One curve's parameters and residual."""
    params, rms = fit_curves(np.array(n), np.array([values], float), n_nu, n_ht, np.array([gaussian_sum]))
    return params[0], rms[0]


def valid(params):
    return (~np.isnan(params)).astype(int).tolist()


def model(params, n, n_nu, n_ht, gaussian_sum):
    """Eq. 5-7, written a second time and slowly."""

    def g(x):
        return x * (x + 1) / 2 if gaussian_sum else x

    m, b, m_nu, b_nu, m_ht, b_ht = params
    value = m * g(n) + b
    if n > n_nu:
        value += m_nu * g(n - n_nu) + b_nu
    if n > n_ht:
        value += m_ht * g(n - n_ht) + b_ht
    return value


@st.composite
def curves(draw):
    """Exact curves over thread counts with at least two n in each of the three segments."""
    n_nu = draw(st.integers(2, 60))
    n_ht = draw(st.integers(n_nu + 2, n_nu + 120))
    n_max = n_ht + draw(st.integers(2, 200))
    n = []
    for first, last in ((1, n_nu), (n_nu + 1, n_ht), (n_ht + 1, n_max)):
        n += sorted(draw(st.sets(st.integers(first, last), min_size=2, max_size=8)))
    params = draw(st.lists(st.floats(-10, 10).filter(lambda x: x == 0 or abs(x) > 1e-3), min_size=6, max_size=6))
    gaussian_sum = draw(st.booleans())
    return np.array(n), n_nu, n_ht, np.array(params), gaussian_sum


EFFECTS = {"both": [0, 1, 2, 3, 4, 5], "none": [0, 1], "NUMA": [0, 1, 2, 3], "SMT": [0, 1, 4, 5]}


@settings(deadline=None)
@given(curves(), st.sampled_from([*EFFECTS]))
def test_exact_curves_are_evaluated_by_the_formula_and_recovered(curve, effects):
    n, n_nu, n_ht, params, gaussian_sum = curve
    n_nu, n_ht = {"both": (n_nu, n_ht), "none": (None, None), "NUMA": (n_nu, None), "SMT": (None, n_nu)}[effects]
    exact = np.where(np.isin(np.arange(6), EFFECTS[effects]), params, NAN)
    every_n = np.arange(1, n[-1] + 1)
    values = np.array([model(np.nan_to_num(exact), x, n_nu or np.inf, n_ht or np.inf, gaussian_sum) for x in every_n])
    np.testing.assert_allclose(evaluate_curves(exact, every_n, n_nu, n_ht, gaussian_sum), values, rtol=1e-9, atol=1e-9)
    found, rms = fit(n, values[n - 1], n_nu, n_ht, gaussian_sum)
    scale = max(1.0, np.abs(values).max())
    np.testing.assert_allclose(found, exact, atol=1e-9 * scale)
    assert rms < 1e-10 * scale


def test_the_fit_agrees_with_a_general_solver():
    rng = np.random.default_rng(3)
    n = np.arange(1, 105)
    values = rng.normal(size=len(n)).cumsum()
    columns = [n, np.ones(104), np.maximum(n - 26, 0), n > 26, np.maximum(n - 52, 0), n > 52]
    expected = np.linalg.lstsq(np.column_stack(columns).astype(float), values, rcond=None)[0]
    np.testing.assert_allclose(fit(n, values, 26, 52)[0], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("n", "n_nu", "n_ht", "elements"),
    [
        ([1], 4, 8, [0, 0, 0, 0, 0, 0]),  # sequential
        ([8], None, None, [0, 1, 0, 0, 0, 0]),
        ([1, 2], 4, 8, [1, 1, 0, 0, 0, 0]),
        ([1, 16], 4, 8, [0, 1, 0, 0, 0, 1]),
        ([1, 16], None, None, [1, 1, 0, 0, 0, 0]),
        ([1, 6], 4, 8, [0, 1, 0, 1, 0, 0]),
        ([1, 4, 5], 4, 8, [1, 1, 0, 1, 0, 0]),  # n_nu itself belongs to the base
        ([1, 2, 8, 9], 4, 8, [1, 1, 0, 1, 0, 1]),  # n_ht itself does not belong to the hyperthreads
        ([1, 2, 5, 6, 12, 16], 4, 8, [1, 1, 1, 1, 1, 1]),
        ([1, 2, 9, 16], 8, 8, [1, 1, 0, 0, 1, 1]),  # no NUMA pair where both begin together
        ([1, 2, 9, 16], 8, None, [1, 1, 1, 1, 0, 0]),
        ([6, 7, 12], 4, 8, [0, 0, 1, 1, 0, 1]),  # a late start leaves the base undetermined
        ([1, 2, 6, 12], NAN, NAN, [1, 1, 0, 0, 0, 0]),
    ],
)
def test_a_segment_is_valid_as_far_as_it_was_measured(n, n_nu, n_ht, elements):
    values = 1.0 + np.array(n) ** 1.5
    for gaussian_sum in (False, True):
        params, rms = fit(n, values, n_nu, n_ht, gaussian_sum)
        assert valid(params) == elements
        assert np.isnan(rms) == (not any(elements))
        if any(elements):
            again = evaluate_curves(params, n, n_nu, n_ht, gaussian_sum)
            assert rms == pytest.approx(np.sqrt(np.mean((again - values) ** 2)), abs=1e-12)


def test_a_curve_is_fitted_on_its_own_thread_counts():
    n = np.array([1, 2, 3, 4, 6, 8])
    values = np.array([2.0 * n, [1, NAN, 5, NAN, NAN, NAN], [NAN, NAN, 7, NAN, NAN, NAN], [NAN] * 6, [3, *[NAN] * 5]])
    params, rms = fit_curves(n, values, None, 4, np.zeros(5, bool))
    assert [valid(row) for row in params] == [
        [1, 1, 0, 0, 1, 1],
        [1, 1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0] * 6,
        [0, 1, 0, 0, 0, 0],
    ]
    np.testing.assert_allclose(params[1, :2], [2, -1], rtol=1e-13)
    assert params[2, 1] == pytest.approx(7)
    assert np.isnan(rms).tolist() == [False, False, False, True, False]


def test_an_invalid_curve_evaluates_to_invalid():
    assert np.isnan(evaluate_curves(np.full(6, NAN), [1, 4, 9], 2, 8, False)).all()
    late = np.array([NAN, NAN, 1.0, 5.0, NAN, NAN])  # measured beyond n_nu alone
    np.testing.assert_array_equal(evaluate_curves(late, [1, 2, 3, 9], 2, 8, False), [NAN, NAN, 6, 12])


def test_evaluation_ignores_effects_the_platform_lacks():
    params = np.array([1.0, 2.0, 100.0, 100.0, 100.0, 100.0])
    assert evaluate_curves(params, [1, 50], None, NAN, False).tolist() == [3, 52]
    assert evaluate_curves(params, [9], 8, 8, False).tolist() == [11 + 200]


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="2 thread counts"):
        fit_curves(np.array([1, 2]), np.zeros((1, 3)), None, None, LINE)
    with pytest.raises(ValueError, match="curves"):
        fit_curves(np.array([1, 2]), np.zeros((2, 2)), None, None, SUM)
    with pytest.raises(ValueError, match="parameters"):
        evaluate_curves(np.zeros((2, 5)), [1], None, None, np.zeros(2, bool))


def test_every_curve_may_have_breakpoints_of_its_own():
    rng = np.random.default_rng(5)
    params = np.where(rng.random((4, 3, 6)) < 0.2, NAN, rng.normal(size=(4, 3, 6)))
    n, gaussian_sum = [1, 2, 5, 9], rng.random((4, 3)) < 0.5
    n_nu, n_ht = np.array([NAN, 2.0, 4.0, 3.0]), np.array([4.0, 6.0, 4.0, NAN])
    together = evaluate_curves(params, n, n_nu[:, None], n_ht[:, None], gaussian_sum)
    for row in range(4):
        alone = evaluate_curves(params[row], n, n_nu[row], n_ht[row], gaussian_sum[row])
        np.testing.assert_array_equal(together[row], alone)
