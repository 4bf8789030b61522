from itertools import pairwise

import numpy as np
import pytest

from predictor.core import curves
from predictor.core.curves import evaluated_curves
from predictor.core.database import Database
from tests.predictor.core.curves import curve_arrays


def backwards(arrays):
    """Each curve from its largest n down to n = 1: a snapshot keeps the points as they were stored."""
    at = np.concatenate([np.arange(*ends)[::-1] for ends in pairwise(arrays["curve_offsets"])])
    return {**arrays, **{name: np.asarray(arrays[name])[at] for name in ("curve_n", "curve_time_s")}}


@pytest.mark.parametrize("given", [dict, backwards], ids=["ascending", "descending"])
def test_blocks_and_the_order_of_points_change_no_bit(monkeypatch, given):
    arrays = curve_arrays(3, platforms=9, workloads=5)
    whole = evaluated_curves(Database.build(**arrays))
    monkeypatch.setattr(curves, "BLOCK_ROWS", 4)
    in_blocks = evaluated_curves(Database.build(**given(arrays)))
    for name, array in vars(whole).items():
        np.testing.assert_array_equal(getattr(in_blocks, name), array, err_msg=name)
    assert len(whole.pattern) > 2 * curves.BLOCK_ROWS


def test_a_profile_without_a_curve_is_its_t1_alone_also_between_others():
    """The points of those come behind all others, and are put in order."""
    arrays = curve_arrays(4, platforms=4, workloads=3)
    offsets = np.asarray(arrays["curve_offsets"])
    gone = np.arange(offsets[5], offsets[6])
    lengths = np.diff(offsets)
    lengths[5] = 0
    arrays |= {name: np.delete(arrays[name], gone) for name in ("curve_n", "curve_time_s")}
    arrays["curve_offsets"] = np.append(0, np.cumsum(lengths))
    database = Database.build(**arrays)
    evaluated = evaluated_curves(database)
    (row,) = np.flatnonzero(np.diff(database.curve_offsets) == 0)
    np.testing.assert_array_equal(evaluated.values[:, row], np.log(database.t1_s[row]))
    for other in np.setdiff1d(np.arange(len(database)), row).tolist():
        n, time_s = database.curve(other)
        columns = np.searchsorted(evaluated.n, n)
        np.testing.assert_array_equal(evaluated.values[columns, other], np.log(n) + np.log(time_s))


COUNTS = np.array([1, 2, 3, 8, 20, 40, 63, 64])


@pytest.mark.parametrize("rise", [-0.7, 0.0, 0.4, 1.5, np.log(64.0), 7.0])
def test_between_two_counts_a_curve_keeps_to_both_and_within_what_they_leave_open(rise):
    """Nothing has risen at the first and everything at the last; between, what it rises by keeps its sign."""
    ends = np.array([1]), np.array([64])
    risen = curves.risen(np.array([rise]), *ends, COUNTS)
    assert risen[[0, -1]] == pytest.approx([0.0, rise])
    assert (np.diff(risen) * np.sign(rise) >= 0).all()
    open_between = curves.shape_range(np.array([rise]), *ends, COUNTS)
    assert (open_between[[0, -1]] == 0).all()
    assert (open_between[1:-1] > 0).all() == (rise > 0)
    if rise <= 0:
        return
    steepest = max(1.0, 2.0 * rise / np.log(64.0))
    late = np.maximum(rise - steepest * np.log(64 / COUNTS), 0.0)
    assert (risen >= late - 1e-9).all()
    assert (risen <= late + open_between + 1e-9).all()


def test_amdahls_law_is_met_where_a_program_loses_more_than_a_machine_does(monkeypatch):
    monkeypatch.setattr(curves, "MACHINE_LOSS", 0.0)
    serial = np.log(1.0 + 0.1 * (COUNTS - 1.0))[None]
    ends = [0, len(COUNTS) - 1]
    np.testing.assert_allclose(curves.interpolate_rows(serial[:, ends], COUNTS[ends], COUNTS), serial)


def test_a_program_as_slow_with_all_threads_as_with_one_is_taken_to_be_serial_between():
    risen = curves.risen(np.log([64.0]), np.array([1]), np.array([64]), COUNTS)
    np.testing.assert_allclose(risen, np.log(COUNTS))
