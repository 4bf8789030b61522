"""Counts of recent events, shared by all processes of a server.

Counts are kept in the cache of MPET_CACHE_URL, which several servers can share, or else in an SQLite file in the state
folder. Each count is one atomic operation. With Django's per-process cache, each of n processes would count on its own,
and concurrent events would be lost.
"""

from __future__ import annotations

import itertools
import logging
import os
import sqlite3
import threading
import time
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from django.conf import settings
from django.core.cache import cache

logger = logging.getLogger(__name__)

LOCK_TIMEOUT_S = 1.0  # one count takes about 20 microseconds
COUNTS_BETWEEN_SWEEPS = 1_000
TABLE = "CREATE TABLE IF NOT EXISTS counts (key BLOB PRIMARY KEY, ends REAL NOT NULL, count INTEGER NOT NULL)"
# If a window ends much later than a window that starts now, the clock was set back, and the window starts again. The
# factor 2 allows for a process that read the clock first and counts last, which must not start the window again.
COUNT = """
INSERT INTO counts (key, ends, count) VALUES (:key, :now + :window, 1)
ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN ends <= :now OR ends > :now + 2 * :window THEN 1 ELSE count + 1 END,
    ends = CASE WHEN ends <= :now OR ends > :now + 2 * :window THEN :now + :window ELSE ends END
RETURNING count, ends - :now
"""
SWEEP = "DELETE FROM counts WHERE ends <= :now"


@dataclass
class CountsFile:
    """An SQLite file of counts that all processes open.

    The counts are worthless after a crash of the machine, so writes do not wait for the disk.
    """

    path: Path
    connection: sqlite3.Connection = field(init=False)
    counted: itertools.count = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.path.touch(mode=0o600)
        self.connection = sqlite3.connect(self.path, timeout=LOCK_TIMEOUT_S, isolation_level=None)
        # While another connection creates the log of a new file, SQLite ignores the timeout and fails at once.
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.001)
        self.connection.execute("PRAGMA synchronous=OFF")
        self.connection.execute(TABLE)

    def count(self, key: bytes, window_s: float) -> tuple[int, float]:
        now = time.time()
        if next(self.counted) % COUNTS_BETWEEN_SWEEPS == COUNTS_BETWEEN_SWEEPS - 1:
            self.connection.execute(SWEEP, {"now": now})
        row = self.connection.execute(COUNT, {"key": key, "now": now, "window": window_s}).fetchone()
        return int(row[0]), float(row[1])


_of_thread = threading.local()


def counts_file() -> CountsFile:
    """Return this thread's connection to the counts file. A forked process opens its own connection."""
    place = (os.getpid(), settings.RATES_FILE)
    if getattr(_of_thread, "place", None) != place:
        _of_thread.file = CountsFile(Path(settings.RATES_FILE))
        _of_thread.place = place
    file: CountsFile = _of_thread.file
    return file


def count_event(name: str, window_s: int) -> tuple[int, float]:
    """Return the number of events in the current window, including this one, and the seconds until the window ends.

    A window starts with the first event after the end of the last window. If counting fails, the event counts as the
    first one, because a full disk must not lock everybody out.
    """
    key = blake2b(name.encode(errors="replace"), digest_size=20, key=settings.SECRET_KEY.encode()[:64])
    try:
        if settings.CACHE_IS_SHARED:
            return count_in_cache(key.hexdigest(), window_s)
        return counts_file().count(key.digest(), window_s)
    except Exception as error:  # includes errors of the configured cache
        logger.warning("Requests are not counted: %r", error)
        _of_thread.place = None
        if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.OperationalError):  # a broken file
            Path(settings.RATES_FILE).unlink(missing_ok=True)
        return 1, float(window_s)


def count_in_cache(key: str, window_s: int) -> tuple[int, float]:
    """Count in the shared cache, which deletes the count when its window ends."""
    now = time.time()
    cache.add(f"rate:{key}:ends", now + window_s, window_s)
    cache.add(f"rate:{key}", 0, window_s)
    try:
        count = cache.incr(f"rate:{key}")
    except ValueError:  # the window ended between these calls
        return 1, float(window_s)
    return count, max(0.0, (cache.get(f"rate:{key}:ends") or now) - now)
