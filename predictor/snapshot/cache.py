"""Snapshots that this process or this machine has already, by revision and viewer."""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.conf import settings

from predictor.core.database import Database, Group
from predictor.snapshot import files
from predictor.snapshot.building import MEASURED, Snapshot, build_snapshot
from profiles.models import Profile, Revision

KEPT_SNAPSHOTS = 8
LAYOUT = f"{zlib.crc32(repr([field.name for kind in (Snapshot, Database) for field in fields(kind)]).encode()):08x}"


class SnapshotCache:
    """The newest few snapshots of this process. Threads that ask for the same one at once wait for one build."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, Future[Snapshot]] = OrderedDict()

    def get(self, key: Hashable, build: Callable[[], Snapshot]) -> Snapshot:
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
        return entry.result()


_cache = SnapshotCache(KEPT_SNAPSHOTS)


def read_database(user: Any = None, *, origins: Sequence[str] = MEASURED) -> Database:
    """The database of everything that the user may predict from; `user` None is the public."""
    return read_snapshot(user, origins=origins).database


def read_snapshot(user: Any = None, *, origins: Sequence[str] = MEASURED, outliers: bool = False) -> Snapshot:
    """The snapshot of everything that the user may predict from. Two small queries when this process has it already.

    The key is the name of its folder. The newest profile's uid is part of it because revision numbers come back when
    a database is restored, the fields' names because another version of this code may have written the folder.
    """
    origins = tuple(sorted(set(origins)))
    public, own = Revision.current(user)
    viewer = user if own else None
    newest = (
        Profile.objects.candidates_for(viewer, outliers=outliers).order_by("-pk").values_list("uid", flat=True).first()
    )
    kinds = (*origins, "outliers") if outliers else origins
    folder = files.snapshot_folder(viewer and viewer.pk, kinds, public, own, newest, LAYOUT)
    return _cache.get(
        folder, lambda: map_or_build_snapshot(folder, lambda: build_snapshot(viewer, origins, outliers), (public, own))
    )


def map_or_build_snapshot(folder: Path, build: Callable[[], Snapshot], revision: tuple[int, int]) -> Snapshot:
    """The snapshot in the folder; where there is none, `build()`, which is written there if it is large and of that
    revision."""
    values = files.read_values(folder)
    if values is None:
        built = build()
        large = len(built.database) >= settings.SNAPSHOT_FILE_PROFILES
        if not large or (built.database.revision, built.private_revision) != revision:
            return built
        files.write_values(folder, snapshot_values(built))
        files.remove_others(folder)
        values = files.read_values(folder)
        if values is None:
            return built
    read = snapshot_from(values)
    read.database.prepare()
    return read


def snapshot_values(snapshot: Snapshot) -> dict[str, Any]:
    """Arrays, numbers and words by name, from which `snapshot_from` makes the same snapshot again."""
    database = snapshot.database
    values: dict[str, Any] = {f"snapshot.{name}": value for name, value in vars(snapshot).items() if name != "database"}
    values |= {f"platform.{name}": column for name, column in database.platform_table.items()}
    values |= {f"workload.{name}": column for name, column in database.workload_table.items()}
    tables = ("_derived", "platform_table", "workload_table")
    return values | {f"database.{name}": value for name, value in vars(database).items() if name not in tables}


def snapshot_from(values: dict[str, Any]) -> Snapshot:
    parts: dict[str, dict[str, Any]] = {"snapshot": {}, "platform": {}, "workload": {}, "database": {}}
    for name, value in values.items():
        part, field = name.split(".", 1)
        parts[part][field] = tuple(value) if isinstance(value, list) else value
    parts["database"]["groups"] = tuple(Group(*group) for group in parts["database"]["groups"])
    database = parts["database"] | {"platform_table": parts["platform"], "workload_table": parts["workload"]}
    return Snapshot(database=Database(**database), **parts["snapshot"])
