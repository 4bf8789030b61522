"""The settings of the database connection."""

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db


def test_sqlite_writes_ahead_and_waits_for_its_turn():
    if connection.vendor != "sqlite":
        pytest.skip("this is about SQLite")
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA busy_timeout").fetchone()[0] == 20000
