"""A few kills of real processes (trust 5, third audit 9 and 12); the long campaign: `python -m lab.hostile.kills`."""

import io
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing

import pytest

from lab.hostile.kill_clients import Quarantined, what_is_wrong_with
from lab.hostile.killed_site import Tarball
from lab.hostile.kills import Campaign, may_belong_to
from tests.paths import ROOT
from tests.processes import environment_of

QUICK = {"MPET_LEASE_SECONDS": "3", "MPET_CHORE_SECONDS": "0.5"}
NEVER_SENT = Tarball(b"", (0, 0, 0))


@pytest.mark.lab
@pytest.mark.parametrize("mode", ["immediate", "database"])
def test_kills_lose_no_upload_and_leave_nothing_stuck(migrated_folder, mode):
    """Whatever can be killed is, once."""
    campaign = Campaign(migrated_folder, mode, environment=QUICK, longest_pause_s=1.5)
    victims = {*campaign.site.victims()}
    figures = campaign.run(kills=len(victims), rounds=1, age_files=True)
    assert figures.wrong == []
    assert figures.kills == dict.fromkeys(victims, 1)
    assert figures.acknowledged > 0
    assert figures.dumps_made_after_kills == 1


KILLED_WORKER = """
import os, signal, django
django.setup()
from django.core.management import call_command
from django.db import connection
from benchmarks.management.commands import db_worker
from tests.benchmarks.uploads import receive, tarball
from tests.mpet_site.api_samples import make_user

def kill(execute, sql, *more):
    if sql.startswith('INSERT INTO "profiles_run"'):
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(sql, *more)

receive(tarball(), make_user("ada"))
db_worker.start_periodic_tasks = lambda: None  # they would give the task to others before it is killed
with connection.execute_wrapper(kill):
    call_command("db_worker", batch=True, startup_delay=False, reload=False)
"""
STATES = """
SELECT status FROM benchmarks_upload UNION ALL SELECT status FROM django_tasks_database_dbtaskresult
WHERE status NOT IN ('SUCCESSFUL')
"""


def test_what_a_killed_worker_had_in_hand_is_done_by_the_next(migrated_folder):
    """django-tasks-db leaves the task RUNNING, and the upload would stay "processing"."""
    quick = {"MPET_LEASE_SECONDS": "1", "MPET_CHORE_SECONDS": "0.5"}
    environment = environment_of(migrated_folder, MPET_TASKS="database", **quick)

    def states():
        with closing(sqlite3.connect(migrated_folder / "mpet.sqlite3", timeout=60)) as database:
            return [state for (state,) in database.execute(STATES)]

    killed = subprocess.run([sys.executable, "-c", KILLED_WORKER], cwd=ROOT, env=environment, check=False)
    assert (killed.returncode, states()) == (-9, ["processing", "RUNNING"])
    command = [sys.executable, "manage.py", "db_worker", "--interval", "0.2"]
    worker = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        end = time.monotonic() + 60  # within which it is promised
        while states() != ["accepted"] and time.monotonic() < end:
            time.sleep(0.1)
    finally:
        worker.terminate()
        worker.wait()
    assert states() == ["accepted"]


def test_the_campaign_sees_what_is_wrong(migrated_folder):
    """An upload that is lost, and one that is still there though it was deleted, are told."""
    campaign = Campaign(migrated_folder, "immediate", environment=QUICK)
    assert campaign.disorder() == []
    campaign.clients.acknowledged["lost"] = "id"
    campaign.clients.deleted.add("there")
    assert campaign.disorder() == ["acknowledged upload lost is missing"]
    campaign.clients.acknowledged.clear()
    assert campaign._wrong_owners({"there": ["ada"], "twice": ["bob", "carl"]}) == [
        "twice is stored 2 times, for ['bob', 'carl']",
        "deleted upload there is still stored",
    ]


@pytest.mark.parametrize(
    ("what", "owners"),
    [
        ({}, ["quarantine-1"]),
        ({"deletion_asked": True}, ["quarantine-1", None]),
        ({"deletion_asked": True, "deleted": True}, [None]),
        ({"asked": {"bob"}}, ["quarantine-1", "bob"]),
        ({"asked": {"bob", "carl"}, "answers": {"bob": 404, "carl": 200}}, ["carl"]),
        ({"asked": {"bob", "carl"}, "answers": {"bob": 404, "carl": 0}}, ["bob", "carl"]),
        ({"asked": {"bob", "carl"}, "answers": {"bob": 200, "carl": 200}}, []),
    ],
)
def test_whose_an_upload_without_an_account_may_be(what, owners):
    row = Quarantined(NEVER_SENT, "quarantine/secret/", **what)
    assert [owner for owner in ("quarantine-1", "bob", "carl", None) if may_belong_to(row, owner)] == owners


def test_a_dump_that_is_cut_off_or_another_is_told():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.csv", "a" * 99)
    content = file.getvalue()
    announced = {"files": [{"format": "csv", "sha256": "0"}]}
    assert what_is_wrong_with(content, "csv", None) == []
    assert "differs from the announced one" in what_is_wrong_with(content, "csv", announced)[0]
    assert "is not an archive" in what_is_wrong_with(content[:-9], "csv", None)[0]
    assert "damaged member" in what_is_wrong_with(content.replace(b"aaaa", b"aaab", 1), "csv", None)[0]
