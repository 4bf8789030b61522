"""From a profile's runs to the points of scaling models."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.scaling_models.extended_amdahl import ExtendedAmdahl
from predictor.scaling_models.measured import measured_points
from predictor.scaling_models.memory_wall import MemoryWall
from profiles.measurements import PARTS
from profiles.scaling.runs import scaling_curves
from tests.samples import sample_runs, varied

RNG = np.random.default_rng(3)
RUNS = sample_runs(RNG, counts=(1, 2, 4))


def test_own_points_are_those_of_the_curves():
    points = measured_points(varied(RUNS, [50.0, 200.0], [1500.0]), 100.0)
    own = points.take(points.own)
    curves = scaling_curves(RUNS)
    assert own.n.tolist() == curves.n.tolist()
    assert own.time_s.tolist() == curves.time_s.tolist()
    assert set(own.size) == {100}
    fractions = own.parts_s / (own.n * own.time_s)[:, None]
    assert fractions.sum(axis=1) == pytest.approx(1)
    assert fractions[:, 1:] == pytest.approx(curves.fractions.T)


def test_sizes_and_clocks_are_apart():
    points = measured_points(varied(RUNS, [50.0, 200.0], [1500.0, 1000.0]), 100.0)
    assert len(points) == 3 * 5
    assert points.sizes.tolist() == [50, 100, 200]
    assert points.clocks_mhz.tolist() == [1000, 1500]
    assert set(points.over_sizes.size) == {50, 100, 200}
    assert np.isnan(points.over_sizes.clock_mhz).all()
    over_clocks = points.over_clocks
    assert len(over_clocks) == 6
    assert set(over_clocks.size) == {100}
    at_one = over_clocks.time_s[over_clocks.n == 1]
    assert at_one[0] / at_one[1] == pytest.approx(1.5)


def test_clocks_without_a_known_size():
    points = measured_points(varied(RUNS, [], [1500.0]))
    assert points.clocks_mhz.tolist() == [1500]
    assert len(points.over_clocks) == 3
    assert len(points.over_sizes) == 0


def test_task_measures_sum_to_the_thread_time_and_counts_grow_with_the_size():
    points = measured_points(varied(RUNS, [200.0, 400.0], growth=lambda size: size / 100), 100.0).over_sizes
    measures = points.task_measures()
    whole = measures["work_s"] + measures["delay_s"] + measures["no_work_s"]
    assert whole == pytest.approx(points.n * points.time_s)
    for name, part in (("tasks", "creation"), ("waits", "join")):
        alone = points.parts_s[(points.size == 100) & (points.n == 1), PARTS.index(part)][0]
        assert measures[name] == pytest.approx(alone * points.size / 100, rel=1e-3)


def test_without_profile_pass_there_are_no_parts():
    points = measured_points(sample_runs(RNG, counts=(1, 2), decomposed=False), 10.0)
    assert np.isnan(points.parts_s).all()
    assert np.isnan(points.task_measures()["work_s"]).all()


def test_counted_tasks_and_waits_go_before_stand_ins():
    runs = varied(RUNS, [200.0], growth=lambda size: size / 100)
    counted = np.where(runs.is_profile_pass, np.where(np.isnan(runs.size), 10.0, 20.0), np.nan)
    points = measured_points(replace(runs, tasks=counted, waits=counted / 2), 100.0).over_sizes
    measures = points.task_measures()
    assert measures["tasks"].tolist() == np.where(points.size == 100, 10, 20).tolist()
    assert measures["waits"].tolist() == np.where(points.size == 100, 5, 10).tolist()


def test_frames_are_what_models_read():
    points = measured_points(varied(RUNS, [200.0, 400.0], [1500.0, 1000.0], growth=lambda x: x / 100), 100.0)
    sizes, clocks = points.over_sizes, points.over_clocks
    assert list(sizes.frame()) == ["n", "size"]
    model = ExtendedAmdahl(degree=1).fit(sizes.frame(), sizes.time_s)
    assert model.predict([[1, 400]]) == pytest.approx(4 * model.predict([[1, 100]]), rel=0.02)
    assert set(clocks.frame(2000)["clock_ratio"]) == {0.5, 0.75}
    assert set(clocks.frame()["clock_ratio"]) == {2 / 3, 1.0}
    assert MemoryWall().fit(clocks.frame(2000), clocks.time_s).predict(clocks.frame(2000)).shape == (6,)
    assert list(points.frame()) == ["n", "size"]
