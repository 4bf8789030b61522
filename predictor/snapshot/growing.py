"""Growing snapshots: an earlier snapshot with the additions since then, so that the cost of an upload depends on its
own size only.

The earlier snapshot is the base. The segment is read from the database: all platforms and workloads, but only the
profiles that the base does not contain. An owner's base is the public snapshot. After any change that is not an
addition, all rows are read again (docs/decisions/snapshots.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
from django.db.models import Max, Min, Q

from predictor.core.assembly import positions_of_ids
from predictor.core.database import Database, Group
from predictor.core.growth import CannotGrow, GrownRows, SplicedArray, grow_database, grow_prepared
from predictor.snapshot.building import Lineage, Snapshot, read_at_one_moment, read_tables
from profiles.models import Profile, VerdictChange
from profiles.models.querysets import key_chunks

NOT_KEPT = ("_derived", "platform_table", "workload_table")
GROWN_COLUMNS = (
    *("profile_ids", "source_ids", "fit_error", "t1_is_stand_in", "is_simulated", "run_count", "disturbed_count"),
    *("is_private", "n_measured"),
)
MOST_JUDGED = 200  # profiles; the query has one condition per pair
OF_SEGMENT = ("origins", "private_revision", "platform_ids", "workload_ids", "workload_runtimes", "lineage")


def snapshot_values(snapshot: Snapshot) -> dict[str, Any]:
    """Return the values from which `snapshot_from` restores the snapshot."""
    fields = {name: value for name, value in vars(snapshot).items() if name != "database"}
    return named_values(fields, vars(snapshot.database), snapshot.database.prepared())


def named_values(own: Mapping[str, Any], database: Mapping[str, Any], prepared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a snapshot's own fields, of its database, and of what the database has prepared, by name."""
    parts = {
        "snapshot": own,
        "platform": database["platform_table"],
        "workload": database["workload_table"],
        "database": {name: value for name, value in database.items() if name not in NOT_KEPT},
        "prepared": prepared,
    }
    return {f"{part}.{name}": value for part, fields in parts.items() for name, value in fields.items()}


def snapshot_from(values: Mapping[str, Any]) -> Snapshot:
    parts: dict[str, dict[str, Any]] = {"snapshot": {}, "platform": {}, "workload": {}, "database": {}, "prepared": {}}
    for name, value in values.items():
        part, field = name.split(".", 1)
        parts[part][field] = tuple(value) if isinstance(value, list) else value
        if isinstance(value, SplicedArray):
            parts[part][field] = value.joined()
    parts["database"]["groups"] = tuple(Group(*group) for group in parts["database"]["groups"])
    parts["snapshot"]["lineage"] = Lineage(*parts["snapshot"]["lineage"])
    database = Database(platform_table=parts["platform"], workload_table=parts["workload"], **parts["database"])
    database.take_prepared(parts["prepared"])
    return Snapshot(database=database, **parts["snapshot"])


@dataclass(frozen=True, eq=False)
class Segment:
    """The additions since the base, as a snapshot.

    If verdicts on profiles have changed (`judged`), the profiles of their pairs are read again. `read_again` are the
    base's rows of these pairs.
    """

    snapshot: Snapshot
    read_again: np.ndarray
    judged: frozenset[int] = frozenset()


def read_grown(base: Snapshot, viewer: Any, origins: tuple[str, ...], outliers: bool) -> dict[str, Any]:
    """Return the values of the viewer's current snapshot by name, as `snapshot_values` does. Large arrays are
    SplicedArrays.

    `base` is an earlier public snapshot; for an owner it is the one of the newest public revision. Raises CannotGrow if
    all rows have to be read.
    """
    if not _is_whole(base):
        raise CannotGrow("its arrays do not match")

    def read(revision: tuple[int, int]) -> Segment:
        if not base.lineage.is_extended():
            raise CannotGrow("rows were changed or removed since, or it is of another database or version")
        if viewer is not None and base.database.revision != revision[0]:
            raise CannotGrow("it is not of the current public revision")
        judged, pairs = _judged_since(base)
        selections = [*_newer(base), *_of_pairs(pairs)] if viewer is None else [Q(private_to=viewer)]
        segment = read_tables(viewer, origins, revision, outliers, selections)
        _check_known(base, segment, viewer, outliers)
        return Segment(segment, _rows_of(base, pairs), judged)

    return grow_snapshot(base, read_at_one_moment(viewer, read))


def _newer(base: Snapshot) -> list[Q]:
    """Return the condition for profiles from deliveries after the base.

    The range of primary keys lets the query use an index. It cannot replace the condition on deliveries, because keys
    are assigned before a delivery is stored and two deliveries can overlap (profiles.ingest.staging).
    """
    came = Q(source__gt=base.lineage.newest_source)
    bounds = Profile.objects.filter(came).order_by().aggregate(first=Min("pk"), last=Max("pk"))
    return [Q(pk__in=[])] if bounds["first"] is None else [came & Q(pk__range=tuple(bounds.values()))]


