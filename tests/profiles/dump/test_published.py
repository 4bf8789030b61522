"""The dump that a server offers: made when it is due, whole, by one process."""

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from datetime import timedelta
from unittest.mock import MagicMock

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from mpet_site.web.periodic_tasks import registered_periodic_tasks
from profiles.dump import export, published
from profiles.dump.export import ExportError
from profiles.dump.files import DUMP_FORMS, read_table
from profiles.dump.rows import dumped_tables
from profiles.dump.tables import PROFILES_TABLE
from profiles.models import Revision
from tests.paths import ROOT
from tests.profiles.deliveries import deliver

API = "/api/v1/dump/"


@pytest.fixture(autouse=True)
def state(settings, tmp_path, db):
    settings.STATE_DIR = tmp_path
    return tmp_path


def deliver_and_close():
    """For a thread, which has a connection of its own."""
    deliver()
    connection.close()


def test_every_form_can_be_fetched_and_is_what_was_promised(client):
    index = reverse("docs")
    assert client.get(API).json() == {"revision": None, "created": None, "files": []}
    assert client.get(f"{API}csv/").status_code == 404
    assert f'href="{index}#data"' in client.get("/platforms/").content.decode()
    assert "There is no archive of the public data yet." in client.get(index).content.decode()
    deliver()
    call_command("publish_dump")
    document = client.get(API).json()
    page = client.get(index).content.decode()
    assert 'id="data"' in page and "of revision 1," in page
    assert [file["format"] for file in document["files"]] == list(DUMP_FORMS)
    for file in document["files"]:
        content = b"".join(client.get(file["url"]).streaming_content)
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file["bytes"], file["sha256"])
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            descriptor = json.loads(archive.read("datapackage.json"))
        assert descriptor["mpet"]["revision"] == document["revision"] == 1
        address = reverse("api-dump-file", args=[file["format"]])
        assert file["url"].endswith(address) and f'href="{address}"' in page
    assert client.get(f"{API}tsv/").status_code == 404


def test_it_is_due_when_it_is_a_day_old_and_something_changed(settings, monkeypatch):
    (task,) = [task for task in registered_periodic_tasks() if task.function == published.publish_if_due]
    assert not task.soon, "a server does not begin with it"
    assert published.dump_is_due()
    deliver()
    published.publish_dump()
    assert not published.dump_is_due()
    deliver()
    assert not published.dump_is_due()
    later = timezone.now() + timedelta(hours=25)
    monkeypatch.setattr(published.timezone, "now", lambda: later)
    assert published.dump_is_due()
    settings.DUMP_HOURS = 0
    assert not published.dump_is_due()


def test_a_process_of_its_own_and_of_low_priority_makes_it(monkeypatch):
    monkeypatch.setattr(published, "dump_is_due", lambda: True)
    monkeypatch.setattr(published.settings, "BASE_DIR", ROOT)
    started, prioritise = MagicMock(), MagicMock()
    started.return_value.__enter__.return_value.pid = 4711
    monkeypatch.setattr(published.subprocess, "Popen", started)
    monkeypatch.setattr(published.os, "setpriority", prioritise)
    published.publish_if_due()
    assert started.call_args.args[0][1:] == [str(ROOT / "manage.py"), "publish_dump"]
    prioritise.assert_called_once_with(os.PRIO_PROCESS, 4711, 19)


@pytest.mark.django_db(transaction=True)
def test_what_is_uploaded_meanwhile_is_in_none_of_the_archives(monkeypatch, tmp_path):
    """A fleet is written for minutes, and somebody uploads in every one of them."""
    before = len(deliver().profiles)
    write = export.write_table

    def write_while_others_upload(*given):
        uploader = threading.Thread(target=deliver_and_close)
        uploader.start()
        uploader.join()
        return write(*given)

    monkeypatch.setattr(export, "write_table", write_while_others_upload)
    dump = published.publish_dump()
    monkeypatch.undo()
    assert (dump.revision, Revision.current()[0]) == (1, 1 + len(dumped_tables()))
    for form in DUMP_FORMS:
        with zipfile.ZipFile(dump.archive(form)) as archive:
            archive.extractall(tmp_path / form)
        assert len(list(read_table(tmp_path / form, PROFILES_TABLE, form))) == before


def test_inside_a_transaction_what_changes_all_the_time_is_not_made_for_ever(monkeypatch):
    rounds = []

    def write_while_others_upload(*_):
        rounds.append(Revision.current()[0])
        deliver()
        return 0

    monkeypatch.setattr(export, "write_table", write_while_others_upload)
    with pytest.raises(ExportError, match=r"^the database changed during all 5 attempts to read it$"):
        published.publish_dump()
    assert len(rounds) == export.MOST_ATTEMPTS_TO_EXPORT * len(dumped_tables())
    assert published.newest_dump() is None


def test_only_two_are_kept_and_a_damaged_one_is_passed_over(state):
    deliver()
    made = [published.publish_dump() for _ in range(3)]
    kept = sorted(path.name for path in (state / "dumps").iterdir())
    assert kept == [made[1].folder.name, made[2].folder.name]
    (made[2].folder / published.CONTENTS_FILE).write_text("{")
    assert published.newest_dump().folder == made[1].folder


MAKE_FOR_EVER = """
import sys, time
import django
django.setup()
from profiles.dump import published
def make(folder):
    (folder / "half.zip").write_bytes(b"half")
    print("making", flush=True)
    time.sleep(600)
published._make_archives = make
published.publish_dump()
"""


def test_one_process_makes_it_and_the_next_may_once_that_is_killed(state):
    """Trust, third audit, 9: a killed process kept all others from making dumps for six hours."""
    deliver()
    environment = os.environ | {"MPET_STATE_DIR": str(state), "DJANGO_SETTINGS_MODULE": "mpet_site.settings"}
    command = [sys.executable, "-c", MAKE_FOR_EVER]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "making\n"
        with pytest.raises(CommandError, match="another process"):
            call_command("publish_dump")
        process.kill()
    assert (state / "dumps" / "making" / "half.zip").exists()
    call_command("publish_dump")
    (made,) = (state / "dumps").iterdir()
    assert sorted(path.suffix for path in made.iterdir()) == [".json", ".zip", ".zip", ".zip"]


def test_a_failure_leaves_nothing(state, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(published.shutil, "make_archive", fail)
    with pytest.raises(CommandError, match="disk full"):
        call_command("publish_dump")
    assert list((state / "dumps").iterdir()) == []
