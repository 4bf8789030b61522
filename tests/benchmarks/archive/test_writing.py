"""What is written is what is read, and what the writer refuses."""

import io
import json
import tarfile
from dataclasses import replace
from datetime import datetime

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.archive import load_schema, write_archive
from mpet_site.web.invisible import INVISIBLE
from profiles.measurements import (
    BOUNDS,
    COUNTER_STATUSES,
    DEVICE_CLASSES,
    ORIGINS,
    STRATEGIES,
    CounterTable,
    Measurements,
    PlatformRecord,
    ProfileRecord,
    RunTable,
    WorkloadRecord,
    column_or_none,
)
from tests.benchmarks.archive.refusals import same
from tests.benchmarks.tarballs import CREATED, files_of, packed, read
from tests.samples import sample_measurements, sample_platform, sample_runs, sample_workload


def test_without_counters_checksums_and_profile_pass():
    measurements = sample_measurements(1, decomposed=False, counters=False)
    profiles = [replace(p, runs=replace(p.runs, output_checksum=None)) for p in measurements.profiles]
    assert same(read(packed(replace(measurements, profiles=profiles))), replace(measurements, profiles=profiles))


character = st.characters(exclude_categories=["Cs"], exclude_characters="\r")
text = st.text(character.filter(lambda one: not INVISIBLE.match(one)), max_size=20)
unknown_or_text = st.none() | text
nanoseconds = st.integers(1, 10**16)
size = st.none() | st.integers(0, 2**60)
mhz = st.none() | st.floats(1, 1e5)


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
    size, clock = (  # the row at n = 1 that every workload needs has neither
        np.array([np.nan if n == 1 else draw(st.just(np.nan) | numbers) for n, _, _ in keys])
        for numbers in (st.floats(1e-9, 1e17), st.floats(1, 1e5))
    )
    counts = st.just(np.nan) | st.integers(0, 2**53).map(float)
    tasks, waits = (np.array([draw(counts) for _ in keys]) for _ in range(2))
    disturbed = np.array([draw(st.just(np.nan) | st.sampled_from([0.0, 1.0])) for _ in keys])
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
        disturbed=column_or_none(disturbed),
    )


def split(draw, total: int) -> list[int]:
    cuts = sorted(draw(st.lists(st.integers(0, total), min_size=6, max_size=6)))
    return np.diff([0, *cuts, total]).tolist()


@st.composite
def counters(draw) -> CounterTable:
    keys = draw(st.lists(st.tuples(st.integers(1, 16), st.integers(0, 3), text.filter(bool)), min_size=1, unique=True))
    status = [draw(st.sampled_from(COUNTER_STATUSES)) for _ in keys]
    value = [draw(st.just(0.0) | st.floats(1e-9, 1e21)) if s in ("ok", "multiplexed") else np.nan for s in status]
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
            size=1e18,
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
    with tarfile.open(fileobj=io.BytesIO(packed())) as tar:
        members = tar.getmembers()
    assert [info.name for info in members] == sorted(info.name for info in members)
    assert {info.name.split("/")[0] for info in members} == {"mpet-results"}
    assert {(info.mtime, info.uid, info.uname) for info in members} == {(0, 0, "")}


def test_the_writer_refuses_what_the_format_cannot_say():
    with pytest.raises(ValueError, match="one platform"):
        packed(sample_measurements(2))
    inexact = replace(sample_runs(np.random.default_rng(0)), time_ns=None, parts_ns=None)
    with pytest.raises(ValueError, match="nanoseconds"):
        packed(replace(sample_measurements(1, 1), profiles=[ProfileRecord(0, 0, inexact)]))
    with pytest.raises(ValueError, match="time zone"):
        write_archive(io.BytesIO(), sample_measurements(1), created=datetime(2026, 1, 1))


def test_written_members_obey_the_published_schemas():
    files = files_of(packed())
    for name in ("manifest", "platform", "workloads"):
        jsonschema.validate(json.loads(files[f"{name}.json"]), load_schema(name))
    for name in ("runs", "counters"):
        header = files[f"{name}.csv"].decode().splitlines()[0].split(",")
        assert header == [field["name"] for field in load_schema(name)["fields"] if not field.get("optional")]


def test_names_with_commas_quotes_and_newlines():
    workload = sample_workload(0, name='a,"b"\nc')
    measurements = replace(sample_measurements(1, 1), workloads=[workload], platforms=[sample_platform(0, n_max=None)])
    assert same(read(packed(measurements)), measurements)


def test_created_is_written_in_utc():
    assert json.loads(files_of(packed())["manifest.json"])["created"] == "2026-11-20T10:00:00Z" == f"{CREATED:%FT%TZ}"
