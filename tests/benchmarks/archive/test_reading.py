"""mpet-results/1: what is written is what is read, and what a reader must put up with."""

import gzip
import io
import json
import re
import subprocess
import sys
import tarfile
from dataclasses import fields, is_dataclass, replace
from datetime import datetime

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.archive import Limits, load_schema, write_archive
from profiles.measurements import (
    BOUNDS,
    COUNTER_STATUSES,
    DEVICE_CLASSES,
    ORIGINS,
    PARTS,
    STRATEGIES,
    CounterTable,
    Measurements,
    PlatformRecord,
    ProfileRecord,
    RunTable,
    WorkloadRecord,
    column_or_none,
)
from tests.benchmarks.tarballs import CREATED, add, csv_of, files_of, good_files, pack, packed, read, rows_of
from tests.benchmarks.tarballs import with_manifest as fit
from tests.paths import ROOT
from tests.samples import sample_measurements, sample_platform, sample_runs, sample_workload, varied_measurements


def same(a, b) -> bool:
    """Equality of nested dataclasses of arrays, NaN equal to NaN."""
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def test_what_is_written_is_what_is_read():
    measurements = sample_measurements(1, 3, environment={"LANG": "C", "cpus": [0, 1]}, log="all well\n")
    assert same(read(packed(measurements)), measurements)


def test_without_counters_checksums_and_profile_pass():
    measurements = sample_measurements(1, decomposed=False, counters=False)
    profiles = [replace(p, runs=replace(p.runs, output_checksum=None)) for p in measurements.profiles]
    assert same(read(packed(replace(measurements, profiles=profiles))), replace(measurements, profiles=profiles))


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=20)
unknown_or_text = st.none() | text
nanoseconds = st.integers(1, 2**57)
size = st.none() | st.integers(0, 2**63 - 1)
mhz = st.none() | st.floats(0.1, 1e5)


@st.composite
def platforms(draw) -> PlatformRecord:
    cores = draw(st.integers(1, 500))
    threads = cores * draw(st.integers(1, 4))
    n_nu, n_ht = draw(st.sampled_from([(None, None), (1, None), (None, 1), (1, 2)]))
    return PlatformRecord(
        name=draw(text.filter(bool)),
        n_max=draw(st.integers(16, 32)) if threads >= 32 else None,
        **{name: draw(text) for name in ("cpu_model",)},
        **{name: draw(unknown_or_text) for name in ("vendor", "architecture", "microarchitecture", "kernel")},
        **{name: draw(unknown_or_text) for name in ("compiler", "compiler_flags")},
        **{name: draw(size) for name in ("l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes")},
        device_class=draw(st.none() | st.sampled_from(DEVICE_CLASSES)),
        word_bits=draw(st.sampled_from([None, 32, 64])),
        sockets=draw(st.none() | st.integers(1, cores)),
        numa_nodes=draw(st.none() | st.integers(1, cores)),
        physical_cores=cores,
        threads=max(threads, 16) if threads >= 16 else None,
        n_nu=n_nu,
        n_ht=n_ht,
        placement=draw(st.none() | st.lists(st.integers(0, 1000), max_size=5).map(tuple)),
        base_mhz=draw(mhz),
        max_mhz=draw(mhz),
        virtualised=draw(st.none() | st.booleans()),
    )


@st.composite
def runs(draw) -> RunTable:
    counts = [1, *sorted(draw(st.sets(st.integers(2, 16), max_size=3)))]
    keys = [(n, r, p) for n in counts for p in (False, True) for r in range(draw(st.integers(1, 2)))]
    keys = draw(st.permutations(keys))
    times = [draw(nanoseconds) for _ in keys]
    parts = [split(draw, n * time) if p else [-1] * 7 for (n, _, p), time in zip(keys, times, strict=True)]
    n, repeat, is_profile = (np.array(column) for column in zip(*keys, strict=True))
    checksum = draw(text.filter(bool))
    above_0 = st.just(np.nan) | st.floats(5e-324, 1e299)
    size, clock = (  # the row at n = 1 that every workload needs has neither
        np.array([np.nan if n == 1 else draw(above_0) for n, _, _ in keys]) for _ in range(2)
    )
    counts = st.just(np.nan) | st.integers(0, 2**53).map(float)
    tasks, waits = (np.array([draw(counts) for _ in keys]) for _ in range(2))
    given_at = draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))
    checksums = tuple(checksum if is_given else "" for is_given in given_at)
    return RunTable(
        n=n,
        repeat=repeat,
        is_profile_pass=is_profile,
        time_s=np.array(times) / 1e9,
        time_ns=np.array(times),
        parts_ns=np.array(parts),
        output_checksum=checksums if any(given_at) else None,
        size=column_or_none(size),
        clock_mhz=column_or_none(clock),
        tasks=column_or_none(tasks),
        waits=column_or_none(waits),
    )


