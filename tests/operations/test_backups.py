"""Backups: what was restored elsewhere answers as what was backed up, and what is no backup changes nothing."""

import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import tarfile
import threading
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from lab.hostile.servers import Installation, bare_installation
from operations.backups import service
from operations.backups.archive import DATABASE, MANIFEST, BackupError, Manifest, check_backup, new_backup
from tests.benchmarks.tarballs import packed
from tests.conftest import skip_or_fail
from tests.mpet_site.test_postgresql import postgresql_programs
from tests.processes import output_of
from tests.samples import sample_measurements

DATABASES = ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgresql, pytest.mark.lab])]


@contextmanager
def two_installations(database: str, empty_database: Path):
    """One that is migrated, and one elsewhere without any table."""
    if database == "postgresql" and postgresql_programs() is None:
        skip_or_fail("PostgreSQL is not installed (Debian: apt install postgresql)")
    with ExitStack() as stack:
        here, elsewhere = (stack.enter_context(bare_installation(database)) for _ in range(2))
        if database == "sqlite":
            folder = Path(here.environment["MPET_STATE_DIR"])
            folder.mkdir()
            shutil.copyfile(empty_database, folder / "mpet.sqlite3")
        else:
            here.manage("migrate", "--verbosity", "0")
        yield here, elsewhere


def answers_of(made: Installation, command: str, file: Path) -> str:
    return output_of("-m", "tests.operations.answers", command, str(file), environment=made.environment)


def files_of(made: Installation) -> dict[str, bytes]:
    media = Path(made.environment["MPET_STATE_DIR"]) / "media"
    return {str(path.relative_to(media)): path.read_bytes() for path in media.rglob("*") if path.is_file()}


@pytest.mark.lab
@pytest.mark.parametrize("database", DATABASES)
def test_a_backup_restored_elsewhere_answers_every_page_and_stored_prediction_as_before(
    database, empty_database, tmp_path
):
    with two_installations(database, empty_database) as (here, elsewhere):
        before = json.loads(answers_of(here, "fill", tmp_path / "addresses"))
        here.manage("backup", str(tmp_path / "backup.tar"))
        elsewhere.manage("restore", str(tmp_path / "backup.tar"))
        after = json.loads(answers_of(elsewhere, "ask", tmp_path / "addresses"))
        assert len(before) > 90
        assert {address: answer for address, answer in after.items() if answer != before[address]} == {}
        assert sum(status == 200 for status, _ in before.values()) > 75
        assert files_of(elsewhere) == files_of(here) != {}
        keys = [Path(made.environment["MPET_STATE_DIR"]) / "secret_key" for made in (here, elsewhere)]
        assert keys[0].read_text() == keys[1].read_text()
        assert keys[1].stat().st_mode & 0o777 == 0o600


@pytest.mark.lab
def test_a_backup_that_is_made_while_others_write_holds_one_moment(empty_database, tmp_path):
    """Each upload has its file, and each file its row, whatever came and went while the backup was made."""
    with two_installations("sqlite", empty_database) as (here, elsewhere):
        (tmp_path / "results.tar.gz").write_bytes(packed(sample_measurements(1, 1)))
        here.manage("import_results", str(tmp_path / "results.tar.gz"))
        database = Path(here.environment["MPET_STATE_DIR"]) / "mpet.sqlite3"
        uploads = Path(here.environment["MPET_STATE_DIR"]) / "media/uploads"
        stop = threading.Event()

        def come_and_go() -> None:
            with closing(sqlite3.connect(database, timeout=20)) as other:
                row = dict(zip(*_first_upload(other), strict=True))
                number = 0
                while not stop.is_set():
                    number += 1
                    name = f"{number:032x}.tar.gz"
                    (uploads / name).write_bytes(b"%d" % number)
                    new = row | {"file": f"uploads/{name}", "uid": f"{number:032x}", "sha256": name, "source_id": None}
                    del new["id"]
                    names, marks = ",".join(f'"{name}"' for name in new), ",".join("?" * len(new))
                    other.execute(f"INSERT INTO benchmarks_upload ({names}) VALUES ({marks})", [*new.values()])
                    other.commit()
                    if number % 2:
                        other.execute("DELETE FROM benchmarks_upload WHERE sha256 = ?", [name])
                        other.commit()
                        (uploads / name).unlink()

        writer = threading.Thread(target=come_and_go)
        writer.start()
        try:
            here.manage("backup", str(tmp_path / "backup.tar"))
        finally:
            stop.set()
            writer.join()
        elsewhere.manage("restore", str(tmp_path / "backup.tar"))
        with closing(sqlite3.connect(Path(elsewhere.environment["MPET_STATE_DIR"]) / "mpet.sqlite3")) as restored:
            named = {name for (name,) in restored.execute("SELECT file FROM benchmarks_upload")}
        assert set(files_of(elsewhere)) == named
        assert len(named) > 2, "others wrote while the backup was made"
        assert not check_backup(tmp_path / "backup.tar").missing


