"""The curve model: what is recovered, what is invalid, and that batches change nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.scaling.curves import evaluate_curves, fit_curves

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


@settings(deadline=None)
@given(curves())
def test_exact_curves_are_recovered(curve):
    n, n_nu, n_ht, params, gaussian_sum = curve
    values = [model(params, x, n_nu, n_ht, gaussian_sum) for x in n]
    found, rms = fit(n, values, n_nu, n_ht, gaussian_sum)
    scale = max(1.0, np.abs(values).max())
    np.testing.assert_allclose(found, params, atol=1e-9 * scale)
    assert rms < 1e-10 * scale


@settings(deadline=None)
@given(curves())
def test_evaluation_is_the_models_formula(curve):
    n, n_nu, n_ht, params, gaussian_sum = curve
    n = np.arange(1, n[-1] + 1)
    expected = [model(params, x, n_nu, n_ht, gaussian_sum) for x in n]
    np.testing.assert_allclose(evaluate_curves(params, n, n_nu, n_ht, gaussian_sum), expected, rtol=1e-9, atol=1e-9)


@settings(deadline=None)
@given(curves(), st.sampled_from([0, 1, 2]))
def test_exact_curves_are_recovered_without_the_other_segments(curve, segments):
    """One segment (no effect), two (hyperthreads or NUMA alone)."""
    n, n_nu, _, params, gaussian_sum = curve
    n_nu, n_ht = ((None, None), (n_nu, None), (None, n_nu))[segments]
    keep = [0, 1, *((), (2, 3), (4, 5))[segments]]
    exact = np.where(np.isin(np.arange(6), keep), params, 0.0)
    values = [model(exact, x, n_nu or np.inf, n_ht or np.inf, gaussian_sum) for x in n]
    found, _ = fit(n, values, n_nu, n_ht, gaussian_sum)
    scale = max(1.0, np.abs(values).max())
    np.testing.assert_allclose(found[keep], params[keep], atol=1e-9 * scale)
    assert np.isnan(np.delete(found, keep)).all()


def test_least_squares_by_hand():
    """Through (1, 1), (2, 3), (3, 2): slope 1/2, intercept 1; residuals -1/2, 1, -1/2."""
    params, rms = fit([1, 2, 3], [1, 3, 2])
    np.testing.assert_allclose(params[:2], [0.5, 1.0], rtol=1e-13)
    assert rms == pytest.approx(np.sqrt((0.25 + 1 + 0.25) / 3))


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


def test_one_thread_and_all_threads_are_exact():
    params, rms = fit([1, 16], [1.0, 1.75], None, 8)
    np.testing.assert_allclose(params, [NAN, 1.0, NAN, NAN, NAN, 0.75])
    assert rms < 1e-15
    np.testing.assert_allclose(evaluate_curves(params, [1, 8, 9, 16], None, 8, False), [1, 1, 1.75, 1.75], rtol=1e-15)


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


@settings(deadline=None)
@given(
    st.lists(st.lists(st.floats(-5, 5) | st.just(NAN), min_size=7, max_size=7), min_size=1, max_size=6), st.randoms()
)
def test_a_batch_changes_nothing(rows, random):
    """Curves fitted together equal curves fitted alone, bit for bit; NaN in, no 0 out."""
    n = np.array([1, 2, 3, 4, 6, 8, 12])
    values = np.array(rows)
    gaussian_sum = np.array([random.random() < 0.5 for _ in rows])
    params, rms = fit_curves(n, values, 3, 6, gaussian_sum)
    for row in range(len(rows)):
        alone, alone_rms = fit_curves(n, values[row : row + 1], 3, 6, gaussian_sum[row : row + 1])
        np.testing.assert_array_equal(alone[0], params[row])
        np.testing.assert_array_equal(alone_rms[0], rms[row])
        fitted = evaluate_curves(params, n, 3, 6, gaussian_sum)[row]
        np.testing.assert_allclose(evaluate_curves(params[row], n, 3, 6, gaussian_sum[row]), fitted)
        measured = ~np.isnan(values[row])
        for segment, members in enumerate((n <= 3, (n > 3) & (n <= 6), n > 6)):
            count = (measured & members).sum()
            assert valid(params[row, 2 * segment : 2 * segment + 2]) == [int(count > 1), int(count > 0)]


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
