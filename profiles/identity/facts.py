"""Which source is authoritative for each field of a platform or workload, and how other sources differ.

Each delivery's word is kept as a description. A row's facts are those of its deliverer, the first whose delivery can be
seen, in the order in which they came; the operator takes over from anybody; what a moderator decided stands above all.
Nobody else's delivery changes a fact, whether it is known or not: what it says otherwise is a difference.

A private row has one owner, whose deliveries are all that describe it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from profiles.models import Platform, PlatformDescription, Workload, WorkloadDescription

OPERATOR = "operator"
TEXT_SHOWN = 80  # characters of a value in a sentence or a table
UNKNOWN = (None, "unknown")


@dataclass(frozen=True)
class FactColumns:
    """The columns that deliveries tell of a platform, or of a workload; the rest is its identity."""

    model: Any  # Platform or Workload
    description: Any  # PlatformDescription or WorkloadDescription
    noun: str
    own: tuple[str, ...]
    largest: str = ""  # the column of which the deliverer's largest value stands, not the latest
    of_delivery: tuple[str, ...] = ()  # columns of how was measured: other values are no differences

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.own, *self.of_delivery)


PLATFORM_FACTS = FactColumns(
    model=Platform,
    description=PlatformDescription,
    noun="platform",
    own=(
        *("vendor", "microarchitecture", "word_bits", "device_class", "n_max", "placement", "base_mhz", "max_mhz"),
        *("l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes", "virtualised"),
    ),
    largest="n_max",
    of_delivery=("kernel", "compiler", "compiler_flags"),
)
WORKLOAD_FACTS = FactColumns(
    model=Workload,
    description=WorkloadDescription,
    noun="workload",
    own=("application", "section", "strategy", "bound", "description", "size", "size_unit"),
)
FACTS: dict[type, FactColumns] = {Platform: PLATFORM_FACTS, Workload: WORKLOAD_FACTS}


def deliverer_of(owner: Any, *, private: bool) -> str:
    """Who speaks in a delivery: the operator, where it has no owner or a moderator made it public, else its owner."""
    if owner is None:
        return OPERATOR
    moderates = not private and owner.is_staff and owner.has_perm("profiles.change_platform")
    return OPERATOR if moderates else f"user:{owner.pk}"


def known_facts(columns: FactColumns, described: Any) -> dict[str, Any]:
    """What is known of a row or draft, by column."""
    values = ((name, getattr(described, name)) for name in columns.columns)
    return {name: value for name, value in values if value not in UNKNOWN}


def row_values(columns: FactColumns, row: Any) -> dict[str, Any]:
    """All that a delivery may change of a row."""
    return {name: getattr(row, name) for name in (*columns.columns, "facts_by")}


def has_the_say(row: Any, deliverer: str) -> bool:
    """Whether this deliverer's word counts for the row, as far as the deliveries so far go."""
    return deliverer == OPERATOR or row.facts_by in ("", deliverer)


def accept_value(columns: FactColumns, row: Any, deliverer: str, facts: dict[str, Any]) -> None:
    """Set the row's columns to the facts of its deliverer, except those that a moderator decided on."""
    takes_over = row.facts_by != deliverer
    for name, value in facts.items():
        if name not in row.decided:
            grows = name == columns.largest and not takes_over
            setattr(row, name, max(getattr(row, name), value) if grows else value)
    row.facts_by = deliverer


def forget_facts(columns: FactColumns, row: Any) -> None:
    """Only what a moderator decided is left; n_max, which no platform is without, stays until somebody says it."""
    for name in columns.columns:
        if name != columns.largest:
            setattr(row, name, "unknown" if name == "strategy" else None)
    for name, value in row.decided.items():
        setattr(row, name, value)
    row.facts_by = ""


def compare_with_row(columns: FactColumns, description: Any, row: Any) -> bool:
    """Note in a description what it says otherwise than the row; whether that is new."""
    facts = description.facts  # PostgreSQL keeps these in an order of its own
    shown = [
        [name, shortened(facts[name])]
        for name in columns.own
        # A delivery that used fewer threads says nothing against a machine that has more.
        if name in facts
        and (facts[name] > getattr(row, name) if name == columns.largest else facts[name] != getattr(row, name))
    ]
    changed = bool(shown != description.differences)
    description.differences, description.differs = shown, bool(shown)
    return changed


def shortened(value: Any) -> Any:
    """A value that is never long: a text is cut, and of a list its ends are left.

    >>> shortened(2400.0), shortened([0, 1, 2]), shortened(list(range(64)))
    (2400.0, '0, 1, 2', '0, 1, 2, 3, 4, 5, 6, 7, ..., 63 (64 of them)')
    >>> shortened("x" * 100) == "x" * 79 + "…"
    True
    """
    if isinstance(value, list):
        ends = [str(part) for part in (value if len(value) <= 10 else [*value[:8], "...", value[-1]])]
        return shortened(", ".join(ends) + (f" ({len(value)} of them)" if len(value) > 10 else ""))
    if isinstance(value, str) and len(value) > TEXT_SHOWN:
        return value[: TEXT_SHOWN - 1] + "…"
    return value


def written_value(value: Any) -> str:
    """In a sentence.

    >>> written_value(None), written_value("Linux"), written_value(2400.0), written_value([0, 1])
    ('unknown', "'Linux'", '2400.0', "'0, 1'")
    """
    return "unknown" if value in UNKNOWN else repr(shortened(value))
