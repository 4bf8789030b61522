"""The settings: of the database connection, and of variables that are empty."""

import os
import re
import subprocess
import sys

import pytest
from django.db import connection

from mpet_site.settings import sqlite_options
from tests.paths import ROOT
from tests.test_docs import read

pytestmark = pytest.mark.django_db


def settings_with(folder, **variables: str) -> dict[str, str]:
    """What `diffsettings` says with these variables."""
    environment = (
        os.environ | {"MPET_STATE_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "mpet_site.settings"} | variables
    )
    printed = subprocess.run(
        [sys.executable, "manage.py", "diffsettings", "--all"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return dict(line.removeprefix("### ").split(" = ", 1) for line in printed.splitlines() if " = " in line)


def test_trust_third_12_hsts_binds_this_host_alone_unless_that_is_said(tmp_path):
    """It bound all subdomains, and asked to be preloaded into browsers."""
    names = ("SECURE_HSTS_SECONDS", "SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_HSTS_PRELOAD")
    behind_proxy = settings_with(tmp_path, MPET_HTTPS="1")
    assert [behind_proxy[name] for name in names] == ["31536000", "False", "False"]
    asked = {"MPET_HSTS_SECONDS": "60", "MPET_HSTS_SUBDOMAINS": "1", "MPET_HSTS_PRELOAD": "1"}
    bound = settings_with(tmp_path, MPET_HTTPS="1", **asked)
    assert [bound[name] for name in names] == ["60", "True", "True"]
    assert settings_with(tmp_path, **asked)["SECURE_HSTS_SECONDS"] == "0"


@pytest.mark.parametrize("in_log", [False, True])
def test_trust_third_11_a_database_in_a_folder_that_cannot_be_written(tmp_path, monkeypatch, in_log):
    """It is opened so that SQLite makes no file beside it, and what is in its log is not left out."""
    (tmp_path / "mpet.sqlite3-wal").write_text("rows" if in_log else "")
    monkeypatch.setattr(os, "access", lambda *_: False)
    options = sqlite_options(tmp_path / "mpet.sqlite3")
    assert options["NAME"] == f"file:{tmp_path}/mpet.sqlite3?{'mode=ro' if in_log else 'immutable=1'}"
    assert "init_command" not in options["OPTIONS"]


def test_the_processes_of_a_server_share_kept_pages(tmp_path):
    caches = settings_with(tmp_path)["CACHES"]
    assert "FileBasedCache" in caches and f"'{tmp_path}/pages'" in caches
    assert (tmp_path / "pages").stat().st_mode & 0o777 == 0o700
    assert "FileBasedCache" not in settings_with(tmp_path, MPET_CACHE_URL="redis://localhost:6379/0")["CACHES"]


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