def split(draw, total: int) -> list[int]:
    cuts = sorted(draw(st.lists(st.integers(0, total), min_size=6, max_size=6)))
    return np.diff([0, *cuts, total]).tolist()


@st.composite
def counters(draw) -> CounterTable:
    keys = draw(st.lists(st.tuples(st.integers(1, 16), st.integers(0, 3), text.filter(bool)), min_size=1, unique=True))
    status = [draw(st.sampled_from(COUNTER_STATUSES)) for _ in keys]
    value = [draw(st.floats(0, 1e300)) if s in ("ok", "multiplexed") else np.nan for s in status]
    return CounterTable(
        n=np.array([key[0] for key in keys]),
        repeat=np.array([key[1] for key in keys]),
        counter=tuple(key[2] for key in keys),
        value=np.array(value),
        status=tuple(status),
    )


@st.composite
def deliveries(draw) -> Measurements:
    names = draw(st.lists(text.filter(bool), min_size=1, max_size=3, unique=True))
    nullable = ("application", "section", "runtime", "input", "version", "description")
    workloads = [
        WorkloadRecord(
            name,
            strategy=draw(st.sampled_from(STRATEGIES)),
            bound=draw(st.none() | st.sampled_from(BOUNDS)),
            size=1e300,
            size_unit=draw(unknown_or_text),
            **{field: draw(unknown_or_text) for field in nullable},
        )
        for name in names
    ]
    json_values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
    return Measurements(
        origin=draw(st.sampled_from(ORIGINS)),
        time_kinds={},
        platforms=[draw(platforms())],
        workloads=workloads,
        profiles=[ProfileRecord(0, w, draw(runs()), draw(st.none() | counters())) for w in range(len(workloads))],
        generator=draw(st.sampled_from(["", "kit", "mpet-kit 1.0", "my own kit 2"])),
        environment=draw(st.none() | st.dictionaries(text, json_values, max_size=3)),
        log=draw(text),
    )


@settings(max_examples=60, deadline=None)
@given(deliveries())
def test_every_delivery_survives_the_round_trip(measurements):
    assert same(read(packed(measurements)), measurements)


def test_the_same_measurements_give_the_same_bytes():
    assert packed(sample_measurements(1)) == packed(sample_measurements(1))
    assert packed(sample_measurements(1)) != packed(sample_measurements(1, seed=1))


def test_the_writer_lists_members_in_order_under_one_folder_without_owner_or_time():
    with tarfile.open(fileobj=io.BytesIO(packed(name="night", extra={"plot.svg": b"<svg/>"}))) as tar:
        members = tar.getmembers()
    assert [info.name for info in members] == sorted(info.name for info in members)
    assert {info.name.split("/")[0] for info in members} == {"night"}
    assert {(info.mtime, info.uid, info.uname) for info in members} == {(0, 0, "")}


@pytest.mark.parametrize(
    ("measurements", "reason"),
    [
        (sample_measurements(2), "one platform"),
        (
            replace(
                sample_measurements(1, 1),
                profiles=[
                    ProfileRecord(0, 0, replace(sample_runs(np.random.default_rng(0)), time_ns=None, parts_ns=None))
                ],
            ),
            "nanoseconds",
        ),
    ],
)
def test_the_writer_refuses_what_the_format_cannot_say(measurements, reason):
    with pytest.raises(ValueError, match=reason):
        packed(measurements)


def test_other_sizes_and_clocks_are_read_as_written():
    measurements = varied_measurements()
    files = files_of(packed(measurements))
    header = files["runs.csv"].decode().splitlines()[0].split(",")
    assert header[-3:] == ["output_checksum", "size", "clock_mhz"]
    jsonschema.validate(json.loads(files["workloads.json"]), load_schema("workloads"))
    again = read(packed(measurements))
    assert same(again, measurements)
    runs = again.profiles[0].runs
    assert set(runs.size[~np.isnan(runs.size)]) == {50, 200}
    assert set(runs.clock_mhz[~np.isnan(runs.clock_mhz)]) == {1500}
    assert same(runs.own, sample_measurements(1, 2).profiles[0].runs)
    assert again.profiles[1].runs.own is again.profiles[1].runs


