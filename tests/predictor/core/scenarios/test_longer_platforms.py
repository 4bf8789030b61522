"""A platform with more threads: what other machines show, in place of the slope of the platform's own last threads."""

import itertools

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.curves import evaluated_curves
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.scenarios import Scenario, run_scenario, virtual_platform
from predictor.core.scenarios.scenario import PlatformChanges, PlatformTopology
from predictor.core.scenarios.virtual_platform import (
    UnknownEffect,
    changed_database,
    differences_of_relatives,
    known_until,
)
from tests.predictor.core.curves import curve_arrays, database_of_times
from tests.predictor.core.scenarios.answers import assert_consistent, decomposed_database, in_scenario

CORES = {"laptop": 1, "m04": 4, "m08": 8, "m16": 16, "m32": 32, "n08": 8, "n16": 16, "n32": 32}
SERIAL_SHARE = {"serial": 1.0, "half": 0.5, "tenth": 0.1, "linear": 0.0, "other": 0.05, "more": 0.02}
KNOWN_ON_LAPTOP = ("half", "tenth", "other", "more")


def seconds(platform, share, n):
    """Amdahl's law with two threads on each core. The second adds a quarter of a core, on the smallest machine too."""
    cores = CORES[platform]
    at_work = min(n, cores) + 0.25 * max(n - cores, 0)
    speed = 1.0 + 0.1 * (list(CORES).index(platform) % 3)
    return 10.0 / speed * (share + (1.0 - share) / at_work)


