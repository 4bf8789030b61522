import os
import time

from profiles.leftovers import is_older_than


def test_what_was_written_long_ago_is_older_and_what_is_gone_is_not(tmp_path):
    left = tmp_path / "left"
    left.mkdir()
    assert not is_older_than(left, 60)
    os.utime(left, times=(time.time() - 120,) * 2)
    assert is_older_than(left, 60)
    assert not is_older_than(left, 180)
    assert not is_older_than(tmp_path / "gone", 60)
