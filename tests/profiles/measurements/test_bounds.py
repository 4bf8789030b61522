"""The table of bounds: the published schemas and docs/formats.md say the same, and what honest people measure fits."""

import re
from dataclasses import fields, replace

import numpy as np
import pytest

from benchmarks.archive import Limits, load_schema
from mpet_site.web.invisible import VISIBLE_TEXT_PATTERN
from profiles.measurements import PART_COLUMNS, PlatformRecord, WorkloadRecord, bounds
from profiles.measurements.bounds import (
    LONGEST_TEXTS,
    RANGES,
    THREAD_COUNT,
    Range,
    bad_placement,
    bad_text,
    number_outside,
    spell_bound,
)
from tests.paths import ROOT
from tests.samples import sample_measurements, varied_measurements


def json_properties() -> dict[str, dict]:
    """By document.field: what the JSON Schemas of the tarball and the dataset say of it."""
    properties = {
        "platform": load_schema("platform")["properties"],
        "workloads": load_schema("workloads")["items"]["properties"],
        "dataset": load_schema("dataset")["properties"],
    }
    return {f"{document}.{name}": rule for document, rules in properties.items() for name, rule in rules.items()}


def schema_range(rule: dict) -> Range:
    gap = rule.get("not", {}).get("exclusiveMaximum")
    return Range(rule["minimum"] if gap is None else gap, rule["maximum"], or_zero=gap is not None)


def test_the_json_schemas_have_the_bounds_of_the_table():
    """Every number and every text has its bound."""
    seen = set()
    for path, rule in json_properties().items():
        name = path.partition(".")[2]
        kinds = rule.get("type", [])
        if {"integer", "number"} & {*kinds}:
            assert schema_range(rule) == RANGES[name], path
            seen.add(name)
        elif name == "fingerprint":  # of one length
            assert rule["pattern"] == "^[0-9a-f]{64}$"
        elif "string" in kinds:
            assert (rule["maxLength"], rule["pattern"]) == (LONGEST_TEXTS[name], VISIBLE_TEXT_PATTERN), path
            seen.add(name)
    placement = load_schema("platform")["properties"]["placement"]
    assert (placement["maxItems"], schema_range(placement["items"])) == (THREAD_COUNT.most, RANGES["placement"])
    generator = load_schema("manifest")["properties"]["generator"]["properties"].values()
    assert {(rule["maxLength"], rule["pattern"]) for rule in generator} == {
        (LONGEST_TEXTS["generator"], VISIBLE_TEXT_PATTERN)
    }
    assert len(seen) > 25


@pytest.mark.parametrize("table", ["runs", "counters"])
def test_the_table_schemas_have_the_bounds_of_the_table(table):
    """Every number has its bound. A Table Schema cannot say that 0 may stand below a counter's least value."""
    numbers = 0
    for field in load_schema(table)["fields"]:
        constraints, name = field["constraints"], field["name"]
        if field["type"] in {"integer", "number"}:
            expected = RANGES[name]
            least = 0 if expected.or_zero else expected.least
            assert (constraints["minimum"], constraints["maximum"]) == (least, expected.most), name
            numbers += 1
        elif "enum" not in constraints:
            assert constraints["maxLength"] == LONGEST_TEXTS["name" if name == "workload" else name], name
            assert constraints["pattern"] == VISIBLE_TEXT_PATTERN, name
    assert numbers >= 3


def test_every_number_and_text_of_a_record_has_a_bound():
    record_fields = [*fields(PlatformRecord), *fields(WorkloadRecord)]
    texts = {field.name for field in record_fields if "str" in field.type}
    numbers = {field.name for field in record_fields if "int" in field.type or "float" in field.type}
    assert texts - {"strategy", "bound"} <= set(LONGEST_TEXTS)
    assert numbers | set(PART_COLUMNS) <= set(RANGES)


def test_the_docs_have_the_table():
    """docs/formats.md names each bound in one row: `a`, `b` | from | to."""
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    section = text.partition("### Bounds")[2].partition("### Limits")[0]
    rows = {}
    for line in section.splitlines():
        names, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if line.startswith("| `"):
            rows |= {name.strip("` "): cells for name in names.split(",")}
    numbers = {
        name: [("0, or " if bound.or_zero else "") + spelled(bound.least), spelled(bound.most)]
        for name, bound in RANGES.items()
    }
    assert {name: cells[:2] for name, cells in rows.items() if len(cells) == 3} == numbers
    texts = {name: f"{most:,}" for name, most in LONGEST_TEXTS.items()}
    assert {name: cells[0] for name, cells in rows.items() if len(cells) == 2} == texts
    limits = ("MOST_ROWS", "MOST_WORKLOADS", "MOST_COLUMNS", "MOST_JSON_CONTAINERS", "MOST_JSON_VALUES", "DEEPEST_JSON")
    for name in limits:
        assert f"{getattr(bounds, name):,}" in text, name
    assert (Limits().rows, Limits().workloads) == (bounds.MOST_ROWS, bounds.MOST_WORKLOADS)


def spelled(number: float) -> str:
    """As docs/formats.md writes numbers."""
    if isinstance(number, int) and number > 10**9:
        powers = {2**60: "2^60", 2**63 - 1: "2^63 - 1", 2**31 - 1: "2^31 - 1", 2**53: "2^53", 10**16: "10^16"}
        return powers[number]
    return f"{number:,}" if isinstance(number, int) else spell_bound(number)


