"""papers/000, Sections 3.2-3.5, on times whose law is known."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.scaling_models.base import TooFewPoints
from predictor.scaling_models.extended_amdahl import ExtendedAmdahl
from research.scaling.studies.sizes import WAYS, Mispredictions, size_study
from research.scaling.studies.workloads import MeasuredWorkload, measured_workloads
from tests.research.scaling.studies.kit import COUNTS, PRODUCT_SIZES, product_runs, sweep

PRODUCT = measured_workloads(sweep())[0]


def test_errors_are_as_large_as_the_noise():
    study = size_study(PRODUCT, ExtendedAmdahl())
    assert study["sizes"] == list(PRODUCT_SIZES)
    assert study["parameters"]["parallel_fraction"] == pytest.approx(0.97, abs=0.02)
    for way in ("fitted to all", "size left out", "stream, updated"):
        assert study["statistics"][way]["median"] < 2, way
        assert study["statistics"][way]["within_10"] > 85, way
    assert study["statistics"]["fitted to all"]["large_within_10"] == 100
    counts = {way: study["statistics"][way]["count"] for way in WAYS}
    assert counts["fitted to all"] == len(PRODUCT_SIZES) * len(COUNTS)
    assert counts["size left out"] == (len(PRODUCT_SIZES) - 2) * len(COUNTS)
    assert counts["stream, updated"] == counts["stream, first estimate"]


def test_relative_errors_serve_small_inputs():
    """A constant cost that no polynomial of the large times sees: within a few percent at every size."""
    points = PRODUCT.points.over_sizes
    X, t = points.frame().to_numpy(), points.time_s + 1e-4
    small = (X[:, 1] == min(PRODUCT_SIZES)) & (X[:, 0] == 1)
    errors = {}
    for how in ("absolute", "relative"):
        said = ExtendedAmdahl(errors=how).fit(X, t).predict(X)
        errors[how] = float(np.abs(said / t - 1)[small].mean())
    assert errors["relative"] < 0.02 < errors["absolute"]
    assert size_study(PRODUCT, ExtendedAmdahl(errors="relative"))["errors"] == "relative"


def test_updating_is_better_than_the_first_estimate():
    """Section 3.5: the incremental approach has a smaller average error and fewer outliers."""
    noisy = MeasuredWorkload("matmul", "box", "domain_decomposition", product_runs(noise=0.05), 800.0)
    statistics = size_study(noisy, ExtendedAmdahl())["statistics"]
    first, updated = statistics["stream, first estimate"], statistics["stream, updated"]
    assert updated["median"] < first["median"]
    assert updated["p95"] < first["p95"]
    assert updated["mean"] < first["mean"]


def test_a_size_left_out_is_predicted_without_its_runs():
    """Other times at one size change every prediction but its own."""
    runs = product_runs(noise=0.0)
    size = np.where(np.isnan(runs.size), 800.0, runs.size)
    slower = {name: np.where(size == 500, 3 * times, times) for name, times in vars(runs).items() if name[:4] == "time"}

    def said(runs):
        study = size_study(MeasuredWorkload("m", "box", "unknown", runs, 800.0), ExtendedAmdahl())
        return {(row["n"], row["size"]): row["predicted_s"] for row in study["mispredictions"]["size left out"]}

    before, after = said(runs), said(replace(runs, **slower))
    assert after[2, 500] == pytest.approx(before[2, 500])
    assert after[2, 600] != pytest.approx(before[2, 600])


def test_the_stream_knows_only_what_came_before():
    """The first predictions come when degree + 1 sizes and more than one thread were seen."""
    rows = size_study(PRODUCT, ExtendedAmdahl())["mispredictions"]["stream, updated"]
    unknown = [row for row in rows if not np.isfinite(row["predicted_s"])]
    assert 4 < len(unknown) < 30
    assert not np.isfinite([row["predicted_s"] for row in rows[:5]]).any()
    assert len(rows) == len(PRODUCT_SIZES) * len(COUNTS) * 3


def test_seeds_are_orders():
    one, other = (
        size_study(PRODUCT, ExtendedAmdahl(), seed=seed)["mispredictions"]["stream, updated"] for seed in (0, 1)
    )
    assert [row["measured_s"] for row in one] != [row["measured_s"] for row in other]
    assert sorted(row["measured_s"] for row in one) == sorted(row["measured_s"] for row in other)


def test_refusals():
    with pytest.raises(TooFewPoints, match="degree 11 needs 13 sizes; found 12"):
        size_study(PRODUCT, ExtendedAmdahl(11))
    alone = MeasuredWorkload("m", "box", "unknown", product_runs().take(np.flatnonzero(product_runs().n == 1)), 800.0)
    with pytest.raises(TooFewPoints, match="thread counts"):
        size_study(alone, ExtendedAmdahl())


def test_nothing_predicted():
    statistics = Mispredictions(np.ones(1), np.ones(1), np.array([np.nan]), np.ones(1)).statistics()
    assert statistics["count"] == 0
    assert statistics["mean"] is None


def test_runs_between_two_sizes():
    own = PRODUCT.own_size
    assert own is not None
    part = PRODUCT.between(min(PRODUCT_SIZES), own)
    sizes_left = part.single_runs()[0][:, 1]
    assert set(sizes_left) == {size for size in PRODUCT_SIZES if size <= own}
    assert len(PRODUCT.between(own, own).single_runs()[1]) == (PRODUCT.single_runs()[0][:, 1] == own).sum()
    assert not len(replace(PRODUCT, own_size=None).between(own, own).single_runs()[1])
