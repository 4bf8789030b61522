"""The public rows of the database as rows of the dump's tables, without private rows and rows hidden by a moderator.

Profiles and the rows that belong to them are in the order in which they were stored, so that a reader gets the rows of
one profile after the other. Each application registers its tables when it starts, so that measured and predicted
numbers are exported and restored together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from django.db.models import Count, QuerySet

from profiles.dump.files import DumpRow
from profiles.dump.package import CreditedSource
from profiles.dump.tables import (
    COUNTER_READINGS_TABLE,
    CURVES_TABLE,
    FEATURES_TABLE,
    PLATFORMS_TABLE,
    PROFILES_TABLE,
    RUNS_TABLE,
    SOURCES_TABLE,
    WORKLOADS_TABLE,
    DumpTable,
)
from profiles.models import CounterReading, FeatureVector, Platform, Profile, Run, ScalingCurves, Source, Workload
from profiles.models.querysets import PROFILES_PER_QUERY
from profiles.scaling.names import CURVE_NAMES, FEATURE_NAMES

ROWS_PER_FETCH = 5_000


def public_profiles() -> QuerySet[Profile]:
    """Return the public profiles that have a public source, platform and workload."""
    public: dict[str, Any] = {}
    for relation in ("", "source__", "platform__", "workload__"):
        public |= {f"{relation}private_to": None, f"{relation}hidden": False}
    return Profile.objects.filter(**public).exclude(origin="emulated").order_by("pk")


@dataclass(frozen=True)
class DumpedKeys:
    """The primary keys of the public profiles and of the rows to which they refer.

    Sources are in the order of their first profile, platforms and workloads in ascending order.
    """

    profiles: list[int]
    sources: list[int]
    platforms: list[int]
    workloads: list[int]

    @classmethod
    def read(cls) -> DumpedKeys:
        """Read the keys in one pass over the profiles.

        SQLite would evaluate a subquery for each row of each table, which took hours for half a million profiles.
        """
        rows = public_profiles().values_list("pk", "source_id", "platform_id", "workload_id").iterator(ROWS_PER_FETCH)
        profiles, sources, platforms, workloads = list(zip(*rows, strict=True)) or [()] * 4
        return cls(list(profiles), list(dict.fromkeys(sources)), sorted(set(platforms)), sorted(set(workloads)))


@dataclass(frozen=True)
class DumpedTable:
    """A table of the dump and the function that reads its rows."""

    table: DumpTable
    rows: Callable[[DumpedKeys], Iterator[DumpRow]]


@dataclass(frozen=True)
class FurtherTable(DumpedTable):
    """A table of another application. `restore` stores the missing rows and returns their number."""

    restore: Callable[[Iterator[DumpRow]], int]


_registered: dict[str, FurtherTable] = {}


def register_table(further: FurtherTable) -> None:
    """Register a table, in `AppConfig.ready`. A table of the same name is replaced."""
    _registered[further.table.name] = further


def further_tables() -> tuple[FurtherTable, ...]:
    return tuple(_registered[name] for name in sorted(_registered))


def dumped_tables() -> tuple[DumpedTable, ...]:
    return (
        DumpedTable(SOURCES_TABLE, _source_rows),
        DumpedTable(PLATFORMS_TABLE, lambda keys: _described_rows(Platform, PLATFORMS_TABLE, keys.platforms)),
        DumpedTable(WORKLOADS_TABLE, lambda keys: _described_rows(Workload, WORKLOADS_TABLE, keys.workloads)),
        DumpedTable(PROFILES_TABLE, _profile_rows),
        DumpedTable(RUNS_TABLE, partial(_rows_of_profiles, Run, RUNS_TABLE)),
        DumpedTable(COUNTER_READINGS_TABLE, partial(_rows_of_profiles, CounterReading, COUNTER_READINGS_TABLE)),
        DumpedTable(CURVES_TABLE, _curve_rows),
        DumpedTable(FEATURES_TABLE, _feature_rows),
        *further_tables(),
    )


def credited_sources() -> list[CreditedSource]:
    """Return the sources to credit: each dataset and simulation, and the uploads grouped by licence and citation."""
    profiles = (
        public_profiles().order_by().values("source__kind", "source__label", "source__licence", "source__citation")
    )
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in profiles.annotate(many=Count("pk")):
        label = "" if row["source__kind"] == Source.Kind.TARBALL else row["source__label"]
        counts[label, row["source__licence"], row["source__citation"]] += row["many"]
    return [CreditedSource(*key, many) for key, many in sorted(counts.items())]


def _source_rows(keys: DumpedKeys) -> Iterator[DumpRow]:
    for _, part in _chunks(keys.sources):
        sources = Source.objects.in_bulk(part)
        for source in (sources[key] for key in part if key in sources):
            yield (
                str(source.uid),
                source.kind,
                source.origin,
                source.label,
                None if source.kind == Source.Kind.TARBALL else source.sha256,
                *(source.licence, source.citation, source.note, source.generator),
                source.environment if isinstance(source.environment, dict) else None,
                *(source.log, source.created_at),
            )


def _described_rows(model: Any, table: DumpTable, keys: Sequence[int]) -> Iterator[DumpRow]:
    columns = ["slug", *table.names[1:]]
    for _, part in _chunks(keys):
        yield from model.objects.filter(pk__in=part).order_by("pk").values_list(*columns)


def _profile_rows(keys: DumpedKeys) -> Iterator[DumpRow]:
    related = {"source": "source__uid", "platform": "platform__slug", "workload": "workload__slug"}
    columns = [related.get(name, name) for name in PROFILES_TABLE.names[1:]]
    rows = public_profiles().values_list(*columns).iterator(ROWS_PER_FETCH)
    for number, (uid, source, *values) in zip(count(1), rows):
        yield (number, str(uid), str(source), *values)


def _chunks(keys: Sequence[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield keys in chunks that fit in one query, each with the number of its first key in the dump."""
    for start in range(0, len(keys), PROFILES_PER_QUERY):
        yield start + 1, keys[start : start + PROFILES_PER_QUERY]