@pytest.mark.parametrize(
    ("name", "number", "complaint"),
    [
        ("base_mhz", 0, None),
        ("base_mhz", 0.5, "base_mhz 0.5 is less than 1 and not 0"),
        ("memory_bytes", 10**400, f"memory_bytes {10**400} is more than {2**60}"),
    ],
)
def test_complaints(name, number, complaint):
    assert RANGES[name].complaint(name, number) == complaint


@pytest.mark.parametrize("code", [0x00, 0x1B, 0x85, 0xAD, 0x200B, 0x200E, 0x202E, 0x2028, 0x2066, 0xFEFF, 0xE0041])
def test_trust_third_12_a_text_has_no_character_that_cannot_be_seen(code):
    reason = f"name has the invisible character U+{code:04X}"
    assert bad_text("name", f"lap{chr(code)}top") == reason
    assert not re.search(VISIBLE_TEXT_PATTERN, f"lap{chr(code)}top")


@pytest.mark.parametrize(
    "text", ["Zen 4, 2 × 96 cores", "Intel® Core™ i9", "Größe µ", "机器", "a\u00a0b", "two\nlines\tof it"]
)
def test_texts_of_every_language_are_taken(text):
    assert bad_text("description", text) is None
    assert re.search(VISIBLE_TEXT_PATTERN, text)


def test_texts_and_placements():
    assert bad_text("architecture", None) is None
    assert bad_text("architecture", "x" * 50) is None
    assert bad_placement(None, 4) is None
    assert bad_placement(tuple(range(65_536)), None) is None
    assert bad_placement((0, 65_536), None) == "placement: CPU number 65536 is more than 65535"
    assert bad_placement((0,) * 65_537, None) == "placement has 65537 entries, more than 65536"


def changed(part: str, column: str, value: object):
    """Sample measurements with one number, or one text, changed."""
    measurements = varied_measurements()
    if part in {"platforms", "workloads"}:
        first, *others = getattr(measurements, part)
        return replace(measurements, **{part: [replace(first, **{column: value}), *others]})
    profile = measurements.profiles[0]
    table = getattr(profile, part)
    if column == "counter":
        cells = (value, *table.counter[1:])
    else:
        values = getattr(table, column)
        cells = np.ones(len(table)) if values is None else values.copy()
        cells[-1] = value
    changed_profile = replace(profile, **{part: replace(table, **{column: cells})})
    return replace(measurements, profiles=[changed_profile, *measurements.profiles[1:]])


@pytest.mark.parametrize(
    ("part", "column", "value", "reason"),
    [
        ("counters", "value", 1.797e308, "value 1.797e+308 is more than 1e+21"),
        ("counters", "value", -1.0, "value -1.0 is less than 1e-09 and not 0"),
        ("counters", "n", 65_537, "n 65537 is more than 65536"),
        ("counters", "counter", "x" * 41, "counter is longer than 40 characters"),
        ("runs", "n", 0, "n 0 is less than 1"),
        ("runs", "time_s", np.nan, "a time is not a number"),
        ("runs", "time_s", np.inf, "time_s inf is more than 1e+07"),
        ("runs", "time_ns", 2**59, f"time_ns {2**59} is more than {10**16}"),
        ("runs", "time_ns", 10**16, None),
        ("runs", "size", 5e-324, "size 5e-324 is less than 1e-09"),
        ("runs", "clock_mhz", 0.5, "clock_mhz 0.5 is less than 1"),
        ("runs", "tasks", 2.0**63, f"tasks {2.0**63} is more than {2**53}"),
        ("platforms", "threads", 2**31 - 1, "platform 'machine-0': threads 2147483647 is more than 65536"),
        ("platforms", "memory_bytes", 2**61, f"platform 'machine-0': memory_bytes {2**61} is more than {2**60}"),
        ("platforms", "placement", (0,) * 17, "platform 'machine-0': placement has 17 entries, more than threads = 16"),
        ("platforms", "vendor", "x" * 101, "platform 'machine-0': vendor is longer than 100 characters"),
        ("workloads", "size", 1e300, "workload 'app0/section0': size 1e+300 is more than 1e+18"),
        ("workloads", "description", "x" * 10_001, "description is longer than 10000 characters"),
    ],
)
def test_one_number_outside(part, column, value, reason):
    found = number_outside(changed(part, column, value))
    assert found is None if reason is None else found.endswith(reason)


def test_sums_of_columns_and_relative_times_have_bounds_of_their_own():
    measurements = sample_measurements(1, 1)
    profile, runs = measurements.profiles[0], measurements.profiles[0].runs

    def found(time_kinds=None, **columns):
        changed_profile = replace(profile, runs=replace(runs, **columns))
        return number_outside(replace(measurements, profiles=[changed_profile], time_kinds=time_kinds or {}))

    huge = {"n": np.full(len(runs), 1024), "time_ns": np.full(len(runs), 10**16)}
    assert found(**huge) == "n * time_ns exceeds 63 bits"
    negative = runs.parts_ns.copy()
    negative[runs.is_profile_pass, 1] = -1
    assert found(parts_ns=negative) == "lock_ns is negative"
    assert "time_s" in found(time_s=runs.time_s * 1e12)
    assert found({0: "relative"}, time_s=runs.time_s * 1e12) is None
    assert number_outside(varied_measurements()) is None, "what is measured is inside"
