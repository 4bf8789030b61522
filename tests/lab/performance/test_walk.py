"""The walk through all pages, chores and commands: what it names, and that it leaves nothing out."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import get_commands
from django.db import connection
from django.test import Client

from lab.performance import walk
from profiles.models import Platform, Profile
from tests.paths import ROOT
from tests.predictor.conftest import store
from tests.samples import sample_measurements


@pytest.fixture
def large(db, monkeypatch):
    monkeypatch.setattr(walk, "LARGE_ROWS", 3)
    monkeypatch.setattr(walk, "_large", set())
    monkeypatch.setattr(walk, "_alone", {})
    store(sample_measurements(2, 4))


def test_every_command_is_walked_or_has_a_reason():
    applications = {config.name for config in apps.get_app_configs() if Path(config.path).parent == ROOT}
    ours = {name for name, application in get_commands().items() if application in applications}
    walked = {command for command, *_ in walk.commands(Path("folder"), "workload", "target")}
    assert walked | set(walk.NOT_WALKED) == ours
    assert not walked & set(walk.NOT_WALKED)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the plans are those of SQLite")
def test_a_query_that_reads_a_large_table_whole_is_named(large):
    row = walk.measured_row("chore", "count", lambda: list(Profile.objects.filter(t1_s__gt=1)))
    assert [(one["plan"], one["repeated"]) for one in row["whole"]] == [("SCAN profiles_profile", False)]
    few = walk.measured_row("page", "platforms", lambda: list(Platform.objects.filter(threads=1)))
    assert few["whole"] == []
    table = "".join(walk.tables([row, few]))
    assert "| chore | `count` |" in table
    assert "| SCAN profiles_profile | no |" in table


def test_what_fails_is_a_row(large):
    row = walk.measured_row("page", "/broken/", lambda: 1 / 0)
    assert row["error"] == "ZeroDivisionError: division by zero"
    assert "`/broken/` (ZeroDivisionError: division by zero)" in "".join(walk.tables([row]))


def test_fixed_addresses_are_those_without_a_parameter(db):
    addresses = walk.fixed_addresses()
    assert {"/", "/platforms/", "/api/v1/profiles/", "/moderation/", "/docs/"} <= set(addresses)
    assert Client().get(addresses[0]).status_code == 200


def test_what_was_measured_before_a_process_ended_is_kept(monkeypatch):
    row = {"kind": "page", "name": "/", "seconds": 1.0, "queries": 2, "whole": []}
    ended = subprocess.CompletedProcess(
        [], -signal.SIGXCPU, f"\n{json.dumps(row)}\nsomething else\n\n{json.dumps(row)}\n"
    )
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    rows = walk.walk({}, seconds=60, walks=("pages",))
    assert rows.count("| page | `/` | 1 | 2 | 0 |") == 2
    assert "| pages | `pages after these` | over 600 s |" in rows
