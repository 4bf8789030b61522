"""Snapshots that this process or this machine has already, by revision and viewer. A large one is built behind the
request that first needs it, by one thread of one process of this machine."""

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
UNFINISHED_S = 3600.0  # no process takes so long to write one
FIELDS = [[field.name for kind in (Snapshot, Database) for field in fields(kind)], Lineage._fields]
LAYOUT = f"{zlib.crc32(repr(FIELDS).encode()):08x}"

logger = logging.getLogger(__name__)

SNAPSHOT_BUILD_SECONDS = Histogram(
    "mpet_snapshot_build_seconds", "Building a snapshot of what predictions see", buckets=(0.1, 0.3, 1, 3, 10, 30, 100)
)
SNAPSHOT_BUILT = Gauge(
    "mpet_snapshot_built_timestamp_seconds", "When a snapshot was built last, Unix time", multiprocess_mode="mostrecent"
)


def build_behind(folder: Path, build: Callable[[], Any]) -> None:
    """Have `build` called in a thread, unless this process or another is at it for the folder's viewer."""
    with _lock:
        if folder in _building:
            return
        _building.add(folder)
    threading.Thread(target=_build, args=(folder, build), name=f"snapshot {folder.name}", daemon=True).start()


def _build(folder: Path, build: Callable[[], Any]) -> None:
    try:
        with alone_on_this_machine(folder) as is_alone:
            if is_alone:
                build()
    except Exception:
        logger.exception("the snapshot %s was not built", folder.name)
    finally:
        connections.close_all()
        with _lock:
            _building.discard(folder)


