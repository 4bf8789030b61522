"""Amdahl, Gustafson, USL, MPET curve, growth laws: exact on what they describe, honest about what they cannot know."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictor.scaling_models.amdahl import Amdahl
from predictor.scaling_models.base import TooFewPoints, prediction_interval
from predictor.scaling_models.growth import LAWS, GrowthLaw
from predictor.scaling_models.gustafson import Gustafson
from predictor.scaling_models.mpet_curve import MpetCurve
from predictor.scaling_models.usl import USL

N = np.array([1, 2, 4, 8, 12, 16, 24, 32.0])


@given(t1=st.floats(1e-3, 1e5), sigma=st.floats(0, 0.5), kappa=st.floats(0, 0.05))
def test_usl_is_recovered(t1, sigma, kappa):
    t = t1 * (1 + sigma * (N - 1) + kappa * N * (N - 1)) / N
    found = USL().fit(N[:, None], t)
    assert found.predict(N[:, None]) == pytest.approx(t, rel=1e-6)
    assert found.parameters()["sigma"] == pytest.approx(sigma, abs=1e-6)
    assert found.parameters()["kappa"] == pytest.approx(kappa, abs=1e-6)


def test_usl_intervals_cover_as_often_as_they_say():
    """300 noisy curves: 95 % intervals of sigma and kappa hold the truth in 90 to 99 % of them."""
    rng = np.random.default_rng(0)
    truth = {"t1_s": 10.0, "sigma": 0.05, "kappa": 0.002}
    clean = 10 * (1 + 0.05 * (N - 1) + 0.002 * N * (N - 1)) / N
    hits = dict.fromkeys(truth, 0)
    for _ in range(300):
        intervals = USL().fit(N[:, None], clean * rng.normal(1, 0.01, len(N))).confidence_intervals(0.95)
        for name, value in truth.items():
            low, high = intervals[name]
            hits[name] += low <= value <= high
    assert all(0.9 <= hit / 300 <= 0.99 for hit in hits.values()), hits


def test_no_interval_without_spare_points():
    low, high = USL().fit(N[:3, None], [4.0, 2.5, 2.0]).confidence_intervals()["sigma"]
    assert np.isnan([low, high]).all()


def test_usl_peak():
    found = USL().fit(N[:, None], (1 + 0.1 * (N - 1) + 0.01 * N * (N - 1)) / N).parameters()
    assert found["n_peak"] == pytest.approx(np.sqrt(0.9 / 0.01))
    assert USL().fit(N[:, None], 1 / N).parameters()["n_peak"] == np.inf


def test_no_law_gives_a_part_below_zero():
    superlinear = 10 / N**1.2
    assert Amdahl().fit(N[:, None], superlinear).parameters()["parallel_fraction"] <= 1
    assert min(USL().fit(N[:, None], superlinear).coefficients_) >= 0


def test_gustafson_refits_do_not_remember():
    model = Gustafson().fit([[1, 1], [2, 2], [1, 9]], [2.0, 2.0, 10.0])
    model.fit([[1, 1], [2, 1]], [2.0, 1.5])
    assert model.parameters()["serial_fraction"] == pytest.approx(0.5)


@pytest.mark.parametrize("model", [Amdahl(), Gustafson(), USL(), MpetCurve(), GrowthLaw()])
def test_one_thread_count_is_too_few(model):
    with pytest.raises(TooFewPoints):
        model.fit([[4], [4]], [1.0, 1.1])


def test_mpet_curve_needs_no_point_beyond_its_breakpoint():
    t = 12.0 / N[:4]
    assert MpetCurve(n_ht=8).fit(N[:4, None], t).predict([[16]]) == pytest.approx([12 / 16])
    assert MpetCurve().fit([[1], [2], [4]], [4.0, 4.0, 1.0]).predict([[100]])[0] > 0


@pytest.mark.parametrize("law", LAWS)
def test_growth_passes_through_the_last_point_and_stays_positive(law):
    t = np.array([8.0, 5.0, 3.0, 2.5])
    model = GrowthLaw(law).fit(N[:4, None], t)
    assert model.predict(N[:4, None]) == pytest.approx(t)
    just_beyond, far = model.predict([[8.0001], [1e6]])
    assert just_beyond == pytest.approx(2.5, rel=1e-3)
    assert far > 0
    falling = GrowthLaw(law).fit(N[:4, None], [8.0, 3.0, 1.0, 0.3])
    assert (falling.predict([[64], [4096]]) > 0).all()


def test_unknown_law():
    with pytest.raises(ValueError, match="recent_line"):
        GrowthLaw("moon").fit([[1], [2]], [2.0, 1.0])


def test_intervals_hold_most_of_what_comes():
    """Nine of ten new measurements of noisy Amdahl programs, within reason."""
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(100):
        f = rng.uniform(0.8, 1)
        t, new = ((1 - f + f / n) * rng.lognormal(0, 0.03, n.shape) for n in (N, np.array([48.0, 64.0])))
        model = Amdahl().fit(N[:, None], t)
        low, high = prediction_interval(model, N[:, None], t, [[48.0], [64.0]], 0.9)
        assert (low <= model.predict([[48.0], [64.0]])).all()
        inside.extend((low <= new) & (new <= high))
    assert 0.75 <= np.mean(inside) <= 0.99
