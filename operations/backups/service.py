"""Backups of the whole installation, created while it serves requests, and their restoration here or elsewhere."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from mpet_site.state_folder import PRIVATE_FILE_MODE, is_older_than, make_private, replace_private_file
from operations.backups.archive import (
    DATABASE,
    MEDIA,
    SECRET_KEY,
    BackupError,
    BackupWriter,
    Manifest,
    check_backup,
    extract,
    new_backup,
)
from operations.backups.databases import Dump, dump_database, load_database, unpack_database

STAGING = "backup-"
ABANDONED_AFTER_S = 86_400.0
MOST_TRIES = 5
OWN_DATA = ("auth.User", "profiles.Profile", "benchmarks.Upload")


def create_backup(path: Path, on_member: Callable[[str], Any] = lambda _: None) -> Manifest:
    """Write a backup of the database, the uploaded files to which it refers, and the secret key. Raise BackupError."""
    with staging_folder() as folder:
        dump, missing = stage_backup(folder)
        manifest = Manifest(
            created=timezone.now().isoformat(timespec="seconds"),
            version=settings.CODE_VERSION,
            engine=connection.vendor,
            migrations=dump.migrations,
            missing=missing,
        )
        with new_backup(path) as writer:
            _add_members(writer, folder, on_member)
            writer.finish(manifest, folder)
    return manifest


def stage_backup(folder: Path) -> tuple[Dump, list[str]]:
    """Dump the database, link the files to which it refers, and return the dump and the names of missing files.

    The files are linked before and after the dump. An uploaded file never changes, and a file that is deleted meanwhile
    keeps its content under the link. If a file was created and deleted between the two passes, the database is dumped
    again.
    """
    media, linked = Path(settings.MEDIA_ROOT), folder / MEDIA
    link_files(media, linked)
    missing: list[str] = []
    for _ in range(MOST_TRIES):
        dump = dump_database(folder / DATABASE)
        link_files(media, linked)
        before, missing = missing, [name for name in dump.files if not (linked / name).is_file()]
        if not missing or missing == before:
            break
    named = {linked / name for name in dump.files}
    for path in [path for path in linked.rglob("*") if path.is_file() and path not in named]:
        path.unlink()
    return dump, missing


def link_files(media: Path, linked: Path) -> None:
    """Create a hard link below `linked` for every file, or a copy where the file system has no links."""
    for path in [path for path in media.rglob("*") if path.is_file()]:
        to = linked / path.relative_to(media)
        to.parent.mkdir(parents=True, exist_ok=True)
        if to.exists():
            continue
        try:
            os.link(path, to)
        except FileNotFoundError:
            continue
        except OSError:
            shutil.copyfile(path, to)


def _add_members(writer: BackupWriter, folder: Path, on_member: Callable[[str], Any]) -> None:
    key = Path(settings.STATE_DIR) / SECRET_KEY
    if key.is_file():
        shutil.copyfile(key, folder / SECRET_KEY)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        writer.add(name, path)
        on_member(name)


@contextmanager
def staging_folder() -> Iterator[Path]:
    """Create a temporary folder in the state folder, on the file system of the uploads. Delete folders of killed
    processes."""
    state = Path(settings.STATE_DIR)
    for leftover in state.glob(f"{STAGING}*"):
        if leftover.is_dir() and is_older_than(leftover, ABANDONED_AFTER_S):
            shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=STAGING, dir=state) as folder:
        yield Path(folder)


def restore_backup(path: Path, *, replace: bool = False, on_read: Callable[[int], Any] = lambda _: None) -> Manifest:
    """Replace this installation's database, files and secret key by those of a backup, and apply missing migrations.

    Nothing is changed before the whole backup has been checked. Raise BackupError.
    """
    manifest = check_backup(path, on_read)
    if manifest.engine != connection.vendor:
        raise BackupError(f"it is a backup of {manifest.engine}, but DATABASE_URL names {connection.vendor}")
    if unknown := sorted(set(manifest.migrations) - known_migrations()):
        raise BackupError(f"a newer version of MPET made it: it has unknown migrations ({', '.join(unknown)})")
    if not replace and (existing := describe_stored_data()):
        raise BackupError(f"this installation contains data ({existing}); --replace overwrites it with the backup")
    with staging_folder() as folder:
        extract(path, folder)
        database = unpack_database(folder / DATABASE)
        _place_files(folder / MEDIA)
        load_database(database)
        if (folder / SECRET_KEY).is_file():
            replace_private_file(Path(settings.STATE_DIR) / SECRET_KEY, (folder / SECRET_KEY).read_bytes())
    call_command("migrate", verbosity=0, interactive=False)
    return manifest


def known_migrations() -> set[str]:
    """Return the migrations of this code, including those that have been squashed since."""
    loader = MigrationLoader(None)
    replaced = {key for migration in loader.disk_migrations.values() for key in migration.replaces}
    return {f"{app}.{name}" for app, name in {*loader.disk_migrations, *replaced}}


def describe_stored_data() -> str:
    """Describe the data that would be lost, as "3 users, 12 profiles". Return "" if nothing is stored."""
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
    models = [model for model in map(apps.get_model, OWN_DATA) if model._meta.db_table in tables]
    counts = [(model._default_manager.count(), str(model._meta.verbose_name_plural)) for model in models]
    return ", ".join(f"{count} {name}" for count, name in counts if count)


def _place_files(media: Path) -> None:
    """Move the files into place before the database is loaded, so that every row finds its file.

    Files without a row are deleted later.
    """
    for path in [path for path in media.rglob("*") if path.is_file()]:
        to = Path(settings.MEDIA_ROOT) / path.relative_to(media)
        to.parent.mkdir(parents=True, exist_ok=True)
        path.chmod(PRIVATE_FILE_MODE)
        shutil.move(path, to)
        to.touch()  # the row is loaded later, and an old file without a row would be deleted
    make_private(Path(settings.MEDIA_ROOT))
