from itertools import pairwise

import numpy as np
import pytest

from predictor.core.database import Database
from predictor.core.mpet import curves
from predictor.core.mpet.curves import evaluated_curves
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
