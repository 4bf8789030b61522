"""JSON members: what is no JSON is refused by its line, and the schemas name what the records have."""

import json
from dataclasses import fields

import jsonschema
import pytest

from benchmarks.archive import load_schema
from profiles.measurements import (
    BOUNDS,
    COUNTER_STATUSES,
    DEVICE_CLASSES,
    ORIGINS,
    PARTS,
    STRATEGIES,
    PlatformRecord,
    WorkloadRecord,
)
from tests.benchmarks.archive.refusals import first
from tests.benchmarks.tarballs import pack, refusal, with_manifest


def test_too_large_json(files):
    assert first(refusal(pack(files), json_bytes=100)) == ("manifest.json", None, "is larger than 100 bytes")


BAD_JSON = {
    b'{"name": "a",\n "b" 1}': (2, "is not valid JSON: Expecting ':' delimiter"),
    b"": (1, "is not valid JSON: Expecting value"),
    b'{"name": "a"}\n{}': (2, "is not valid JSON: Extra data"),
    b'{"name": "a",\n "name": "b"}': (2, "is not valid JSON: Duplicate key 'name'"),
    b'{"name": "a",\n"base_mhz": NaN}': (2, "is not valid JSON: NaN and Infinity are not JSON"),
    b'{"name": "a",\n"base_mhz": [\n-Infinity]}': (3, "is not valid JSON: NaN and Infinity are not JSON"),
    b'{"name": "a",\n"base_mhz": 1e999}': (2, "is not valid JSON: Number too large"),
    b'{"name": "a",\n"base_mhz": ' + b"1" * 5000 + b"}": (2, "is not valid JSON: Number too long"),
    b'{"name":\n "a\\u0000"}': (2, "is not valid JSON: String contains NUL or an unpaired surrogate"),
    b'{"name":\n "a\\ud800"}': (2, "is not valid JSON: String contains NUL or an unpaired surrogate"),
    b'{"name": "a",\n "\\ud800": 1}': (2, "is not valid JSON: String contains NUL or an unpaired surrogate"),
    b'{"name": "a",\n\n "x": "\xff"}': (3, "is not UTF-8"),
    b"[" * 100_000: (1, "is not valid JSON: Nested more than 32 deep"),
    b"[]": (1, "[] is not of type 'object'"),
}


@pytest.mark.parametrize(("content", "expected"), BAD_JSON.items(), ids=range(len(BAD_JSON)))
def test_invalid_json(files, content, expected):
    error = refusal(pack(with_manifest(files | {"platform.json": content})))
    assert first(error) == ("platform.json", *expected)


@pytest.mark.parametrize("name", ["manifest.json", "workloads.json", "environment.json"])
def test_invalid_json_in_each_document(files, name):
    broken = files | {name: b"{\n'single quotes'}"}
    error = refusal(pack(broken if name == "manifest.json" else with_manifest(broken)))
    assert first(error)[:2] == (name, 2)


def test_schemas_are_valid_and_name_what_the_records_have():
    for name in ("manifest", "platform", "workloads", "dataset"):
        jsonschema.Draft202012Validator.check_schema(load_schema(name))
    of_platform = {field.name for field in fields(PlatformRecord)}
    assert set(load_schema("platform")["properties"]) == of_platform | {"fingerprint"}  # kept with the delivery
    workload = load_schema("workloads")["items"]["properties"]
    assert set(workload) == {field.name for field in fields(WorkloadRecord)} | {"first_n"}  # the rows begin there
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