def _first_upload(database: sqlite3.Connection) -> tuple[list[str], tuple]:
    found = database.execute("SELECT * FROM benchmarks_upload")
    return [column[0] for column in found.description], found.fetchone()


@pytest.fixture
def state(settings, tmp_path):
    settings.STATE_DIR = tmp_path / "state"
    settings.MEDIA_ROOT = settings.STATE_DIR / "media"
    (settings.MEDIA_ROOT / "uploads").mkdir(parents=True)
    return settings.STATE_DIR


def small_backup(path: Path, members: dict[str, bytes], **manifest) -> Path:
    known = {"created": "2026-11-23", "version": "0.1.0", "engine": "sqlite", "migrations": []} | manifest
    with new_backup(path) as writer:
        for name, content in members.items():
            source = path.with_suffix(".source")
            source.write_bytes(content)
            writer.add(name, source)
        writer.finish(Manifest(**known), path.parent)
    return path


BROKEN = {
    "another byte": (
        lambda content: content.replace(b"a file of somebody", b"a file of anybody!"),
        "differs from manifest.json",
    ),
    "no tar": (gzip.compress, "not a tar file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_backup_is_refused_before_anything_is_changed(name, state, tmp_path):
    path = small_backup(tmp_path / "b.tar", {DATABASE: b"x" * 9000, "media/uploads/1": b"a file of somebody" * 600})
    spoil, reason = BROKEN[name]
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(CommandError, match=reason):
        call_command("restore", str(path), "--replace")
    assert [*(state / "media").rglob("*.*"), *state.glob("secret_key")] == []


def test_a_backup_that_is_cut_off_anywhere_is_a_sentence_and_changes_nothing(state, tmp_path):
    path = small_backup(tmp_path / "b.tar", {DATABASE: b"x" * 9000, "media/uploads/1": b"a file of somebody" * 600})
    whole = path.read_bytes()
    with tarfile.open(path) as tar:
        last = tar.getmember(MANIFEST)
    assert last.offset > 20_000
    for length in range(0, last.offset_data + last.size, 499):
        path.write_bytes(whole[:length])
        with pytest.raises(CommandError) as caught:
            call_command("restore", str(path), "--replace")
        assert re.fullmatch(
            rf"{path} was not restored, and nothing was changed: it .*truncated.*"
            r"; copy it again from its origin, or restore an earlier backup",
            str(caught.value),
        ), (length, str(caught.value))
    assert [path for path in state.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "database",
    [b"no gzip", gzip.compress(b"no database" * 999), gzip.compress(b"x" * 999)[:-9]],
    ids=["no gzip", "no SQLite", "cut off"],
)
@pytest.mark.django_db
def test_a_backup_whose_database_is_damaged_places_no_file(database, state, tmp_path):
    if connection.vendor != "sqlite" and database.startswith(b"\x1f"):
        pytest.skip("psql says what is wrong with a text")
    path = small_backup(
        tmp_path / "b.tar", {DATABASE: database, "media/uploads/1": b"a file"}, engine=connection.vendor
    )
    with pytest.raises(CommandError, match=r"nothing was changed: its database is damaged.*restore an earlier backup"):
        call_command("restore", str(path), "--replace")
    assert [path for path in state.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "name",
    ["../outside", "/etc/outside", "media/../../outside", "mpet.sqlite3", "media//twice", "media/uploads/link"],
)
def test_a_member_that_no_backup_has_is_refused(name, tmp_path):
    with tarfile.open(tmp_path / "b.tar", "w") as tar:
        member = tarfile.TarInfo(name)
        if name.endswith("link"):
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        else:
            member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(BackupError, match="does not belong in a backup"):
        check_backup(tmp_path / "b.tar")


def test_a_member_that_is_there_twice_is_refused(tmp_path):
    with tarfile.open(tmp_path / "b.tar", "w") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo("media/uploads/1"))
    with pytest.raises(BackupError, match="member media/uploads/1 occurs twice"):
        check_backup(tmp_path / "b.tar")


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({"engine": "oracle"}, "it is a backup of oracle"),
        ({"migrations": ["profiles.9999_future"]}, r"unknown migrations \(profiles.9999_future\)"),
        ({"schema": "mpet-backup/2"}, "schema is 'mpet-backup/2'"),
    ],
)
@pytest.mark.django_db
def test_what_this_installation_cannot_hold_is_refused_with_the_reason(manifest, reason, state, tmp_path):
    with pytest.raises(BackupError, match=reason):
        service.restore_backup(small_backup(tmp_path / "b.tar", {DATABASE: b"x"}, **manifest), replace=True)


