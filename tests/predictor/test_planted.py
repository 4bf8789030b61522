"""One absurd profile among simulated machines: found, and of no consequence for what is predicted of others."""

import io
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from benchmarks import simulator
from benchmarks.archive import read_archive
from predictor.core.database import Database
from predictor.core.evaluate import Protocol, evaluate
from predictor.core.methods import get_method
from predictor.core.outliers import MeasuredProfile, find_outliers
from predictor.core.tabulated import database_from_measurements
from profiles.measurements import Measurements
from profiles.scaling.runs import scaling_curves
from tests.predictor.absurd import all_waiting, multiplied
from tests.predictor.core.curves import curve_arrays

MACHINES, PROGRAMS = 10, 10
PLANTED = 43
METHODS = ("mpet", "mpet2020")


@pytest.fixture(scope="module")
def demo():
    """The demo's smaller machines with some of its programs, as one delivery."""
    platforms, profiles, workloads = [], [], []
    for hardware in sorted(simulator.HARDWARE, key=lambda one: one.record().threads)[:MACHINES]:
        one = read_archive(io.BytesIO(simulator.simulate_tarball(1, hardware, simulator.PROGRAMS[:PROGRAMS])))
        profiles += [replace(profile, platform=len(platforms)) for profile in one.profiles]
        platforms += one.platforms
        workloads = workloads or one.workloads
        assert [record.name for record in one.workloads] == [record.name for record in workloads]
    return Measurements("simulated", {}, platforms, workloads, profiles)


ABSURD = {
    "a million times too slow": partial(multiplied, factor=10**6),
    "growing with the cube of n": lambda runs: multiplied(runs, runs.n**3 * 10),
    "all waiting": all_waiting,
}


def planted(measurements, change):
    profiles = list(measurements.profiles)
    profiles[PLANTED] = replace(profiles[PLANTED], runs=change(profiles[PLANTED].runs))
    return replace(measurements, profiles=profiles)


def name_of(measurements, profile):
    return measurements.platforms[profile.platform].name, measurements.workloads[profile.workload].name


def everything(measurements, database):
    """Every row with its fractions, as the product judges it."""
    runs = {name_of(measurements, profile): profile.runs for profile in measurements.profiles}
    names = [
        (database.platforms[p], database.workloads[w])
        for p, w in zip(database.platform_index, database.workload_index, strict=True)
    ]
    return [
        MeasuredProfile.row(database, row, scaling_curves(runs[name], None).fractions) for row, name in enumerate(names)
    ]


def mean_errors(database, left_out):
    """By method, over all pairs but the one that was planted."""
    methods = [get_method(name) for name in METHODS]
    return {
        name: np.mean(
            [
                one.errors["full"]
                for one in outcomes
                if "full" in one.errors and (one.platform, one.workload) != left_out
            ]
        )
        for name, outcomes in evaluate(database, methods, Protocol()).outcomes.items()
    }


def test_of_the_demo_hardly_anything_is_accused(demo):
    database = database_from_measurements(demo)
    assert len(find_outliers(database, everything(demo, database))) <= 0.01 * len(database)


@pytest.fixture(scope="module")
def before(demo):
    """As if nobody had measured that pair."""
    database = database_from_measurements(demo)
    absurd = name_of(demo, demo.profiles[PLANTED])
    return mean_errors(
        database.without(database.platforms.index(absurd[0]), database.workloads.index(absurd[1])), absurd
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(change, id=name, marks=() if "million" in name else pytest.mark.lab)
        for name, change in ABSURD.items()
    ],
)
def test_one_absurd_profile_changes_the_error_of_others_by_less_than_five_percent(demo, before, change):
    measurements = planted(demo, change)
    database = database_from_measurements(measurements)
    measured = everything(measurements, database)
    found = find_outliers(database, measured)
    absurd = name_of(demo, demo.profiles[PLANTED])
    wrong = [measured[one.position] for one in found]
    assert {(database.platforms[one.platform], database.workloads[one.workload]) for one in wrong} == {absurd}
    view = database.without([one.platform for one in wrong], [one.workload for one in wrong])
    after = mean_errors(view, absurd)
    for name in METHODS:
        assert after[name] == pytest.approx(before[name], rel=0.05), name


@pytest.mark.lab
@pytest.mark.parametrize("factor", [1e6, 1e-6])
def test_even_before_it_is_found_it_does_not_move_mpet(factor):
    """`mpet` leaves out by itself what no platform could explain. As large as the demo."""
    arrays = curve_arrays(2, 15, 26, noise=0.05, missing=0.0)
    clean, length = Database.build(**arrays), len(arrays["curve_n"]) // len(arrays["t1_s"])
    t1_s, time_s = np.array(arrays["t1_s"]), np.array(arrays["curve_time_s"]).reshape(-1, length)
    t1_s[100] *= factor
    time_s[100] *= factor
    database = Database.build(**arrays | {"t1_s": t1_s, "curve_time_s": time_s.ravel()})
    absurd = clean.platforms[arrays["platform_index"][100]], clean.workloads[arrays["workload_index"][100]]
    before, after = mean_errors(clean, absurd), mean_errors(database, absurd)
    assert after["mpet"] == pytest.approx(before["mpet"], rel=0.05)


@pytest.mark.parametrize("change", ["a million times too slow", "growing with the cube of n"])
def test_nor_does_it_among_simulated_machines(demo, before, change):
    """T's own absurd profile included: it would make all of T's answers absurd if it counted as known."""
    after = mean_errors(
        database_from_measurements(planted(demo, ABSURD[change])), name_of(demo, demo.profiles[PLANTED])
    )
    assert after["mpet"] == pytest.approx(before["mpet"], rel=0.05)
