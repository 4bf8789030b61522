"""A platform document, `platform.json` of a tarball or beside a file of another tool."""

from __future__ import annotations

from dataclasses import fields

from benchmarks.archive.container import Limits
from benchmarks.archive.documents import Document, parse_document, validate_document
from benchmarks.archive.problems import ArchiveProblems
from profiles.measurements import PlatformRecord
from profiles.validity.bounds import bad_placement


def read_platform_file(content: bytes, name: str = "platform.json") -> PlatformRecord:
    """The machine that a file by itself describes. Raises ArchiveError."""
    problems = ArchiveProblems()
    document = parse_document(name, content, Limits.json_bytes, problems)
    if document is not None and validate_document(name, document, "platform", problems):
        record = platform_record(name, document, problems)
    problems.raise_if_any()
    return record


def platform_record(name: str, document: Document, problems: ArchiveProblems) -> PlatformRecord:
    """The machine of a document that is valid by its schema; a topology that cannot be is a problem."""
    _refuse_impossible_topology(name, document, problems)
    value = document.value
    record = {field.name: value.get(field.name) for field in fields(PlatformRecord)}
    for clock in ("base_mhz", "max_mhz"):
        record[clock] = float(record[clock]) if record[clock] else None  # 0 is how some say unknown
    record["placement"] = None if record["placement"] is None else tuple(map(int, record["placement"]))
    record |= {
        field: int(number)
        for field, number in record.items()
        if (isinstance(number, float) and field not in ("base_mhz", "max_mhz"))
    }
    return PlatformRecord(**record | {"cpu_model": record["cpu_model"] or ""})


def _refuse_impossible_topology(name: str, platform: Document, problems: ArchiveProblems) -> None:
    """Counts of 0 are refused by the schema; here is what two counts say about each other."""
    value = platform.value
    for low, high, strictly in (
        ("physical_cores", "threads", False),
        ("sockets", "physical_cores", False),
        ("numa_nodes", "physical_cores", False),
        ("n_max", "threads", False),
        ("n_nu", "n_ht", True),
        ("n_nu", "threads", False),
        ("n_ht", "threads", False),
    ):
        a, b = value.get(low), value.get(high)
        if a is not None and b is not None and (a >= b if strictly else a > b):
            reason = f"impossible topology: {low} = {a} is {'not less' if strictly else 'more'} than {high} = {b}"
            problems.add(name, platform.line([low]), reason)
    if complaint := bad_placement(value.get("placement"), value.get("threads")):
        problems.add(name, platform.line(["placement"]), complaint)
