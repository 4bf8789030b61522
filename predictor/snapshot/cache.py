"""Cached snapshots of this process and of this machine, by revision and viewer. A large snapshot is built in the
background, by one thread of one process of this machine."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections
from prometheus_client import Gauge, Histogram

from mpet_site.state_folder import is_older_than
from mpet_site.web.background import NotReadyYet, can_wait, note_outdated
from mpet_site.web.consistency import consistent_reads
from predictor.core.assembly import MEASURED
from predictor.core.database import Database
from predictor.core.growth import CannotGrow
from predictor.snapshot import files
from predictor.snapshot.building import Lineage, Snapshot, build_snapshot
from predictor.snapshot.growing import read_grown, snapshot_from, snapshot_values
from profiles.models import Profile, Revision, WithdrawnSource

_building: set[Path] = set()
_lock = threading.Lock()
KEPT_SNAPSHOTS = 8
UNFINISHED_S = 3600.0  # longer than any process takes to write a snapshot
FIELDS = [[field.name for kind in (Snapshot, Database) for field in fields(kind)], Lineage._fields]
LAYOUT = f"{zlib.crc32(repr(FIELDS).encode()):08x}"

logger = logging.getLogger(__name__)

SNAPSHOT_BUILD_SECONDS = Histogram(
    "mpet_snapshot_build_seconds", "Seconds to build a snapshot", buckets=(0.1, 0.3, 1, 3, 10, 30, 100)
)
SNAPSHOT_BUILT = Gauge(
    "mpet_snapshot_built_timestamp_seconds", "Unix time of the latest snapshot", multiprocess_mode="mostrecent"
)


def build_behind(folder: Path, build: Callable[[], Any]) -> None:
    """Call `build` in a thread, unless this process or another one is already building a snapshot for the folder's
    viewer."""
    with _lock:
        if folder in _building:
            return
        _building.add(folder)
    threading.Thread(target=_build, args=(folder, build), name=f"snapshot {folder.name}", daemon=True).start()


def _build(folder: Path, build: Callable[[], Any]) -> None:
    try:
        with build_lock(folder) as is_alone:
            if is_alone:
                build()
    except Exception:
        logger.exception("the snapshot %s was not built", folder.name)
    finally:
        connections.close_all()
        with _lock:
            _building.discard(folder)


@contextmanager
def build_lock(folder: Path) -> Iterator[bool]:
    """Yield whether no other process is building a snapshot of the same viewer and origins. The lock ends with its
    process."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder.parent / f"{folder.name.split(',')[0]}.lock"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


