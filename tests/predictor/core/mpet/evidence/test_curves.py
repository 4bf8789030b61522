import numpy as np
import pytest

from predictor.core.mpet.evidence.curves import codes_of_rows


@pytest.mark.parametrize("largest", [1, 3, 70_000])
@pytest.mark.parametrize("columns", [1, 2, 40])
def test_equal_rows_have_equal_codes(largest, columns):
    """Forty columns of so many numbers have more codes than 64 bits: they are counted anew on the way."""
    rng = np.random.default_rng(columns)
    rows = rng.integers(0, largest, size=(60, columns), endpoint=True)
    rows[40:] = rows[rng.integers(0, 40, 20)]
    rows[59, -1] = largest + 1
    codes = codes_of_rows(rows)
    expected = (rows[:, None] == rows[None, :]).all(axis=2)
    np.testing.assert_array_equal(codes[:, None] == codes[None, :], expected)


def test_no_rows_have_no_codes():
    assert codes_of_rows(np.zeros((0, 3), dtype=np.int64)).shape == (0,)
