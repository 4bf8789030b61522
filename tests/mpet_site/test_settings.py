"""The settings: of the database connection, and of variables that are empty."""

import os
import re
import subprocess
import sys

import pytest
from django.db import connection

from tests.paths import ROOT
from tests.test_docs import read

pytestmark = pytest.mark.django_db


def test_sqlite_writes_ahead_and_waits_for_its_turn():
    if connection.vendor != "sqlite":
        pytest.skip("this is about SQLite")
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA busy_timeout").fetchone()[0] == 20000


def test_an_empty_variable_is_as_one_that_is_not_set(tmp_path):
    """As files of variables have them; only an empty rate means no limit."""
    named = set(re.findall(r"`((?:MPET_\w+|DATABASE_URL))`", read("docs/settings.md")))
    assert len(named) > 50
    folder = {"MPET_STATE_DIR": str(tmp_path), "PYTHONHASHSEED": "0"}  # sets are printed in one order
    bare = {name: value for name, value in os.environ.items() if name not in named} | folder
    bare.pop("DJANGO_SETTINGS_MODULE", None)
    found = [
        subprocess.run(
            [sys.executable, "manage.py", "diffsettings", "--all"],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
        ).stdout.splitlines()
        for environment in (bare, dict.fromkeys(named, "") | bare)
    ]  # fmt: skip
    changed = {line.split(" = ")[0] for line in set(found[0]) ^ set(found[1])}
    assert changed - {"env"} == {"REST_FRAMEWORK"}