def _rows_of_profiles(model: Any, table: DumpTable, keys: DumpedKeys) -> Iterator[DumpRow]:
    columns = ["pass_kind" if name == "pass" else name for name in table.names[1:]]
    for first, chunk in _chunks(keys.profiles):
        number = {key: first + place for place, key in enumerate(chunk)}
        rows = model.objects.filter(profile__in=chunk).order_by("profile", "pk").values_list("profile_id", *columns)
        for key, *values in rows.iterator(ROWS_PER_FETCH):
            yield (number[key], *values)


def _curve_rows(keys: DumpedKeys) -> Iterator[DumpRow]:
    for number, (n, values) in _stored(ScalingCurves, keys, "n", "values"):
        if len(n) and len(values) == (1 + len(CURVE_NAMES)) * len(n):
            for count, row in zip(n.tolist(), _known(values.reshape(1 + len(CURVE_NAMES), -1).T), strict=True):
                yield (number, count, *row)


def _feature_rows(keys: DumpedKeys) -> Iterator[DumpRow]:
    for number, (values, rms, code_version) in _stored(FeatureVector, keys, "values", "rms", "code_version"):
        if (len(values), len(rms)) == (len(FEATURE_NAMES), len(CURVE_NAMES)):
            yield (number, *_known(values), *_known(rms), code_version)


def _stored(model: Any, keys: DumpedKeys, *columns: str) -> Iterator[tuple[int, list[Any]]]:
    """Yield the number of each profile that has a row of the model, and these columns of the row.

    No object is created for each row.
    """
    for first, chunk in _chunks(keys.profiles):
        rows = model.objects.filter(pk__in=chunk).order_by().values_list("pk", *columns).iterator(ROWS_PER_FETCH)
        stored = {key: values for key, *values in rows}
        yield from ((number, stored[key]) for number, key in enumerate(chunk, start=first) if key in stored)


def _known(numbers: Any) -> Any:
    """Return the numbers as lists, with None for NaN and infinity."""
    known: Any = numbers.astype(object)
    known[~np.isfinite(numbers)] = None
    return known.tolist()