@pytest.mark.django_db
def test_data_that_is_here_is_replaced_only_when_that_is_said(alice, state, tmp_path):
    with pytest.raises(BackupError, match=r"contains data \(1 users\); --replace"):
        service.restore_backup(small_backup(tmp_path / "b.tar", {DATABASE: b"x"}))


def test_a_file_that_was_deleted_meanwhile_is_in_the_backup_of_the_moment_before(state, tmp_path, monkeypatch):
    """The row is in the dump; its file goes while the dump is made."""
    file = state / "media/uploads/1.tar.gz"
    file.write_bytes(b"content")

    def dump(to: Path) -> service.Dump:
        file.unlink(missing_ok=True)
        return service.Dump(["uploads/1.tar.gz"], [])

    monkeypatch.setattr(service, "dump_database", dump)
    with service.staging_folder() as folder:
        assert service.stage_backup(folder)[1] == []
        assert (folder / "media/uploads/1.tar.gz").read_bytes() == b"content"


def test_a_file_that_is_not_there_is_named_and_keeps_nothing_else_out(state, monkeypatch):
    (state / "media/uploads/2").write_bytes(b"there")
    monkeypatch.setattr(service, "dump_database", lambda to: service.Dump(["uploads/1", "uploads/2"], []))
    with service.staging_folder() as folder:
        _, missing = service.stage_backup(folder)
        assert missing == ["uploads/1"]
        assert [path.name for path in (folder / "media/uploads").iterdir()] == ["2"]


def test_what_a_killed_backup_left_goes_after_a_day(state):
    old, new = state / "backup-old", state / "backup-new"
    for folder in (old, new):
        (folder / "media").mkdir(parents=True)
    os.utime(old, (0, 0))
    with service.staging_folder():
        assert not old.exists()
        assert new.exists()


def test_a_backup_appears_under_its_name_when_it_is_whole(tmp_path):
    path = small_backup(tmp_path / "b.tar", {DATABASE: b"first"})
    with pytest.raises(RuntimeError), new_backup(path):
        raise RuntimeError
    assert check_backup(path).members[DATABASE]["bytes"] == len(b"first")
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as tar:
        assert tar.getnames() == [DATABASE, MANIFEST]