def _judged_since(base: Snapshot) -> tuple[frozenset[int], list[tuple[int, int]]]:
    """Return the profiles with verdicts that changed after the base, and the platform and workload of each."""
    changes = VerdictChange.objects.filter(pk__gt=base.lineage.newest_verdicts)
    keys = frozenset(key for profiles in changes.values_list("profiles", flat=True) for key in profiles)
    if len(keys) > MOST_JUDGED:
        raise CannotGrow("too many verdicts changed")
    pairs = Profile.objects.filter(pk__in=keys).order_by().values_list("platform_id", "workload_id")
    return keys, sorted(set(pairs))


def _of_pairs(pairs: Sequence[tuple[int, int]]) -> list[Q]:
    """Return the condition for the profiles of these pairs, by their primary keys."""
    if not pairs:
        return []
    named = reduce(or_, (Q(platform=platform, workload=workload) for platform, workload in pairs))
    return [Q(pk__in=list(Profile.objects.filter(named).order_by().values_list("pk", flat=True)))]


def _rows_of(base: Snapshot, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return the base's rows of these pairs, in ascending order."""
    keys = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    platforms = positions_of_ids(base.platform_ids, keys[:, 0])
    workloads = positions_of_ids(base.workload_ids, keys[:, 1])
    known = (platforms >= 0) & (workloads >= 0)
    groups = range(len(base.database.groups))
    rows = [base.database.lookup(platforms[known], workloads[known], group) for group in groups]
    found = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    return np.unique(found[found >= 0])


def _check_known(base: Snapshot, segment: Snapshot, viewer: Any, outliers: bool) -> None:
    """Raise CannotGrow if a row that the base left out because of its platform or workload may now be included, or if a
    workload is gone or has another runtime."""
    public = Profile.objects.candidates_for(None, outliers=outliers).order_by()
    rows = public.filter(source__lte=base.lineage.newest_source) if viewer is None else public
    for relation in ("platform", "workload"):
        appeared = np.setdiff1d(getattr(segment, f"{relation}_ids"), getattr(base, f"{relation}_ids"))
        for keys in key_chunks(appeared.tolist()):
            if rows.filter(**{f"{relation}__in": keys}).exists():
                raise CannotGrow(f"a {relation} with earlier profiles became visible")
    runtimes = dict(zip(segment.workload_ids.tolist(), segment.workload_runtimes, strict=True))
    for key, runtime in zip(base.workload_ids.tolist(), base.workload_runtimes, strict=True):
        if runtimes.get(key) != runtime:
            raise CannotGrow("a workload is gone, or has another runtime")


def grow_snapshot(base: Snapshot, since: Segment) -> dict[str, Any]:
    """Return the values of the base with the segment. Raises CannotGrow if the base has something that the segment
    lacks."""
    segment = since.snapshot
    rows = GrownRows.of(base.database, base.ranks, segment.database, segment.ranks, since.read_again)
    columns = {name: rows.splice.joined(getattr(base, name), getattr(segment, name)) for name in GROWN_COLUMNS}
    unusable = {key: why for key, why in _unusable(base) if key not in since.judged} | dict(_unusable(segment))
    values: dict[str, Any] = {name: getattr(segment, name) for name in OF_SEGMENT}
    values |= columns | {
        "unusable": np.array(sorted(unusable), dtype=np.int64),
        "unusable_reasons": tuple(unusable[key] for key in sorted(unusable)),
        "holds_private": base.holds_private or segment.holds_private,
    }
    prepared = grow_prepared(base.database, segment.database, rows)
    return named_values(values, grow_database(base.database, segment.database, rows), prepared)


def _unusable(snapshot: Snapshot) -> Iterator[tuple[int, str]]:
    return zip(snapshot.unusable.tolist(), snapshot.unusable_reasons, strict=True)


def _is_whole(snapshot: Snapshot) -> bool:
    """Return whether the lengths of all arrays match. They may not if the arrays come from files."""
    database = snapshot.database
    columns: Sequence[np.ndarray] = [
        *(getattr(snapshot, name) for name in GROWN_COLUMNS),
        *(database.features, database.standard_error, database.run_deviation, database.disturbed_share),
        *(database.platform_index, database.workload_index, database.group),
    ]
    return (
        {len(column) for column in columns} == {len(database)}
        and len(database.curve_offsets) == len(database) + 1
        and len(database.curve_n) == len(database.curve_time_s) == database.curve_offsets[-1]
        and len(snapshot.platform_ids) == len(database.platforms)
        and len(snapshot.workload_ids) == len(database.workloads) == len(snapshot.workload_runtimes)
    )
