"""Which applications have tables in the public dump: each registers its own when it starts, so that measured and
predicted numbers leave and come back together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from profiles.dump.files import DumpRow
from profiles.dump.rows import DumpedTable, measured_tables
from profiles.dump.tables import MEASURED_TABLES, DumpTable


@dataclass(frozen=True)
class FurtherTable:
    """A table of another application. `restore` stores the rows that are not there yet, and returns how many."""

    dumped: DumpedTable
    restore: Callable[[Iterator[DumpRow]], int]


_registered: dict[str, FurtherTable] = {}


def register_table(further: FurtherTable) -> None:
    """For `AppConfig.ready`; a name that is there already is replaced."""
    _registered[further.dumped.table.name] = further


def further_tables() -> tuple[FurtherTable, ...]:
    return tuple(_registered[name] for name in sorted(_registered))


def dumped_tables() -> tuple[DumpedTable, ...]:
    return (*measured_tables(), *(further.dumped for further in further_tables()))


def dump_tables() -> tuple[DumpTable, ...]:
    return (*MEASURED_TABLES, *(further.dumped.table for further in further_tables()))
