"""mpet-results/1: what a reader must put up with, and what it refuses of manifest, platform and workloads."""

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.archive import Limits, load_schema
from profiles.measurements import BOUNDS, COUNTER_STATUSES, DEVICE_CLASSES, STRATEGIES, PlatformRecord, WorkloadRecord
from tests.benchmarks.archive.refusals import (
    accepted,
    first,
    good_members,
    line_of,
    refused_field,
    same,
    survives,
    with_platform,
)
from tests.benchmarks.tarballs import csv_of, files_of, good_files, pack, packed, read, refusal, rows_of, with_manifest
from tests.paths import ROOT
from tests.samples import sample_measurements, sample_platform, varied_measurements


def test_sizes_need_the_workloads_own_to_mean_something():
    files = files_of(packed(varied_measurements()))
    workloads = json.loads(files["workloads.json"])
    for workload in workloads:
        del workload["size"], workload["size_unit"]
    read_again = read(pack(with_manifest(files | {"workloads.json": json.dumps(workloads).encode()})))
    assert read_again.warnings == ["workloads.json: no size for app0/section0, although their runs have sizes"]


def test_reading_imports_no_django():
    imports = "import sys, benchmarks.archive, profiles.scaling.quality"
    code = f"{imports}; print([m for m in sys.modules if m.startswith('django')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_further_fields_columns_and_listed_members_are_ignored():
    files = good_files()
    platform, workloads = json.loads(files["platform.json"]), json.loads(files["workloads.json"])
    runs = [{"note": "x"} | row | {"watts": "5.5"} for row in rows_of(files["runs.csv"])]
    changed = files | {
        "platform.json": json.dumps(platform | {"colour": "red"}).encode(),
        "workloads.json": json.dumps([workload | {"author": "me"} for workload in workloads]).encode(),
        "runs.csv": csv_of(runs),
        "plots/a.svg": b"<svg/>",
    }
    measurements = accepted(changed)
    assert measurements.warnings == ["unknown members ignored: 'plots/a.svg'"]
    assert same(replace(measurements, warnings=[]), accepted(files))


def test_a_byte_order_mark_is_ignored():
    files = good_files()
    names = ("platform.json", "workloads.json", "runs.csv", "counters.csv", "environment.json")
    assert same(accepted(files | {name: b"\xef\xbb\xbf" + files[name] for name in names}), accepted(files))


def test_absent_fields_are_null_with_a_warning():
    files = good_files()
    platform = json.loads(files["platform.json"])
    del platform["n_ht"], platform["kernel"]
    measurements = accepted(files | {"platform.json": json.dumps(platform).encode()})
    assert (measurements.platforms[0].n_ht, measurements.platforms[0].kernel) == (None, None)
    assert measurements.warnings == ["platform.json: no n_ht, kernel; taken as null"]


def test_unknown_is_null():
    files = good_files()
    platform = dict.fromkeys(json.loads(files["platform.json"])) | {"name": "box", "base_mhz": 0, "max_mhz": 0.0}
    workloads = [dict.fromkeys(w) | {"name": w["name"]} for w in json.loads(files["workloads.json"])]
    changed = {"platform.json": json.dumps(platform).encode(), "workloads.json": json.dumps(workloads).encode()}
    measurements = accepted(files | changed)
    assert measurements.platforms == [PlatformRecord("box", "")]
    assert measurements.workloads[0] == WorkloadRecord(workloads[0]["name"])
    assert measurements.warnings == []


def test_a_workload_without_runs_is_warned_of_and_its_counters_ignored():
    measurements = sample_measurements(1, 2)
    files = files_of(packed(measurements))
    rows = [row for row in rows_of(files["runs.csv"]) if row["workload"] == measurements.workloads[0].name]
    result = accepted(files | {"runs.csv": csv_of(rows)})
    assert [profile.workload for profile in result.profiles] == [0]
    name = measurements.workloads[1].name
    assert result.warnings == [f"workloads.json: no runs of {name}", f"counters.csv: ignored for {name}: no runs"]