@contextmanager
def alone_on_this_machine(folder: Path) -> Iterator[bool]:
    """Whether no other process builds a snapshot of the same viewer and origins; the lock ends with its process."""
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
    """The snapshots that this process used last. Threads that ask for the same one at once wait for one build."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[Path, Future[Snapshot]] = OrderedDict()

    def get(
        self,
        key: Path,
        build: Callable[[], Snapshot],
        is_outdated: Callable[[Path], bool] = lambda other: False,
    ) -> Snapshot:
        """Once it is built, those that are outdated by it are forgotten; callers that hold one keep it."""
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
        """All that `get` answers at once."""
        with self._lock:
            entries = list(self._entries.items())
        return {key: entry.result() for key, entry in entries if entry.done() and entry.exception() is None}


_cache = SnapshotCache(KEPT_SNAPSHOTS)


def read_database(user: Any = None, *, origins: Sequence[str] = MEASURED) -> Database:
    """The database of everything that the user may predict from; `user` None is the public."""
    return read_snapshot(user, origins=origins).database


def read_snapshot(user: Any = None, *, origins: Sequence[str] = MEASURED, outliers: bool = False) -> Snapshot:
    """The snapshot of everything that the user may predict from. Two small queries when this process has it already.

    A request does not wait for a large one of a new revision (mpet_site.web.background): a thread builds it, and until
    it is there the last one answers, unless something was taken away since; for an owner of private rows who has none,
    the public's. Raises NotReadyYet where none may answer: when the first one is built, and after something was hidden
    or deleted."""
    wanted = WantedSnapshot.of(user, tuple(sorted(set(origins))), outliers)
    if can_wait() or wanted.is_at_hand() or not wanted.is_large():
        return wanted.get()
    build_behind(wanted.folder, wanted.get)
    earlier = wanted.earlier()
    if earlier is None and wanted.viewer is not None:
        public = read_snapshot(None, origins=origins, outliers=outliers)
        # What the owner stores of it stays private, under a key that no answer from the owner's own rows has.
        earlier = replace(public, holds_private=True, private_revision=0)
    if earlier is None:
        raise NotReadyYet
    note_outdated()
    return earlier


@dataclass(frozen=True)
class WantedSnapshot:
    """A snapshot of the newest revision, wherever it is. The key is the name of its folder. The newest profile's uid
    is part of it because revision numbers come back when a database is restored, the fields' names because another
    version of this code may have written the folder."""

    user: Any
    origins: tuple[str, ...]
    outliers: bool
    viewer: Any
    revision: tuple[int, int]
    folder: Path

    @classmethod
    def of(cls, user: Any, origins: tuple[str, ...], outliers: bool) -> WantedSnapshot:
        public, own = Revision.current(user)
        viewer = user if own else None
        rows = Profile.objects.candidates_for(viewer, outliers=outliers)
        newest = rows.order_by("-pk").values_list("uid", flat=True).first()
        kinds = (*origins, "outliers") if outliers else origins
        folder = snapshot_folder(viewer and viewer.pk, kinds, public, own, newest, LAYOUT)
        return cls(user, origins, outliers, viewer, (public, own), folder)

    def get(self) -> Snapshot:
        return _cache.get(self.folder, self.map_or_build, self.is_outdated)

    def is_outdated(self, other: Path) -> bool:
        """An earlier one of the viewer and origins, or an owner's of what the public saw before: what is derived of one
        is as large as its rows."""
        is_of_old_public = is_of_user(other) and revision_of(other)[0] < self.revision[0]
        return is_of_old_public or bool(earlier_of([other], self.folder))

    def map_or_build(self) -> Snapshot:
        """From its folder; where there is none, made as of now and, if it is large, written to the folder of now."""
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
            logger.warning("the snapshot %s is this process's alone, as it cannot be written: %s", now.folder, error)
        except LookupError:  # another process removed it already
            pass
        return snapshot_from(values)

    def grown_values(self) -> dict[str, Any] | None:
        """What `read_grown` makes of an earlier snapshot; None where all rows have to be read."""
        for base in self.bases():
            try:
                return read_grown(base, self.viewer, self.origins, self.outliers)
            except CannotGrow as reason:
                logger.info("%s is built of all rows, not of an earlier one: %s", self.folder.name, reason)
        return None

    def bases(self) -> Iterator[Snapshot]:
        """Earlier snapshots to add to: for an owner, what the public sees now; for the public the last one of this
        process, and the last one that any process wrote."""
        if self.viewer is not None:
            public = WantedSnapshot.of(None, self.origins, self.outliers)
            yield public.get()
            return
        known = _cache.finished()  # by their folders, which need not be there
        for folder in earlier_of(known, self.folder)[:1]:
            yield known[folder]
        for folder in earlier_folders(self.folder)[:1]:
            with suppress(LookupError):
                yield mapped_snapshot(folder)

    def is_at_hand(self) -> bool:
        return self.folder in _cache.finished() or files.is_there(self.folder)

    def is_large(self) -> bool:
        """Whether it holds so many profiles that it is kept in files; looked at a few more rows than that."""
        rows = Profile.objects.candidates_for(self.viewer, outliers=self.outliers).filter(origin__in=self.origins)
        least = settings.SNAPSHOT_FILE_PROFILES
        return bool(least and rows.order_by()[least - 1 : least].exists())

    def earlier(self) -> Snapshot | None:
        """The newest that was built before and that may still answer; None: there is none."""
        for folder in earlier_folders(self.folder, Revision.oldest(self.viewer)):
            try:
                snapshot = _cache.get(folder, partial(mapped_snapshot, folder))
            except LookupError:
                continue
            if is_of_this_database(folder, snapshot):
                return snapshot
        return None


def is_of_this_database(folder: Path, snapshot: Snapshot) -> bool:
    """Whether the newest profile of the folder is stored, or was until its delivery was replaced."""
    newest_profile_uid = folder.name.split(",")[3]
    if Profile.objects.filter(uid=newest_profile_uid).exists():
        return True
    replaced = WithdrawnSource.objects.filter(replaced_by__isnull=False)
    return replaced.filter(uid=snapshot.lineage.newest_source_uid).exists()


def mapped_snapshot(folder: Path) -> Snapshot:
    """The snapshot in the folder. Raises LookupError where there is none any more."""
    values = files.read_values(folder)
    if values is None:
        raise LookupError(folder.name)
    try:
        return snapshot_from(values)
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("the snapshot %s cannot be read, and is made anew: %r", folder.name, error)
        raise LookupError(folder.name) from error


def snapshot_folder(viewer: int | None, origins: tuple[str, ...], public: int, *rest: Any) -> Path:
    """Where a snapshot is kept: STATE_DIR/snapshots/<viewer and origins>,<public revision>,<the rest of its key>."""
    whose = f"{'public' if viewer is None else f'user-{viewer}'}+{'+'.join(origins)}"
    return Path(settings.STATE_DIR) / "snapshots" / f"{','.join(map(str, (whose, public, *rest)))}"


def earlier_folders(folder: Path, oldest: tuple[int, int] = (0, 0)) -> list[Path]:
    """Those of `earlier_of` that are on disk."""
    return earlier_of(folder.parent.glob(f"{folder.name.split(',')[0]},*"), folder, oldest)


def earlier_of(folders: Iterable[Path], folder: Path, oldest: tuple[int, int] = (0, 0)) -> list[Path]:
    """Those of the same viewer, origins and layout whose revisions are between `oldest` and the folder's, the newest
    first."""
    whose, layout = folder.name.split(",")[0], folder.name.split(",")[-1]
    newest = revision_of(folder)
    others = [
        other
        for other in folders
        if other != folder
        and other.parent == folder.parent
        and (other.name.split(",")[0], other.name.split(",")[-1]) == (whose, layout)
        and all(low <= number <= high for low, number, high in zip(oldest, revision_of(other), newest, strict=True))
    ]
    return sorted(others, key=revision_of, reverse=True)


def revision_of(folder: Path) -> tuple[int, int]:
    _, public, own, *_ = folder.name.split(",")
    return int(public), int(own)


def is_of_user(folder: Path) -> bool:
    return folder.name.startswith("user-")


def remove_others(kept: Path) -> None:
    """Delete the viewer's other folders, those of users that are of another public revision, and what a process left
    that was killed while it wrote. Who has one mapped keeps it; the public's others answer until theirs are made, too.
    """
    whose, public, _ = kept.name.split(",", 2)
    for folder in kept.parent.iterdir():
        parts = folder.name.split(",", 2)
        if len(parts) == 3:
            is_outdated = parts[0] == whose or (is_of_user(folder) and parts[1] != public)
        else:
            is_outdated = is_older_than(folder, UNFINISHED_S)
        if folder != kept and is_outdated:
            shutil.rmtree(folder, ignore_errors=True)


def remove_of_viewer(viewer: int) -> None:
    """Delete what is kept for a user."""
    for folder in (Path(settings.STATE_DIR) / "snapshots").glob(f"user-{viewer}+*"):
        shutil.rmtree(folder, ignore_errors=True)
