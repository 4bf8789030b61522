"""The settings: of the database connection, and of variables that are empty."""

import os
import re
import runpy
from unittest import mock

import pytest
from django.db import connection

from mpet_site.settings import sqlite_options
from tests.paths import ROOT
from tests.test_docs import read

pytestmark = pytest.mark.django_db


def settings_with(folder, **variables: str) -> dict[str, str]:
    """What the module of settings holds with these variables, as it is printed."""
    environment = os.environ | {"MPET_STATE_DIR": str(folder)} | variables
    with mock.patch.dict(os.environ, environment, clear=True):
        found = runpy.run_path(str(ROOT / "mpet_site" / "settings.py"))
    return {name: repr(value) for name, value in found.items() if name.isupper()}


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
    bare = {name: value for name, value in os.environ.items() if name not in named}
    emptied = dict.fromkeys(named - {"MPET_STATE_DIR"}, "")
    with mock.patch.dict(os.environ, bare, clear=True):
        unset, empty = settings_with(tmp_path), settings_with(tmp_path, **emptied)
    assert {name for name in unset if unset[name] != empty[name]} == {"REST_FRAMEWORK"}