def machines(known=(1, 2), **columns):
    """Machines with two threads per core, of which the laptop has one core; n_ht is unknown everywhere."""
    times = {
        (platform, workload): {
            n: seconds(platform, share, n)
            for n in (known if platform == "laptop" else sorted({1, 2, cores // 2, cores, 2 * cores}))
        }
        for platform, cores in CORES.items()
        for workload, share in SERIAL_SHARE.items()
        if platform != "laptop" or workload in KNOWN_ON_LAPTOP
    }
    cores = np.array([CORES[platform] for platform in sorted(CORES)], dtype=float)
    table = {"physical_cores": cores, "threads": 2 * cores, **columns}
    return database_of_times(times, {name: 2 * CORES[name] for name in CORES}, platform_table=table)


def what_if(database, workload, n_max, n=None, method="mpet", **changes):
    target, workload = database.platforms.index("laptop"), database.workloads.index(workload)
    scenario = Scenario(platform=PlatformChanges.of({"n_max": n_max, **changes}))
    return run_scenario(database, in_scenario(Query(workload, target, n=n), method, scenario))


@pytest.mark.parametrize("workload", ["serial", "half", "tenth", "linear"])
def test_a_machine_with_one_core_becomes_one_with_sixteen(workload):
    """Its second thread shares the core: the slope of n t(n) there would promise that sixteen cores are as slow."""
    found = what_if(machines(), workload, 32)
    for n in (8, 16, 32):
        true = 10.0 * (SERIAL_SHARE[workload] + (1 - SERIAL_SHARE[workload]) / (min(n, 16) + 0.25 * max(n - 16, 0)))
        assert found.time_s[n - 1] == pytest.approx(true, rel=0.35)
        assert found.low_s[n - 1] < true < found.high_s[n - 1]
    assert found.time_s[0] == found.baseline.time_s[0]
    assert (2, "beyond n = 1 only other machines show the effect of more threads") in found.lowered
    assert found.changes == ("threads from 2 to 32",)


def test_a_serial_program_stays_serial_on_more_cores():
    found = what_if(machines(), "serial", 64)
    assert found.time_s.min() > 0.8 * found.time_s[0]


def test_machines_of_one_model_are_compared_with_the_next_larger_one():
    times = {
        ("a2", "w"): {1: 1.0, 2: 1.0},
        ("a4", "w"): {1: 2.0, 4: 1.0},
        ("a8", "w"): {1: 2.0, 8: 1.0},
        ("b8", "w"): {1: 5.0, 8: 1.0},  # another model with as many threads as c8
        ("c8", "w"): {1: 50.0, 8: 1.0},
        ("d2", "w"): {2: 3.0},  # measured with all threads alone
        ("d4", "w"): {4: 1.0},
        ("x2", "w"): {1: 1.0, 2: 1.0},  # of unknown models
        ("y4", "w"): {1: 9.0, 4: 1.0},
        ("b8", "v"): {8: 2.0},
        ("b9", "v"): {2: 1.0, 8: 1.0, 9: 1.0},
    }
    threads = {name: int(name[1]) for name in ("a2", "a4", "a8", "b8", "b9", "c8", "d2", "d4", "x2", "y4")}
    models = [name[0].replace("c", "b") if name[0] in "abcd" else "" for name in sorted(threads)]
    database = database_of_times(times, threads, platform_table={"cpu_model": np.array(models)})
    w, v = (database.workloads.index(name) for name in "wv")
    np.testing.assert_allclose(differences_of_relatives(database, np.array([w])), np.log([2.0, 1.0]))
    np.testing.assert_allclose(differences_of_relatives(database, np.array([v])), np.log([2.0]))


def test_the_interval_contains_the_differences_of_machines_of_one_model(monkeypatch):
    """A machine with more threads is another machine: half the interval is the root of the sum of squares."""
    pairs = ("m04", "m08", "m16", "m32")
    database = machines(cpu_model=np.array(["i9" if name in pairs else "" for name in sorted(CORES)]))
    found = what_if(database, "tenth", 32)
    monkeypatch.setattr(virtual_platform, "differences_of_relatives", lambda *_: np.zeros(0))
    without = what_if(database, "tenth", 32)
    np.testing.assert_array_equal(found.time_s, without.time_s)
    # Three pairs have the workload, fewer than ten: those with all workloads count. All have the same ratio of speed.
    steps = [seconds(one, 0.1, 1) / seconds(other, 0.1, 1) for one, other in itertools.pairwise(pairs)]
    q = np.quantile(np.abs(np.log(steps * len(SERIAL_SHARE))), 0.9)
    for name in ("low_s", "high_s"):
        before, now = (np.abs(np.log(getattr(each, name) / each.time_s)) for each in (without, found))
        np.testing.assert_allclose(now, np.hypot(before, q))


def test_other_requested_counts_change_no_answer():
    whole = what_if(machines(), "tenth", 32)
    for n in ((2,), (32,), (1, 16, 64)):
        found = what_if(machines(), "tenth", 32, n=n)
        inside = np.array([count for count in n if count <= 32])
        np.testing.assert_array_equal(found.time_s[: len(inside)], whole.time_s[inside - 1])


def test_the_hidden_measurement_does_not_matter():
    """(T,A) is hidden, also the thread counts at which it was measured: 4 of four cores, the others 1."""
    times = {
        ("four" if platform == "laptop" else platform, workload): {
            n: seconds(platform, SERIAL_SHARE[workload], n) for n in ((1,) if platform == "laptop" else (1, 4, 8))
        }
        for platform in ("laptop", "m04", "m08", "n08")
        for workload in KNOWN_ON_LAPTOP
    }
    times["four", "half"] = {1: 10.0, 4: 6.25}
    threads = {"four": 4, "m04": 8, "m08": 16, "n08": 16}
    database = database_of_times(times, threads, platform_table={"physical_cores": np.array([4.0, 4.0, 8.0, 8.0])})
    target, workload = database.platforms.index("four"), database.workloads.index("half")
    scenario = Scenario(platform=PlatformChanges.of({"n_max": 16}))
    found, hidden = (
        run_scenario(known, in_scenario(Query(workload, target), "mpet", scenario))
        for known in (database, database.without(target, workload))
    )
    assert (2, "beyond n = 1 only other machines show the effect of more threads") in found.lowered
    np.testing.assert_array_equal(found.time_s, hidden.time_s)
    np.testing.assert_array_equal(found.high_s, hidden.high_s)


def test_with_all_threads_alone_the_measured_slope_is_continued():
    """Nothing that was measured on the laptop applies to the larger machine."""
    found = what_if(machines(known=(2,)), "half", 32)
    assert any("a measured slope is extrapolated" in reason for _, reason in found.lowered)


@pytest.mark.parametrize("method", ["mpet", "kernel-ridge", "speed-ratio"])
def test_curves_and_intervals_are_consistent(method):
    database = decomposed_database()[0]
    scenario = Scenario(platform=PlatformChanges.of({"n_ht": 8, "n_max": 16}))
    found = run_scenario(database, in_scenario(Query(0, 1), method, scenario))
    np.testing.assert_array_equal(found.n, np.arange(1, 17))
    np.testing.assert_array_equal(found.time_s[:4], found.baseline.time_s[:4])
    assert_consistent(found)
    if found.low_s is not None:
        assert (found.low_s < found.time_s).all()
        assert (found.time_s < found.high_s).all()
    assert found.changes == ("SMT breakpoint from 4 to 8", "threads from 8 to 16")


def test_without_scaling_it_is_refused():
    database = decomposed_database(sequential=("w0",))[0]
    scenario = Scenario(platform=PlatformChanges.of({"n_max": 16}))
    with pytest.raises((UnknownEffect, PredictionError), match="no scaling"):
        run_scenario(database, in_scenario(Query(0, 1), "mpet", scenario))


@pytest.mark.parametrize(
    ("cores", "n_ht", "new", "until"),
    [
        (1.0, np.nan, PlatformTopology(np.nan, np.nan, 32), 1),  # the second thread shares the core
        (2.0, np.nan, PlatformTopology(np.nan, np.nan, 32), 2),
        (np.nan, np.nan, PlatformTopology(np.nan, np.nan, 32), 2),
        (2.0, 1.0, PlatformTopology(np.nan, 4.0, 8), 1),
        (2.0, 1.0, PlatformTopology(np.nan, 1.0, 8), 2),
    ],
)
def test_known_until(cores, n_ht, new, until):
    old = PlatformTopology(np.nan, n_ht, 2)
    times = {(platform, "w"): {1: 2.0, 2: 1.0} for platform in ("a", "b")}
    topology = {"n_nu": [old.n_nu] * 2, "n_ht": [old.n_ht] * 2}
    database = database_of_times(times, {"a": 2, "b": 2}, platform_table={"physical_cores": [cores] * 2}, **topology)
    assert known_until(database, 0, old, new) == until


def test_the_changed_database_is_as_if_less_had_been_measured():
    """Its evaluated curves are, to the last bit, those of a database without the points."""
    database = database_with_topology()
    old, new = PlatformTopology(np.nan, 16.0, 64), PlatformTopology(np.nan, 32.0, 128)
    changed = changed_database(database, 2, old, new, until=16)
    assert (changed.n_max[2], changed.n_ht[2], changed.platform_table["physical_cores"][2]) == (128, 32.0, 32.0)
    rows = np.flatnonzero(database.platform_index == 2)
    found, before = evaluated_curves(changed), evaluated_curves(database)
    at_16 = np.searchsorted(before.n, 16)
    for row in rows.tolist():
        n, _ = changed.curve(row)
        assert n.max() <= 16
        np.testing.assert_array_equal(found.values[: at_16 + 1, row], before.values[: at_16 + 1, row])
        np.testing.assert_array_equal(found.values[at_16:, row], found.values[at_16, row])
        assert found.outside[-1, found.pattern[row]] == pytest.approx(before.log_n[-1] - np.log(16))
    others = np.setdiff1d(np.arange(len(database)), rows)
    np.testing.assert_array_equal(found.values[:, others], before.values[:, others])
    np.testing.assert_array_equal(found.pattern[others], before.pattern[others])
    np.testing.assert_array_equal(found.n, before.n)
    assert database.n_max[2] == 64


def database_with_topology():
    arrays = curve_arrays(3, 6, 4)
    arrays |= {"n_ht": np.full(6, 16.0), "n_max": np.full(6, 64)}
    arrays["platform_table"] = {**arrays.get("platform_table", {}), "physical_cores": np.full(6, 16.0)}
    return Database.build(**arrays)
