"""A snapshot as arrays, numbers and words by name, which can be kept in files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from predictor.core.database import Database, Group
from predictor.core.growth import SplicedArray
from predictor.snapshot.building import Lineage, Snapshot

NOT_KEPT = ("_derived", "platform_table", "workload_table")


def snapshot_values(snapshot: Snapshot) -> dict[str, Any]:
    """The values from which `snapshot_from` makes the same snapshot again."""
    own = {name: value for name, value in vars(snapshot).items() if name != "database"}
    return named_values(own, vars(snapshot.database), snapshot.database.prepared())


def named_values(own: Mapping[str, Any], database: Mapping[str, Any], prepared: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a snapshot's own fields, those of its database, and what the database has prepared."""
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
