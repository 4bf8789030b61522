"""The 84 elements, the fit error, and that the mathematics needs no web framework."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.scaling.features import (
    CURVE_NAMES,
    ELEMENTS,
    FEATURE_NAMES,
    feature_fit,
    feature_fits,
)
from profiles.scaling.runs import scaling_curves
from tests.paths import ROOT
from tests.profiles.scaling.datasets import read_runs
from tests.profiles.scaling.test_runs import decomposed, time_only
from tests.samples import sample_counters, sample_runs

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


def test_there_are_84_names_in_order():
    assert (len(CURVE_NAMES), len(ELEMENTS), len(FEATURE_NAMES), len(set(FEATURE_NAMES))) == (14, 6, 84, 84)
    assert FEATURE_NAMES[0] == "redundancy.m"
    assert FEATURE_NAMES[4 * 6 + 3] == "task_distribution.b_nu"
    assert FEATURE_NAMES[-1] == "L1-LD/LLC-LDM.b_ht"


def test_the_fit_of_one_profile_by_hand():
    """t = 12, 6.5, 4 s at n = 1, 2, 4: R = 1, 13/12, 4/3 on the line 19/168 n + 7/8."""
    fit = feature_fit(scaling_curves(time_only(n1=[12.0], n2=[6.5], n4=[4.0])), None, 8)
    np.testing.assert_allclose(fit.values[:2], [19 / 168, 7 / 8], rtol=1e-13)
    assert np.isnan(fit.values[2:]).all()
    fitted = 19 / 168 * np.array([1, 2, 4]) + 7 / 8
    measured = np.array([1, 13 / 12, 4 / 3])
    assert fit.rms[0] == pytest.approx(np.sqrt(np.mean((fitted - measured) ** 2)))
    assert np.isnan(fit.rms[1:]).all()
    assert fit.fit_error == pytest.approx(np.mean(np.abs(fitted - measured) / measured))


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


def test_a_sequential_profile_has_no_elements():
    fit = feature_fit(scaling_curves(time_only(n1=[2.0]), sample_counters(np.random.default_rng(0), (1,))), 4, 8)
    assert np.isnan(fit.values).all()
    assert np.isnan(fit.rms).all()
    assert np.isnan(fit.fit_error)


def test_the_fit_error_covers_what_can_be_rebuilt():
    """Profile pass at n = 1 and 2 only: the fitted curves still answer for n = 4."""
    rows = [(n, 1_000_000 // n, None) for n in (1, 2, 4)] + [(n, 1_000_000 // n, (0,) * 6) for n in (1, 2)]
    fit = feature_fit(scaling_curves(decomposed(*rows)), None, None)
    assert fit.values[1] == pytest.approx(1)
    assert fit.fit_error < 1e-12


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_batch_equals_one_by_one(seed):
    profiles, n_nu, n_ht = sample_profiles(seed)
    fits = feature_fits(profiles, n_nu, n_ht)
    assert len(fits) == len(profiles)
    for row, (curves, nu, ht) in enumerate(zip(profiles, n_nu, n_ht, strict=True)):
        alone = feature_fit(curves, nu, ht)
        np.testing.assert_array_equal(alone.values, fits.values[row])
        np.testing.assert_array_equal(alone.rms, fits.rms[row])
        np.testing.assert_array_equal(alone.fit_error, fits.fit_error[row])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_an_invalid_curve_never_becomes_zero(seed):
    profiles, n_nu, n_ht = sample_profiles(seed)
    fits = feature_fits(profiles, n_nu, n_ht)
    for row, curves in enumerate(profiles):
        invalid = np.isnan(curves.values[1:]).all(axis=1) | curves.sequential
        assert np.isnan(fits.values[row].reshape(14, 6)[invalid]).all()
        assert np.isnan(fits.rms[row][invalid]).all()
        assert not np.isnan(fits.values[row].reshape(14, 6)[~invalid]).all(axis=1).any()


def test_no_profile_is_no_fit_and_lengths_must_agree():
    assert feature_fits([], [], []).values.shape == (0, 84)
    with pytest.raises(ValueError, match="zip"):
        feature_fits([scaling_curves(time_only(n1=[1.0]))], [], [None])


def test_the_mathematics_does_not_import_django():
    code = (
        "import sys, profiles.scaling.features, profiles.scaling.curves, profiles.scaling.times, profiles.scaling.runs;"
        "sys.exit('django' in sys.modules)"
    )
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
    assert len(fits) == profiles
    assert 100 * fits.fit_error.mean() == pytest.approx(percent, abs=0.06)


@pytest.mark.shared_data
def test_the_fit_does_not_keep_redundancy_at_one_thread(shared_data):
    """R(1) of the fit is off by 27 % on average, three times the error over all n."""
    curves, n_nu, n_ht = read_runs(shared_data / "sparecores-gb6")
    fits = feature_fits(curves, n_nu, n_ht)
    at_one = np.nansum(fits.values[:, :2], axis=1)  # an invalid m counts as 0
    assert all(profile.redundancy[0] == profile.n[0] == 1 for profile in curves)
    assert 100 * np.abs(at_one - 1).mean() == pytest.approx(27, abs=0.5)
