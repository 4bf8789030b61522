"""Counting by many processes at once, and what happens when it cannot be done."""

import stat
import subprocess
import sys
import threading

import pytest

from mpet_site.web import rate_counts
from mpet_site.web.rate_counts import COUNTS_BETWEEN_SWEEPS, CountsFile, count_event

PROCESSES, COUNTS = 4, 500
COUNTING = f"""
import sys
from pathlib import Path
from mpet_site.web.rate_counts import CountsFile
file = CountsFile(Path(sys.argv[1]))
print(max(file.count(b"key", 600)[0] for _ in range({COUNTS})))
"""


@pytest.fixture(autouse=True)
def path(settings, tmp_path):
    settings.RATES_FILE = tmp_path / "rates.sqlite3"
    return settings.RATES_FILE


def test_processes_count_together_and_lose_nothing(path):
    running = [
        subprocess.Popen([sys.executable, "-c", COUNTING, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    highest = [int(process.communicate(timeout=60)[0]) for process in running]
    assert max(highest) == PROCESSES * COUNTS


def run_threads(target, *arguments) -> None:
    threads = [threading.Thread(target=target, args=arguments) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_count_together(path):
    counts = []
    run_threads(lambda: counts.extend(count_event("x", 600)[0] for _ in range(50)))
    assert sorted(counts) == list(range(1, 401))


def test_threads_that_begin_a_new_file_together_wait_for_each_other(tmp_path):
    """28 of 400 times one was refused at once, before any wait, and its request was not counted."""
    counts = []

    def begin(path, together):
        together.wait()
        counts.append(CountsFile(path).count(b"key", 600)[0])

    for number in range(60):
        run_threads(begin, tmp_path / f"{number}.sqlite3", threading.Barrier(8))
    assert sorted(counts) == sorted(60 * list(range(1, 9)))


def test_who_reads_the_clock_first_and_counts_last_does_not_begin_the_window_anew(monkeypatch):
    clock = iter([1_000_000.001, 1_000_000.0, 1_000_000.002])
    monkeypatch.setattr(rate_counts.time, "time", lambda: next(clock))
    assert [count_event("x", 60)[0] for _ in range(3)] == [1, 2, 3]


def test_a_window_ends_and_begins_anew(monkeypatch):
    now = 1_000_000.0
    monkeypatch.setattr(rate_counts.time, "time", lambda: now)
    assert [count_event("x", 60) for _ in range(2)] == [(1, 60.0), (2, 60.0)]
    now += 59
    assert count_event("x", 60) == (3, 1.0)
    now += 1
    assert count_event("x", 60) == (1, 60.0)
    assert count_event("y", 60) == (1, 60.0)


def test_a_clock_that_was_set_back_locks_nobody_out(monkeypatch):
    now = 1_000_000.0
    monkeypatch.setattr(rate_counts.time, "time", lambda: now)
    count_event("x", 60)
    now -= 3_600
    assert count_event("x", 60) == (1, 60.0)


def test_what_ended_is_swept_away(path, monkeypatch):
    now = 1_000_000.0
    monkeypatch.setattr(rate_counts.time, "time", lambda: now)
    file = CountsFile(path)
    for number in range(COUNTS_BETWEEN_SWEEPS - 1):
        file.count(str(number).encode(), 60)
    now += 61
    file.count(b"last", 60)
    assert file.connection.execute("SELECT count(*) FROM counts").fetchone() == (1,)


def test_nobody_else_can_read_who_came(path):
    count_event("anon 192.0.2.7", 60)
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.glob("rates*")} == {0o600}
    assert b"192.0.2.7" not in b"".join(file.read_bytes() for file in path.parent.glob("rates*"))


def test_a_broken_file_is_made_anew(path, caplog):
    path.write_bytes(b"this is no database at all" * 100)
    assert count_event("x", 60) == (1, 60.0)
    assert "not counted" in caplog.text
    assert [count_event("x", 60)[0] for _ in range(2)] == [1, 2]


def test_where_nothing_can_be_counted_everybody_may_come(settings, tmp_path, caplog):
    settings.RATES_FILE = tmp_path / "no-folder" / "rates.sqlite3"
    assert [count_event("x", 60) for _ in range(2)] == [(1, 60.0)] * 2
    assert "not counted" in caplog.text


def test_a_shared_cache_counts_instead(settings, path):
    settings.CACHE_IS_SHARED = True
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "counting"}}
    counts = [count_event("x", 60) for _ in range(3)]
    assert [count for count, _ in counts] == [1, 2, 3]
    assert all(59 < left <= 60 for _, left in counts)
    assert not path.exists()


def test_a_shared_cache_that_is_gone_keeps_nobody_out(settings, monkeypatch, caplog):
    settings.CACHE_IS_SHARED = True

    def fail(*_args):
        raise ConnectionError("no such server")

    monkeypatch.setattr(rate_counts, "count_in_cache", fail)
    assert count_event("x", 60) == (1, 60.0)
    assert "no such server" in caplog.text