class SnapshotCache:
    """The snapshots that this process used last. Threads that need the same one at the same time wait for one build."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[Path, Future[Snapshot]] = OrderedDict()

    def get(
        self, key: Path, build: Callable[[], Snapshot], is_outdated: Callable[[Path], bool] = lambda other: False
    ) -> Snapshot:
        """Return the snapshot, and build it first if necessary. After a build, the entries that are outdated by it are
        removed; callers can still use the snapshots that they hold."""
        with self._lock:
            entry = self._entries.get(key)
            is_builder = entry is None
            if entry is None:
                entry = self._entries[key] = Future()
            self._entries.move_to_end(key)
            while len(self._entries) > self.size:
                self._entries.popitem(last=False)
        if is_builder:
            try:
                entry.set_result(build())
            except BaseException as error:
                with self._lock:
                    self._entries.pop(key, None)
                entry.set_exception(error)
            else:
                with self._lock:
                    for other in [other for other in self._entries if is_outdated(other)]:
                        self._entries.pop(other)
        return entry.result()

    def finished(self) -> dict[Path, Snapshot]:
        """Return all snapshots that `get` returns without waiting."""
        with self._lock:
            entries = list(self._entries.items())
        return {key: entry.result() for key, entry in entries if entry.done() and entry.exception() is None}


_cache = SnapshotCache(KEPT_SNAPSHOTS)


def read_database(user: Any = None, *, origins: Sequence[str] = MEASURED) -> Database:
    """Return the database of everything that the user may predict from. The user None is the public."""
    return read_snapshot(user, origins=origins).database


def read_snapshot(user: Any = None, *, origins: Sequence[str] = MEASURED, outliers: bool = False) -> Snapshot:
    """Return the snapshot of everything that the user may predict from. This takes two small queries if the process has
    it.

    A request does not wait for a large snapshot of a new revision (mpet_site.web.background). A thread builds it, and
    until then the last snapshot is returned, unless data were removed since. An owner of private rows who has no
    earlier snapshot gets the public one. Raises NotReadyYet if none may be used: during the first build, and after data
    were hidden or deleted.
    """
    wanted = WantedSnapshot.of(user, tuple(sorted(set(origins))), outliers)
    if can_wait() or wanted.is_available() or not wanted.is_large():
        return wanted.get()
    build_behind(wanted.folder, wanted.get)
    earlier = wanted.earlier()
    if earlier is None and wanted.viewer is not None:
        public = read_snapshot(None, origins=origins, outliers=outliers)
        # Predictions that the owner stores from it stay private. Revision 0 keeps their keys distinct from those of
        # predictions from the owner's own rows.
        earlier = replace(public, holds_private=True, private_revision=0)
    if earlier is None:
        raise NotReadyYet
    note_outdated()
    return earlier


@dataclass(frozen=True)
class WantedSnapshot:
    """A snapshot of the newest revision, built or not. Its key is the name of its folder.

    The key contains the newest profile's uid, because revision numbers are repeated when a database is restored, and a
    checksum of the fields' names, because another version of this code may have written the folder.
    """

    user: Any
    origins: tuple[str, ...]
    outliers: bool
    viewer: Any
    revision: tuple[int, int]
    folder: Path

    @classmethod
    def of(cls, user: Any, origins: tuple[str, ...], outliers: bool) -> WantedSnapshot:
        public, private = Revision.current(user)
        viewer = user if private else None
        rows = Profile.objects.candidates_for(viewer, outliers=outliers)
        newest = rows.order_by("-pk").values_list("uid", flat=True).first()
        kinds = (*origins, "outliers") if outliers else origins
        folder = snapshot_folder(viewer and viewer.pk, kinds, public, private, newest, LAYOUT)
        return cls(user, origins, outliers, viewer, (public, private), folder)

    def get(self) -> Snapshot:
        return _cache.get(self.folder, self.map_or_build, self.is_outdated)

    def is_outdated(self, other: Path) -> bool:
        """Return whether the other snapshot is an earlier one of the same viewer and origins, or an owner's snapshot
        from an earlier public revision. Such snapshots are dropped, because the data derived from one are as large as
        its rows."""
        is_of_old_public = is_of_user(other) and revision_of(other)[0] < self.revision[0]
        return is_of_old_public or bool(earlier_of([other], self.folder))

    def map_or_build(self) -> Snapshot:
        """Return the snapshot from its folder. If there is none, build the current one and, if it is large, write it to
        its folder."""
        try:
            return mapped_snapshot(self.folder)
        except LookupError:
            with SNAPSHOT_BUILD_SECONDS.time(), consistent_reads():
                now = WantedSnapshot.of(self.user, self.origins, self.outliers)
                values = now.grown_values()
                if values is None:
                    values = snapshot_values(build_snapshot(now.viewer, self.origins, self.outliers))
        SNAPSHOT_BUILT.set_to_current_time()
        is_large = len(values["database.t1_s"]) >= settings.SNAPSHOT_FILE_PROFILES
        if not is_large or (values["database.revision"], values["snapshot.private_revision"]) != now.revision:
            return snapshot_from(values)
        try:
            files.write_values(now.folder, values)
            remove_others(now.folder)
            return mapped_snapshot(now.folder)
        except OSError as error:
            logger.warning("snapshot %s cannot be written and is used by this process only: %s", now.folder, error)
        except LookupError:  # another process removed it already
            pass
        return snapshot_from(values)

    def grown_values(self) -> dict[str, Any] | None:
        """Return the result of `read_grown` for an earlier snapshot; None if all rows have to be read."""
        for base in self.bases():
            try:
                return read_grown(base, self.viewer, self.origins, self.outliers)
            except CannotGrow as reason:
                logger.info("%s is built from all rows, not from an earlier snapshot: %s", self.folder.name, reason)
        return None

    def bases(self) -> Iterator[Snapshot]:
        """Yield earlier snapshots to grow from. For an owner this is the current public one, for the public the last
        one of this process and the last one that any process wrote."""
        if self.viewer is not None:
            public = WantedSnapshot.of(None, self.origins, self.outliers)
            yield public.get()
            return
        known = _cache.finished()  # by folder, even if the folder does not exist
        for folder in earlier_of(known, self.folder)[:1]:
            yield known[folder]
        for folder in earlier_folders(self.folder)[:1]:
            with suppress(LookupError):
                yield mapped_snapshot(folder)

    def is_available(self) -> bool:
        return self.folder in _cache.finished() or files.is_there(self.folder)

    def is_large(self) -> bool:
        """Return whether the snapshot has enough profiles to be kept in files. The query reads little more than that
        number of rows."""
        rows = Profile.objects.candidates_for(self.viewer, outliers=self.outliers).filter(origin__in=self.origins)
        least = settings.SNAPSHOT_FILE_PROFILES
        return bool(least and rows.order_by()[least - 1 : least].exists())

    def earlier(self) -> Snapshot | None:
        """Return the newest earlier snapshot that may still be used; None if there is none."""
        for folder in earlier_folders(self.folder, Revision.oldest(self.viewer)):
            try:
                snapshot = _cache.get(folder, partial(mapped_snapshot, folder))
            except LookupError:
                continue
            if is_of_this_database(folder, snapshot):
                return snapshot
        return None


def is_of_this_database(folder: Path, snapshot: Snapshot) -> bool:
    """Return whether the newest profile of the folder is stored, or was stored until its delivery was replaced."""
    newest_profile_uid = folder.name.split(",")[3]
    if Profile.objects.filter(uid=newest_profile_uid).exists():
        return True
    replaced = WithdrawnSource.objects.filter(replaced_by__isnull=False)
    return replaced.filter(uid=snapshot.lineage.newest_source_uid).exists()


def mapped_snapshot(folder: Path) -> Snapshot:
    """Return the snapshot in the folder. Raises LookupError if it is gone or cannot be read."""
    values = files.read_values(folder)
    if values is None:
        raise LookupError(folder.name)
    try:
        return snapshot_from(values)
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("snapshot %s cannot be read and is rebuilt: %r", folder.name, error)
        raise LookupError(folder.name) from error


def snapshot_folder(viewer: int | None, origins: tuple[str, ...], public: int, *parts: Any) -> Path:
    """Return the folder of a snapshot: STATE_DIR/snapshots/<viewer and origins>,<public revision>,<the rest of its
    key>."""
    viewers = f"{'public' if viewer is None else f'user-{viewer}'}+{'+'.join(origins)}"
    return Path(settings.STATE_DIR) / "snapshots" / f"{','.join(map(str, (viewers, public, *parts)))}"


def earlier_folders(folder: Path, oldest: tuple[int, int] = (0, 0)) -> list[Path]:
    """Return the folders on disk that `earlier_of` selects."""
    return earlier_of(folder.parent.glob(f"{folder.name.split(',')[0]},*"), folder, oldest)


def earlier_of(folders: Iterable[Path], folder: Path, oldest: tuple[int, int] = (0, 0)) -> list[Path]:
    """Return the folders of the same viewer, origins and layout with revisions from `oldest` to the folder's own, the
    newest first."""
    viewers, layout = folder.name.split(",")[0], folder.name.split(",")[-1]
    newest = revision_of(folder)
    others = [
        other
        for other in folders
        if other != folder
        and other.parent == folder.parent
        and (other.name.split(",")[0], other.name.split(",")[-1]) == (viewers, layout)
        and all(low <= number <= high for low, number, high in zip(oldest, revision_of(other), newest, strict=True))
    ]
    return sorted(others, key=revision_of, reverse=True)


def revision_of(folder: Path) -> tuple[int, int]:
    _, public, private, *_ = folder.name.split(",")
    return int(public), int(private)


def is_of_user(folder: Path) -> bool:
    return folder.name.startswith("user-")


def remove_others(current: Path) -> None:
    """Delete the viewer's other folders, users' folders of another public revision, and incomplete folders of killed
    processes.

    Processes that have mapped a deleted folder can still use it. Public folders of other origins stay, because they are
    used until their successors are written.
    """
    viewers, public, _ = current.name.split(",", 2)
    for folder in current.parent.iterdir():
        parts = folder.name.split(",", 2)
        if len(parts) == 3:
            is_outdated = parts[0] == viewers or (is_of_user(folder) and parts[1] != public)
        else:
            is_outdated = is_older_than(folder, UNFINISHED_S)
        if folder != current and is_outdated:
            shutil.rmtree(folder, ignore_errors=True)


def remove_of_viewer(viewer: int) -> None:
    """Delete the snapshots of a user."""
    for folder in (Path(settings.STATE_DIR) / "snapshots").glob(f"user-{viewer}+*"):
        shutil.rmtree(folder, ignore_errors=True)