def test_a_size_that_is_the_workloads_own_is_no_variation():
    files = files_of(packed(varied_measurements()))
    rows = rows_of(files["runs.csv"])
    for row in rows:
        if row["workload"] == "app0/section0":
            row["size"] = row["size"] or "100.0"
    assert same(read(pack(fit(files | {"runs.csv": csv_of(rows)}))), varied_measurements())


def test_sizes_need_the_workloads_own_to_mean_something():
    files = files_of(packed(varied_measurements()))
    workloads = json.loads(files["workloads.json"])
    for workload in workloads:
        del workload["size"], workload["size_unit"]
    read_again = read(pack(fit(files | {"workloads.json": json.dumps(workloads).encode()})))
    assert read_again.warnings == ["workloads.json: no size of app0/section0, whose runs name other sizes"]


def test_the_writer_wants_a_time_zone():
    with pytest.raises(ValueError, match="time zone"):
        write_archive(io.BytesIO(), sample_measurements(1), created=datetime(2026, 1, 1))


def test_written_members_obey_the_published_schemas():
    files = files_of(packed())
    for name in ("manifest", "platform", "workloads"):
        jsonschema.validate(json.loads(files[f"{name}.json"]), load_schema(name))
    for name in ("runs", "counters"):
        header = files[f"{name}.csv"].decode().splitlines()[0].split(",")
        assert header == [field["name"] for field in load_schema(name)["fields"] if not field.get("optional")]


def test_schemas_are_valid_and_name_what_the_records_have():
    for name in ("manifest", "platform", "workloads", "dataset"):
        jsonschema.Draft202012Validator.check_schema(load_schema(name))
    assert set(load_schema("platform")["properties"]) == {field.name for field in fields(PlatformRecord)}
    workload = load_schema("workloads")["items"]["properties"]
    assert set(workload) == {field.name for field in fields(WorkloadRecord)}
    assert workload["strategy"]["enum"] == [*STRATEGIES, None]
    assert workload["bound"]["enum"] == [*BOUNDS, None]
    assert load_schema("platform")["properties"]["device_class"]["enum"] == [*DEVICE_CLASSES, None]
    assert load_schema("manifest")["properties"]["origin"]["enum"] == list(ORIGINS)
    columns = {field["name"]: field for field in load_schema("runs")["fields"]}
    assert set(columns) >= {f"{part}_ns" for part in PARTS}
    status = load_schema("counters")["fields"][-1]
    assert status["constraints"]["enum"] == list(COUNTER_STATUSES)


@pytest.mark.shared_data
def test_datasets_obey_the_dataset_schema(shared_data):
    documents = sorted(shared_data.glob("*/dataset.json"))
    assert documents
    for document in documents:
        jsonschema.validate(json.loads(document.read_text()), load_schema("dataset"))


def test_reading_imports_no_django():
    code = "import sys, benchmarks.archive, profiles.quality; print([m for m in sys.modules if m.startswith('django')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# What the format leaves free


def accepted(files: dict[str, bytes], **options) -> Measurements:
    return read(pack(fit(files), **options))


@pytest.mark.parametrize("top", ["", "any name", "."])
def test_members_may_be_at_the_root_or_below_one_folder(top):
    assert same(accepted(good_files(), top=top), accepted(good_files()))


def test_the_top_folder_itself_may_be_a_member():
    def folder(tar):
        add(tar, "./", type=tarfile.DIRTYPE)
        add(tar, "./mpet-results/", type=tarfile.DIRTYPE)

    assert accepted(good_files(), also=folder).warnings == []


