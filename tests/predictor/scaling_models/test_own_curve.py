"""One curve by itself: the law by its own later points, SMT threads as parts of a core, and how far off it may be."""

import numpy as np
import pytest

from predictor.scaling_models.automatic import AutomaticChoice
from predictor.scaling_models.growth import LAWS, GrowthLaw
from predictor.scaling_models.own_curve import SMT_YIELD, cores_in_use, fit_own_curve

N = np.arange(1.0, 33.0)


def time_on_cores(n, n_ht, smt_yield, serial=0.0):
    """Amdahl's law over the cores in use."""
    return serial + (1 - serial) / cores_in_use(n, n_ht, smt_yield)


def test_threads_beyond_the_cores_count_as_a_part_of_one():
    """Half of n ends at n_ht: the curve alone shows nothing of the knee, the topology does."""
    truth = time_on_cores(N, 16, SMT_YIELD, serial=0.01)
    knowing, ignorant = (AutomaticChoice(n_ht=n_ht).fit(N[:16, None], truth[:16]) for n_ht in (16, None))
    assert knowing.predict(N[16:, None]) == pytest.approx(truth[16:], rel=0.01)
    assert ignorant.predict(N[31:, None])[0] < 0.75 * truth[31]
    assert knowing.parameters()["smt_yield"] == SMT_YIELD
    assert np.isnan(ignorant.parameters()["smt_yield"])


@pytest.mark.parametrize("smt_yield", [0.025, 0.4, 0.8])
def test_the_yield_is_learned_where_threads_beyond_the_cores_were_measured(smt_yield):
    truth = time_on_cores(N, 16, smt_yield, serial=0.02)
    curve = fit_own_curve(N[:22], truth[:22], n_ht=16)
    assert curve.smt_yield == pytest.approx(smt_yield, abs=0.06)
    assert curve.times(N[22:]) == pytest.approx(truth[22:], rel=0.03)
    assert curve.yield_spread < fit_own_curve(N[:16], truth[:16], n_ht=16).yield_spread


def test_few_points_bend_at_the_number_of_cores():
    """Between 8 and 32 threads a straight line of R would miss the knee at 16."""
    truth = time_on_cores(N, 16, 0.1)
    learned = np.array([0, 3, 7, 31])
    errors = [np.abs(fit_own_curve(N[learned], truth[learned], n_ht).times(N) / truth - 1).max() for n_ht in (16, None)]
    assert errors[0] < 0.02
    assert errors[1] > 0.1


def test_a_saturated_memory_gives_the_line_and_a_serial_part_gives_amdahl():
    """Six threads use up the bandwidth of the first domain; R is straight from there on."""
    saturated = np.maximum(1 / N, 1 / 6)
    line = fit_own_curve(N[:16], saturated[:16])
    assert line.chosen == "late_line"
    assert line.times(N[16:]) == pytest.approx(saturated[16:], rel=1e-6)
    assert line.errors["late_line"] < line.errors["amdahl"]
    noise = np.random.default_rng(4).lognormal(0, 0.02, len(N))
    serial = time_on_cores(N, None, 0, serial=0.05)
    assert fit_own_curve(N[:16], (serial * noise)[:16]).chosen == "amdahl"


def test_one_wild_measurement_does_not_turn_the_line():
    """The median of the slopes stands where least squares of the later half do not."""
    truth = 1 / N + 0.004
    truth[:4] = 1.2 / N[:4]
    wild = truth.copy()
    wild[13] *= 3
    robust = fit_own_curve(N[:16], wild[:16])
    assert robust.times(N[31:]) == pytest.approx(truth[31:], rel=0.1)
    squares = GrowthLaw("recent_line").fit(N[:16, None], wild[:16]).predict(N[31:, None])
    assert abs(squares[0] / truth[31] - 1) > 0.3


def test_intervals_widen_with_what_is_unknown():
    truth = time_on_cores(N, 16, 0.3, serial=0.02) * np.random.default_rng(1).lognormal(0, 0.01, len(N))
    curve = fit_own_curve(N[:12], truth[:12], n_ht=16)
    scales = curve.log_scales(N)
    assert (np.diff(scales[12:]) > 0).all()
    assert scales[31] > 2 * scales[15]
    assert scales[:12].max() < scales[31]
    measured = fit_own_curve(N[:24], truth[:24], n_ht=16)
    assert measured.log_scales(N)[31] < scales[31] / 2
    model = AutomaticChoice(n_ht=16).fit(N[:12, None], truth[:12])
    (low, high), (lower, higher) = model.interval(N[12:, None], 0.9), model.interval(N[12:, None], 0.99)
    assert (lower < low).all()
    assert (high < higher).all()
    assert ((low < truth[12:]) & (truth[12:] < high)).all()


def test_intervals_cover_what_they_promise():
    """400 curves drawn from Amdahl's law with yields, noise and a slope that sets in later: within 84 and 97 %."""
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(400):
        smt_yield, serial, growth = rng.uniform(0, 0.5), rng.uniform(0, 0.1), rng.lognormal(-5, 1)
        truth = time_on_cores(N, 16, smt_yield, serial) * (1 + growth * N) * rng.lognormal(0, 0.02, len(N))
        low, high = AutomaticChoice(n_ht=16).fit(N[:16, None], truth[:16]).interval(N[16:, None])
        inside.append(((low <= truth[16:]) & (truth[16:] <= high)).mean())
    assert 0.84 < np.mean(inside) < 0.97


def test_it_beats_every_single_law_on_curves_of_both_kinds():
    """Half of the curves saturate, half have a serial part; no single law is the best of both."""
    rng = np.random.default_rng(5)
    errors = {name: [] for name in ("own_curve", *LAWS)}
    for index in range(60):
        noise = rng.lognormal(0, 0.01, len(N))
        limit = rng.uniform(4, 9)
        truth = noise * (np.maximum(1 / N, 1 / limit) if index % 2 else time_on_cores(N, 16, 0.2, rng.uniform(0, 0.1)))
        n_ht = None if index % 2 else 16
        said = {"own_curve": fit_own_curve(N[:16], truth[:16], n_ht).times(N[16:])}
        said |= {law: GrowthLaw(law).fit(N[:16, None], truth[:16]).predict(N[16:, None]) for law in LAWS}
        for name, times in said.items():
            errors[name].append(np.abs(times / truth[16:] - 1).mean())
    medians = {name: np.median(values) for name, values in errors.items()}
    assert min(medians, key=medians.get) == "own_curve"


def test_points_beyond_the_cores_alone_and_two_points_answer():
    beyond = fit_own_curve(np.array([20.0, 24.0, 28.0]), np.array([0.3, 0.29, 0.28]), n_ht=16)
    assert beyond.smt_yield == SMT_YIELD
    assert (beyond.times(N) > 0).all()
    two = fit_own_curve(np.array([1.0, 2.0]), np.array([2.0, 1.0]))
    assert two.times(np.array([8.0])) == pytest.approx([0.25])
    assert np.isfinite(two.log_scales(N)).all()