def test_the_log_is_kept_in_part_and_whatever_its_bytes():
    measurements = read(pack(with_manifest(good_files() | {"log.txt": b"caf\xe9\0" + b"x" * 100})), log_bytes=10)
    assert measurements.log == "caf\ufffd\ufffdxxxxx"
    assert measurements.warnings == ["log.txt: only the first 10 bytes are kept"]


def test_the_environment_may_be_any_json():
    assert accepted(good_files() | {"environment.json": b"[1, 2]"}).environment == {"environment": [1, 2]}
    large = b'"' + b"x" * 5000 + b'"'
    measurements = read(pack(with_manifest(good_files() | {"environment.json": large})), json_bytes=4000)
    assert measurements.environment is None
    assert measurements.warnings == ["environment.json: larger than 4000 bytes, not kept"]


def test_n_may_reach_the_threads_where_n_max_is_unknown():
    assert json.loads(good_files()["platform.json"])["threads"] == 16
    measurements = replace(sample_measurements(1, 1), platforms=[sample_platform(0, n_max=None)])
    assert read(packed(measurements)).profiles[0].runs.n.max() == 16


def test_the_page_on_formats_names_every_field_column_limit_and_choice():
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    named = {field.name for field in fields(Limits)} | {*STRATEGIES, *BOUNDS, *DEVICE_CLASSES, *COUNTER_STATUSES}
    for schema in ("manifest", "platform", "dataset"):
        named |= set(load_schema(schema)["properties"])
    named |= set(load_schema("workloads")["items"]["properties"])
    for schema in ("runs", "counters"):
        named |= {field["name"] for field in load_schema(schema)["fields"]}
    assert not {name for name in named if re.search(rf"\b{name}\b", page) is None}


def test_no_manifest_and_members_that_differ_from_it(files):
    line = line_of(files["manifest.json"], '"log.txt"')
    reasons = {"manifest.json": "is missing", "log.txt": f"is missing, although line {line} of manifest.json lists it"}
    for name, reason in reasons.items():
        error = refusal(pack({key: content for key, content in files.items() if key != name}))
        assert first(error) == (name, None, reason)
    assert first(refusal(pack(files | {"more.txt": b"x"}))) == ("more.txt", None, "is not listed in manifest.json")


@pytest.mark.parametrize("name", ["platform.json", "workloads.json", "runs.csv"])
def test_a_missing_member(files, name):
    line = line_of(files["manifest.json"], f'"{name}"')
    others = {key: content for key, content in files.items() if key != name}
    reason = f"is missing, although line {line} of manifest.json lists it"
    assert first(refusal(pack(others))) == (name, None, reason)
    assert first(refusal(pack(with_manifest(others)))) == (name, None, "is missing")


def test_wrong_size_and_wrong_sha256(files):
    changed = files | {"runs.csv": files["runs.csv"] + b"\n", "log.txt": b"all w3ll\n"}
    error = refusal(pack(changed))
    size = len(files["runs.csv"])
    assert {(problem.member, problem.reason) for problem in error.problems} == {
        ("runs.csv", f"has {size + 1} bytes, but manifest.json lists {size}"),
        (
            "log.txt",
            f"has sha256 {hashlib.sha256(b'all w3ll' + bytes([10])).hexdigest()}, "
            f"but manifest.json lists {hashlib.sha256(files['log.txt']).hexdigest()}",
        ),
    }


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"schema": "mpet-results/2"}, "unknown schema 'mpet-results/2', not 'mpet-results/1'"),
        ({"origin": "guessed"}, "origin: 'guessed' is not one of"),
        ({"created": "yesterday"}, "created: 'yesterday' is not a 'date-time'"),
        ({"generator": "kit"}, "generator: 'kit' is not of type 'object'"),
        ({"files": []}, "files: [] is not of type 'object'"),
    ],
)
def test_a_manifest_against_its_schema(files, fields, reason):
    changed = with_manifest(files, **fields)
    member, line, said = first(refusal(pack(changed)))
    assert (member, line) == ("manifest.json", line_of(changed["manifest.json"], f'"{next(iter(fields))}"'))
    assert said.startswith(reason)