@pytest.mark.parametrize("format_", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_tar_dialect_is_read(format_):
    buffer = io.BytesIO()
    top = "a folder with a very long näme " * 3 + "/" + "" if format_ != tarfile.USTAR_FORMAT else "short/"
    with tarfile.open(fileobj=buffer, mode="w:gz", format=format_) as tar:
        for name, content in good_files().items():
            add(tar, top + name, content)
    assert same(read(buffer.getvalue()), accepted(good_files()))


def test_several_gzip_streams_one_after_another_are_one():
    tar = gzip.decompress(packed())
    assert same(read(gzip.compress(tar[:5000]) + gzip.compress(tar[5000:])), read(packed()))


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
    assert measurements.warnings == ["ignored, unknown: 'plots/a.svg'"]
    assert same(replace(measurements, warnings=[]), accepted(files))


def test_columns_may_stand_in_any_order_with_any_line_ends_and_blank_lines():
    files = good_files()
    runs = [dict(reversed(row.items())) for row in rows_of(files["runs.csv"])]
    changed = files | {"runs.csv": csv_of(runs).replace(b"\n", b"\r\n") + b"\r\n\n"}
    assert same(accepted(changed), accepted(files))


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
    platform = dict.fromkeys(json.loads(files["platform.json"])) | {"name": "box"}
    workloads = [dict.fromkeys(w) | {"name": w["name"]} for w in json.loads(files["workloads.json"])]
    changed = {"platform.json": json.dumps(platform).encode(), "workloads.json": json.dumps(workloads).encode()}
    measurements = accepted(files | changed)
    assert measurements.platforms == [PlatformRecord("box", "")]
    assert measurements.workloads[0] == WorkloadRecord(workloads[0]["name"])
    assert measurements.warnings == []


def test_a_clock_of_0_is_unknown():
    platform = json.loads(good_files()["platform.json"]) | {"base_mhz": 0, "max_mhz": 0.0}
    record = accepted(good_files() | {"platform.json": json.dumps(platform).encode()}).platforms[0]
    assert (record.base_mhz, record.max_mhz) == (None, None)


def test_a_workload_without_runs_is_warned_of_and_its_counters_ignored():
    measurements = sample_measurements(1, 2)
    files = files_of(packed(measurements))
    rows = [row for row in rows_of(files["runs.csv"]) if row["workload"] == measurements.workloads[0].name]
    result = accepted(files | {"runs.csv": csv_of(rows)})
    assert [profile.workload for profile in result.profiles] == [0]
    name = measurements.workloads[1].name
    assert result.warnings == [
        f"workloads.json: no runs of {name}",
        f"counters.csv: ignored for {name}, which have no runs",
    ]


def test_the_log_is_kept_in_part_and_whatever_its_bytes():
    measurements = read(pack(fit(good_files() | {"log.txt": b"caf\xe9\0" + b"x" * 100})), log_bytes=10)
    assert measurements.log == "caf\ufffd\ufffdxxxxx"
    assert measurements.warnings == ["log.txt: only the first 10 bytes are kept"]


def test_the_environment_may_be_any_json():
    assert accepted(good_files() | {"environment.json": b"[1, 2]"}).environment == {"environment": [1, 2]}
    large = b'"' + b"x" * 5000 + b'"'
    measurements = read(pack(fit(good_files() | {"environment.json": large})), json_bytes=4000)
    assert measurements.environment is None
    assert measurements.warnings == ["environment.json: larger than 4000 bytes, not kept"]


def test_names_with_commas_quotes_and_newlines():
    workload = sample_workload(0, name='a,"b"\nc')
    measurements = replace(sample_measurements(1, 1), workloads=[workload], platforms=[sample_platform(0, n_max=None)])
    assert same(read(packed(measurements)), measurements)


def test_n_may_reach_the_threads_where_n_max_is_unknown():
    assert json.loads(good_files()["platform.json"])["threads"] == 16
    measurements = replace(sample_measurements(1, 1), platforms=[sample_platform(0, n_max=None)])
    assert read(packed(measurements)).profiles[0].runs.n.max() == 16


def test_created_is_written_in_utc():
    assert json.loads(files_of(packed())["manifest.json"])["created"] == "2026-11-20T10:00:00Z" == f"{CREATED:%FT%TZ}"


def test_the_page_on_formats_names_every_field_column_limit_and_choice():
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    named = {field.name for field in fields(Limits)} | {*STRATEGIES, *BOUNDS, *DEVICE_CLASSES, *COUNTER_STATUSES}
    for schema in ("manifest", "platform", "dataset"):
        named |= set(load_schema(schema)["properties"])
    named |= set(load_schema("workloads")["items"]["properties"])
    for schema in ("runs", "counters"):
        named |= {field["name"] for field in load_schema(schema)["fields"]}
    assert not {name for name in named if re.search(rf"\b{name}\b", page) is None}
