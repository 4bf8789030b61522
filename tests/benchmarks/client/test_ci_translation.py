"""The translation between CPUs, on made histories of which the truth is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from mpet.ci.calibration import calibrate
from mpet.ci.history import Run, Value, cpu_model
from mpet.ci.page import change_points, series_of
from mpet.ci.report import compare_with_history
from mpet.ci.translation import NEWEST_RUNS, inverse, is_calibrated, segments_of, translate

CPUS = {
    "slow": {"integer": 0.3, "float": 0.5},
    "fast": {"integer": 0.0, "float": 0.0},
    "mid": {"integer": 0.2, "float": 0.1},
}
KINDS = {"parse": "integer", "sort": "integer", "fft": "float", "sum": "float"}


def made_history(seed, *, runs=40, noise=0.01, host=0.08, calibrated=True, jump=None, cpus=("slow", "fast", "mid")):
    """Each run on a CPU by chance, on a host of it that is faster or slower as a whole; `jump`: (name, run, factor)."""
    generator = np.random.default_rng(seed)
    made = []
    for i in range(runs):
        cpu = str(generator.choice(cpus))
        factor = host * generator.standard_normal()
        kinds = {kind: effect + factor for kind, effect in CPUS[cpu].items()}
        times = {
            name: math.exp(number + kinds[kind] + noise * generator.standard_normal())
            for number, (name, kind) in enumerate(KINDS.items())
        }
        if jump and i >= jump[1]:
            times[jump[0]] *= jump[2]
        kernels = {kind: math.exp(effect + noise * generator.standard_normal()) for kind, effect in kinds.items()}
        values = {name: Value(time, time * noise, 5) for name, time in times.items()}
        moment = f"2026-01-01T{i // 60:02}:{i % 60:02}:00+00:00"
        made.append(Run(values, f"c{i}", moment, "main", {"cpu": cpu}, kernels if calibrated else {}))
    return made


def slowed(run, factor, *names):
    values = {name: replace(v, seconds=v.seconds * (factor if name in names else 1)) for name, v in run.values.items()}
    return replace(run, values=values)


@pytest.mark.parametrize("calibrated", [True, False])
def test_the_base_is_translated_to_the_heads_machine(calibrated):
    """Hosts differ by 8 %, CPUs by up to 50 %; the translation is as good as the noise allows."""
    errors, held = [], []
    for seed in range(4):
        history = made_history(seed, calibrated=calibrated)
        for name, base in translate(history[:-1], history[-1]).items():
            difference = math.log(history[-1].values[name].seconds) - base.log_s
            errors.append(abs(difference))
            held.append(abs(difference) < 3 * base.sd)
    assert np.mean(errors) < 0.02 and max(errors) < 0.06 and all(held)
    # The same without any covariate: one benchmark alone, of which only the CPU model is known.
    head = replace(history[-1], calibration={}, values={"parse": history[-1].values["parse"]})
    alone = translate([replace(run, calibration={}) for run in history[:-1]], head)["parse"]
    assert alone.sd > 0.05


def test_false_alarms_and_injected_slowdowns_across_two_cpus():
    alarms, found, comparisons = 0, [], 0
    for seed in range(30):
        history = made_history(seed, runs=26, cpus=("slow", "fast"))
        head = history[-1]
        comparisons += 1
        alarms += compare_with_history(history[:-1], head).is_slower
        name = list(KINDS)[seed % len(KINDS)]
        found.append(compare_with_history(history[:-1], slowed(head, 1.1, name)).named("slower") == [name])
    assert alarms / comparisons <= 0.10  # 5 % is meant; 3 of 30 are within chance
    assert np.mean(found) >= 0.8


def test_with_a_calibration_a_slowdown_of_all_benchmarks_is_found_and_without_it_is_the_machines():
    history = made_history(3)
    head = slowed(history[-1], 1.25, *KINDS)
    assert set(compare_with_history(history[:-1], head).named("slower")) == {*KINDS}
    plain = [replace(run, calibration={}) for run in history[:-1]]
    report = compare_with_history(plain, replace(head, calibration={}))
    assert not report.is_slower and "common to all benchmarks" in report.how
    assert is_calibrated(history) and not is_calibrated([*plain, head])


def steady_history(*names):
    """Ten runs on hosts that differ by up to 20 %, with noise of 1 %."""
    generator = np.random.default_rng(0)
    made = []
    for i, host in enumerate((1.0, 1.1, 0.95, 1.2, 1.0, 1.05, 0.9, 1.15, 1.0, 1.1)):
        noise = 0.01 * generator.standard_normal(len(names))
        values = {name: Value(host * math.exp(one), 0.01, 5) for name, one in zip(names, noise, strict=True)}
        made.append(Run(values, f"c{i}", f"2026-01-01T00:{i:02}:00+00:00", "main", {"cpu": "slow"}))
    return made


CHANGES = [
    (("parse", "sort", "sum"), {"parse": 1.3}, {"parse": "slower"}),
    (("parse", "sort", "sum"), {"sum": 0.7}, {"sum": "faster"}),
    (("parse", "sort", "sum"), {"sort": 0.1}, {"sort": "faster"}),
    (("parse", "sort", "sum", "fft"), {"fft": 1.3}, {"fft": "slower"}),
    (("parse", "sort", "sum", "fft", "scan"), {"sort": 1.3, "fft": 1.5}, {"sort": "slower", "fft": "slower"}),
    (("parse", "sort", "sum", "fft", "scan"), {"sort": 1.3, "fft": 0.7}, {"sort": "slower", "fft": "faster"}),
    # One of two, or two of three: the machine and the other benchmark are equally probable reasons.
    (("parse", "sort"), {"parse": 1.3}, {"parse": "slower", "sort": "faster"}),
    (("parse", "sort", "sum"), {"parse": 1.3, "sort": 1.3}, {"sum": "faster"}),
]


@pytest.mark.parametrize(("names", "factors", "verdicts"), CHANGES)
def test_without_a_calibration_the_benchmarks_that_changed_are_named_and_no_others(names, factors, verdicts):
    *history, head = steady_history(*names)
    for name, factor in factors.items():
        head = slowed(head, factor, name)
    assert {row.name: row.verdict for row in compare_with_history(history, head).rows if row.verdict} == verdicts


def test_an_unknown_cpu_widens_the_interval():
    history = made_history(5, cpus=("slow", "fast"))
    known = compare_with_history(history[:-1], history[-1])
    unknown = compare_with_history(history[:-1], replace(history[-1], machine={"cpu": "never seen"}))
    assert all(a.interval < b.interval for a, b in zip(known.rows, unknown.rows, strict=True))


def test_a_change_point_is_found_where_it_is_though_cpus_alternate():
    history = made_history(7, runs=40, jump=("fft", 22, 1.12))
    (change,) = change_points(series_of(history))
    assert change.benchmark == "fft" and change.run.commit in {"c21", "c22", "c23"}
    assert change.relative == pytest.approx(0.12, abs=0.03)
    # After it, the new level is the base: the same time again is no alarm.
    assert not compare_with_history(history[:-1], history[-1]).is_slower


def test_change_points_without_a_change_are_rare():
    found = [change for seed in range(20) for change in change_points(series_of(made_history(seed, runs=30)))]
    assert len(found) <= 8  # of 80 series; the level is 5 % each


def test_segments():
    generator = np.random.default_rng(1)
    values = np.concatenate([np.zeros(10), np.full(8, 0.2), np.full(12, -0.1)]) + 0.01 * generator.standard_normal(30)
    assert segments_of(list(values)) == [0] * 10 + [1] * 8 + [2] * 12
    assert segments_of([1.0, 2.0, 3.0]) == [0, 0, 0] and segments_of([5.0] * 9) == [0] * 9


def test_the_inverse_is_numpys():
    generator = np.random.default_rng(2)
    root = generator.standard_normal((12, 12))
    matrix = root @ root.T + np.eye(12)
    assert np.allclose(inverse(matrix.tolist()), np.linalg.inv(matrix))


def test_too_little_history_says_so():
    history = made_history(1, runs=5)
    report = compare_with_history(history[:4], history[4])
    assert not report.rows and set(report.skipped.values()) == {"fewer than 5 earlier runs"}
    assert report.headline == "Nothing to compare with: a benchmark needs 5 earlier runs."
    assert report.how == "Base: 4 earlier runs on 2 CPU models.", (
        "no noise and no calibration of a base that is missing"
    )
    assert compare_with_history([], history[4]).headline == "Nothing to compare with: a benchmark needs 5 earlier runs."


def test_a_long_history_counts_by_its_newest_runs():
    history = made_history(1, runs=NEWEST_RUNS + 30, jump=("parse", 20, 3.0))
    (parse,) = [row for row in compare_with_history(history[:-1], history[-1]).rows if row.name == "parse"]
    assert not parse.verdict and parse.interval < 0.1


def test_runs_with_missing_benchmarks_and_kernels_are_used():
    history = made_history(2)
    some = [slowed(run, 1.0) for run in history]
    for i, run in enumerate(some):
        if i % 3 == 0:
            del run.values["sort"]
        if i % 4 == 0:
            some[i] = replace(run, calibration={}, machine={})
    report = compare_with_history(some[:-1], history[-1])
    assert {row.name for row in report.rows} == {*KINDS} and not report.is_slower


def test_calibration_times_every_kernel_of_this_machine():
    kernels = calibrate(0.0)
    assert {name.split("/")[0] for name in kernels} == {"interpreter", "integer", "float", "bandwidth", "latency"}
    assert all(1e-4 < seconds < 2 for seconds in kernels.values())
    assert cpu_model()