@pytest.mark.parametrize("field", ["schema", "created", "generator", "origin", "files"])
def test_a_manifest_without_a_field(files, field):
    manifest = {key: value for key, value in json.loads(files["manifest.json"]).items() if key != field}
    error = refusal(pack(files | {"manifest.json": json.dumps(manifest).encode()}))
    assert first(error) == ("manifest.json", 1, f"{field!r} is a required property")


@pytest.mark.parametrize("field", ["sockets", "numa_nodes", "physical_cores", "threads", "n_nu", "n_ht", "n_max"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "4", True])
def test_a_count_that_is_none(files, field, value):
    assert refused_field(files, **{field: value}).startswith(f"{field}: {value!r} is ")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"physical_cores": 17}, "physical_cores = 17 is more than threads = 16"),
        ({"sockets": 9}, "sockets = 9 is more than physical_cores = 8"),
        ({"numa_nodes": 9}, "numa_nodes = 9 is more than physical_cores = 8"),
        ({"n_max": 17}, "n_max = 17 is more than threads = 16"),
        ({"n_nu": 9}, "n_nu = 9 is not less than n_ht = 8"),
        ({"n_ht": 17}, "n_ht = 17 is more than threads = 16"),
        ({"n_nu": 17, "n_ht": None}, "n_nu = 17 is more than threads = 16"),
        ({"n_nu": 8}, "n_nu = 8 is not less than n_ht = 8"),
    ],
)
def test_impossible_topology(files, fields, reason):
    assert refused_field(files, **fields) == f"impossible topology: {reason}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", None),
        ("name", ""),
        ("name", "x" * 201),
        ("device_class", "phone"),
        ("virtualised", "no"),
        ("base_mhz", -1),
        ("l3_bytes", 2**63),
    ],
)
def test_a_platform_against_its_schema(files, field, value):
    assert refused_field(files, **{field: value}).startswith(field)


def test_a_bad_entry_of_the_placement_has_its_own_line(files):
    changed = with_platform(files, placement=[0, -1])
    member, line, reason = first(refusal(pack(with_manifest(changed))))
    assert (member, line) == ("platform.json", line_of(changed["platform.json"], "-1"))
    assert reason.startswith("placement[1]: -1 is less than")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("strategy", "magic"),
        ("bound", "luck"),
        ("name", None),
        ("input", 3),
        *(("size", size) for size in (0, -1, "big", 10**400)),
    ],
)
def test_a_workload_against_its_schema(files, field, value):
    workloads = json.loads(files["workloads.json"])
    workloads[1][field] = value
    content = json.dumps(workloads, indent=1).encode()
    (problem,) = refusal(pack(with_manifest(files | {"workloads.json": content}))).problems
    second = content.index(f'"{field}"'.encode(), content.index(b"}"))
    assert (problem.member, problem.line) == ("workloads.json", content[:second].count(b"\n") + 1)
    assert problem.reason.startswith(f"[1].{field}: ")


def test_a_workload_that_is_there_twice_and_no_workload(files):
    workloads = json.loads(files["workloads.json"])
    workloads[1]["name"] = workloads[0]["name"]
    error = refusal(pack(with_manifest(files | {"workloads.json": json.dumps(workloads).encode()})))
    assert first(error) == ("workloads.json", 1, f"{workloads[0]['name']!r} occurs twice")
    assert first(refusal(pack(with_manifest(files | {"workloads.json": b"[]"}))))[0] == "workloads.json"


def test_runs_are_checked_even_where_workloads_and_platform_cannot_be_read(files):
    broken = files | {"workloads.json": b"[", "platform.json": b"["}
    broken["runs.csv"] = broken["runs.csv"].replace(b"clean", b"dirty", 1)
    members = {problem.member for problem in refusal(pack(with_manifest(broken))).problems}
    assert members == {"platform.json", "workloads.json", "runs.csv"}


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_members_whose_manifest_fits(data):
    files = dict(good_members())
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    place = data.draw(st.integers(0, len(content)))
    content[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    files[name] = bytes(content)
    survives(pack(files if name == "manifest.json" else with_manifest(files)))
