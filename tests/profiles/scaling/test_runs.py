"""From runs to curves: Table 1, worked by hand and as properties. Eq. 3-4 and its clamps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.measurements import CounterTable, RunTable
from profiles.scaling.names import CURVE_NAMES, FRACTIONS, RELATIVE_MEASURES
from profiles.scaling.runs import reconstruct, scaling_curves
from tests.samples import runs_of, sample_counters, sample_runs


def decomposed(*rows) -> RunTable:
    """Rows (n, time_ns, parts without `use` or None for a clean run)."""
    parts_ns = []
    for n, time_ns, parts in rows:
        parts_ns.append([-1] * 7 if parts is None else [n * time_ns - sum(parts), *parts])
    time_ns = np.array([row[1] for row in rows], dtype=np.int64)
    return RunTable(
        n=np.array([row[0] for row in rows], dtype=np.int64),
        repeat=np.arange(1, len(rows) + 1),
        is_profile_pass=np.array([row[2] is not None for row in rows]),
        time_s=time_ns / 1e9,
        time_ns=time_ns,
        parts_ns=np.array(parts_ns, dtype=np.int64),
    )


def counters(*rows) -> CounterTable:
    """Rows (n, counter, value, status)."""
    n, names, value, status = zip(*rows, strict=True)
    return CounterTable(
        n=np.array(n), repeat=np.arange(len(n)), counter=names, value=np.array(value, float), status=status
    )


def shuffled(table, order):
    """The same rows in another order."""
    columns = {
        name: tuple(column[i] for i in order) if isinstance(column, tuple) else column[order]
        for name, column in vars(table).items()
        if column is not None
    }
    return replace(table, **columns)


WORKED = (  # t(1) = 1000 ns of clean runs; at n = 2 two profile repeats of 600 and 650 ns around a clean 600 ns
    (1, 1000, None),
    (1, 1010, (0, 0, 101, 0, 0, 0)),
    (2, 600, None),
    (2, 600, (12, 240, 0, 0, 6, 0)),
    (2, 650, (13, 260, 25, 5, 0, 0)),
)


def test_a_decomposed_profile_worked_by_hand():
    curves = scaling_curves(decomposed(*WORKED))
    assert curves.n.tolist() == [1, 2]
    assert curves.time_s.tolist() == [1000 / 1e9, 600 / 1e9]
    assert curves.curve("lock_delay").tolist() == [0, 25 / 2500]
    assert curves.curve("work_imbalance").tolist() == [0, 500 / 2500]
    assert curves.curve("task_creation").tolist() == [101 / 1010, 25 / 2500]
    assert curves.curve("task_distribution").tolist() == [0, 5 / 2500]
    assert curves.curve("task_switching").tolist() == [0, 6 / 2500]
    assert curves.curve("task_join").tolist() == [0, 0]
    used = 1 - (25 + 500 + 25 + 5 + 6) / 2500
    np.testing.assert_allclose(curves.utilisation, [0.9, used], rtol=1e-15)
    np.testing.assert_allclose(curves.redundancy, [0.9, 2 * 600 / 1000 * used], rtol=1e-15)
    assert (curves.decomposed, curves.sequential, curves.t1_is_stand_in, curves.warnings) == (True, False, False, ())


@pytest.mark.parametrize(("times", "median"), [([4.1], 4.1), ([5.0, 3.0], 4.0), ([9.0, 1.0, 2.0], 2.0)])
def test_time_is_the_median_of_the_repeats(times, median):
    assert scaling_curves(runs_of({1: [12.0], 4: times})).time_s.tolist() == [12.0, median]


def test_a_time_only_profile_counts_every_loss_as_redundancy():
    curves = scaling_curves(runs_of({1: [12.0], 4: [4.0], 2: [6.5]}))
    assert curves.n.tolist() == [1, 2, 4]
    np.testing.assert_allclose(curves.redundancy, [1, 13 / 12, 4 / 3], rtol=1e-15)
    assert curves.utilisation.tolist() == [1, 1, 1]
    assert curves.fractions is None
    assert all(np.isnan(curves.curve(name)).all() for name in CURVE_NAMES if name != "redundancy")


def test_profile_runs_give_the_time_where_no_clean_run_does():
    curves = scaling_curves(decomposed((1, 1000, None), (1, 5000, (0,) * 6), (2, 700, (0,) * 6), (2, 720, (0,) * 6)))
    np.testing.assert_allclose(curves.time_s, [1e-6, 0.71e-6], rtol=1e-15)
    assert curves.warnings == ("no clean run at n = 2: t(n) is of the profile runs",)


def test_where_no_profile_run_is_the_parts_and_the_redundancy_are_invalid():
    curves = scaling_curves(decomposed((1, 1000, (0,) * 6), (1, 1000, None), (2, 700, None), (4, 500, None)))
    assert curves.decomposed
    assert np.isnan(curves.values[1:8, 1:]).all()
    assert np.isnan(curves.utilisation).tolist() == [False, True, True]
    assert curves.time_s.tolist() == [1000 / 1e9, 700 / 1e9, 500 / 1e9]
    assert curves.redundancy[0] == 1
    assert curves.warnings == ("no profile run at n = 2, 4: no parts and no redundancy there",)


def test_a_late_start_has_a_stand_in_for_t1_and_is_not_sequential():
    curves = scaling_curves(runs_of({8: [2.0], 16: [1.5]}))
    assert (curves.t1_s, curves.t1_is_stand_in, curves.sequential) == (16.0, True, False)
    assert curves.redundancy.tolist() == [1, 1.5]
    assert curves.warnings == ("no run at n = 1: t(8) * 8 stands in for t(1)",)
    alone, late = scaling_curves(runs_of({1: [2.0, 2.2]})), scaling_curves(runs_of({8: [2.0]}))
    assert (alone.sequential, alone.t1_s, alone.redundancy.tolist()) == (True, 2.1, [1])
    assert (late.sequential, late.t1_s) == (False, 16.0)


def test_a_profile_needs_runs_and_parts_and_has_only_known_curves():
    with pytest.raises(KeyError, match="time_s"):
        scaling_curves(runs_of({1: [1.0]})).curve("time_s")
    none = np.array([], dtype=np.int64)
    with pytest.raises(ValueError, match="at least one run"):
        scaling_curves(RunTable(n=none, repeat=none, is_profile_pass=none.astype(bool), time_s=none.astype(float)))
    with pytest.raises(ValueError, match="parts"):
        scaling_curves(replace(decomposed((1, 1000, (0,) * 6)), parts_ns=None))
    with pytest.raises(ValueError, match="nanoseconds"):
        scaling_curves(replace(decomposed((1, 1000, (0,) * 6)), time_ns=None))


def test_thread_time_beyond_64_bits_does_not_overflow():
    hours = 3_600 * 10**9 * 10_000
    half = 256 * hours // 2
    curves = scaling_curves(decomposed(*[(256, hours, (half, 0, 0, 0, 0, 0))] * 3))
    assert 3 * 256 * hours > 2**63
    assert curves.curve("lock_delay").tolist() == [0.5]
    assert curves.utilisation.tolist() == [0.5]


def test_relative_measures_are_ratios_of_medians():
    runs = runs_of({1: [2.0], 2: [1.0]})
    table = counters(
        (1, "INSTR", 1000, "ok"),
        (1, "INSTR", 2000, "multiplexed"),
        (1, "BR", 300, "ok"),
        (1, "BR-M", 30, "ok"),
        (2, "INSTR", 4000, "ok"),
        (2, "BR", 400, "ok"),
        (2, "BR-M", np.nan, "not-scheduled"),
        (3, "BR-M", 7, "ok"),
    )
    curves = scaling_curves(runs, table)
    assert curves.curve("BR/INSTR").tolist() == [0.2, 0.1]
    np.testing.assert_array_equal(curves.curve("BR-M/BR"), [0.1, np.nan])
    np.testing.assert_array_equal(curves.curve("BR-M/INSTR"), [0.02, np.nan])
    assert all(np.isnan(curves.curve(name)).all() for name in list(RELATIVE_MEASURES)[3:])


INSTR, BR = (1, "INSTR", 1000, "ok"), (1, "BR", 100, "ok")
UNUSABLE = ("unsupported", "no-permission", "not-scheduled")
READINGS = {
    "statuses": ([INSTR, BR, *((1, "BR", 900, status) for status in UNUSABLE)], "BR/INSTR", [0.1]),
    "a denominator 0": ([(1, "LLC-LDM", 0, "ok"), (1, "L1-LD", 10, "ok")], "L1-LD/LLC-LDM", [np.nan]),
    "a numerator 0": ([BR, (1, "BR-M", 0, "ok")], "BR-M/BR", [0]),
    "LIKWID's names": ([BR, (1, "instructions", 1000, "ok")], "BR/INSTR", [0.1]),
    "infinite": ([BR, (1, "INSTR", np.inf, "ok")], "BR/INSTR", [np.nan]),
    "none of this n": ([(1, "INSTR", 5, "unsupported"), (2, *BR[1:])], "BR/INSTR", [np.nan]),
}


@pytest.mark.parametrize("case", READINGS)
def test_which_readings_count(case):
    readings, name, expected = READINGS[case]
    np.testing.assert_array_equal(scaling_curves(runs_of({1: [1.0]}), counters(*readings)).curve(name), expected)


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), split=st.booleans())
def test_measured_curves_give_the_measured_times_back(seed, split):
    """Eq. 3 with R(n) = n t(n) U(n) / t(1) is exact before anything is fitted."""
    curves = scaling_curves(sample_runs(np.random.default_rng(seed), decomposed=split))
    rebuilt = reconstruct(curves.t1_s, curves.redundancy, curves.fractions, curves.n)
    np.testing.assert_allclose(rebuilt.time_s, curves.time_s, rtol=1e-12)
    np.testing.assert_array_equal(rebuilt.utilisation, curves.utilisation)
    assert rebuilt.clamps == ()
    assert curves.redundancy[0] == curves.utilisation[0]


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_runs_and_readings_is_irrelevant(seed):
    rng = np.random.default_rng(seed)
    runs, readings = sample_runs(rng), sample_counters(rng)
    expected = scaling_curves(runs, readings)
    other = scaling_curves(
        shuffled(runs, rng.permutation(len(runs))), shuffled(readings, rng.permutation(len(readings)))
    )
    np.testing.assert_array_equal(other.values, expected.values)
    np.testing.assert_array_equal(other.n, expected.n)
    assert other.warnings == expected.warnings


NONE = np.zeros((6, 2))


def test_times_by_hand():
    fractions = np.array([[0, 0], [0, 0.25], [0, 0], [0.1, 0], [0, 0], [0, 0]])
    rebuilt = reconstruct(12.0, np.array([0.9, 1.2]), fractions, [1, 4])
    np.testing.assert_allclose(rebuilt.time_s, [12.0, 4.8], rtol=1e-15)
    np.testing.assert_allclose(rebuilt.utilisation, [0.9, 0.75], rtol=1e-15)
    assert rebuilt.clamps == ()
    time_only_curves = reconstruct(12.0, np.array([1.0, 1.5]), None, [1, 3])
    assert (time_only_curves.time_s.tolist(), time_only_curves.utilisation.tolist()) == ([12.0, 6.0], [1, 1])
    redundancy = np.array([[1.0, 1.5], [1.0, 2.0]])  # a batch, in which each curve has its own t(1)
    batch = reconstruct(np.array([10.0, 20.0]), redundancy, np.zeros((2, 6, 2)), [1, 2])
    assert batch.time_s.tolist() == [[10.0, 7.5], [20.0, 20.0]]


@pytest.mark.parametrize("row", range(6))
def test_each_fraction_is_kept_between_0_and_1_by_name(row):
    below, above = NONE.copy(), NONE.copy()
    below[row, 1] = -0.5
    above[row, 1] = 1.5
    assert reconstruct(1.0, np.ones(2), below, [1, 2]).clamps == (f"{FRACTIONS[row]} below 0",)
    assert reconstruct(1.0, np.ones(2), below, [1, 2]).time_s.tolist() == [1.0, 0.5]
    rebuilt = reconstruct(1.0, np.ones(2), above, [1, 2])
    assert rebuilt.clamps == (f"{FRACTIONS[row]} above 1", "utilisation below 0.01")
    assert rebuilt.time_s.tolist() == [1.0, 50.0]


def test_redundancy_stays_positive():
    rebuilt = reconstruct(1.0, np.array([1.0, -3.0]), None, [1, 2])
    assert rebuilt.clamps == ("redundancy below 1e-09",)
    assert rebuilt.time_s.tolist() == [1.0, 0.5e-9]


def test_invalid_stays_invalid_and_is_no_clamp():
    fractions = NONE.copy()
    fractions[2, 0] = np.nan
    rebuilt = reconstruct(1.0, np.array([1.0, np.nan]), fractions, [1, 2])
    assert np.isnan(rebuilt.time_s).all()
    assert rebuilt.clamps == ()
    assert np.isnan(reconstruct(np.nan, np.ones(2), None, [1, 2]).time_s).all()
