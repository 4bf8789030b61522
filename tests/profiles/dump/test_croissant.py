"""The Croissant description of a dump says of its files, columns and keys what the Frictionless one says."""

import csv
import json

import pytest
from django.core.management import call_command

from profiles.dump.files import DUMP_FORMS
from profiles.dump.package import file_sha256
from profiles.dump.rows import dumped_tables
from tests.profiles.deliveries import deliver


@pytest.fixture
def dumps(db, tmp_path):
    deliver()
    for form in DUMP_FORMS:
        call_command("export", tmp_path / form, format=form)
    return tmp_path


def croissant(folder):
    return json.loads((folder / "croissant.json").read_text())


@pytest.mark.parametrize("form", DUMP_FORMS)
def test_every_file_has_its_size_and_checksum(dumps, form):
    document = croissant(dumps / form)
    package = json.loads((dumps / form / "datapackage.json").read_text())
    files = {file["contentUrl"]: file for file in document["distribution"]}
    assert {*files} == {resource["path"] for resource in package["resources"]}
    for name, file in files.items():
        path = dumps / form / name
        assert file["sha256"] == file_sha256(path)
        assert file["contentSize"] == f"{path.stat().st_size} B"
    assert document["version"] == f"{package['version']}.0"
    assert document["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    if form == "sqlite":
        assert [file["encodingFormat"] for file in document["distribution"]] == ["application/vnd.sqlite3"]
        assert "recordSet" not in document


def test_the_columns_are_those_of_the_files_with_types_and_references(dumps):
    records = {record["name"]: record for record in croissant(dumps / "csv")["recordSet"]}
    assert {*records} == {dumped.table.name for dumped in dumped_tables()}
    for name, record in records.items():
        (file,) = {field["source"]["fileObject"]["@id"] for field in record["field"]}
        with (dumps / "csv" / file).open(newline="") as opened:
            assert [field["source"]["extract"]["column"] for field in record["field"]] == next(csv.reader(opened))
        assert [field["@id"] for field in record["field"]] == [f"{name}/{field['name']}" for field in record["field"]]
    fields = {field["@id"]: field for record in records.values() for field in record["field"]}
    types = {"curves/n": "Integer", "curves/time_s": "Float", "platforms/virtualised": "Boolean"}
    for name, type_ in (types | {"platforms/placement": "Text"}).items():
        assert fields[name]["dataType"] == f"sc:{type_}"
    referred = {name: field["references"]["field"]["@id"] for name, field in fields.items() if "references" in field}
    assert referred["profiles/platform"] == "platforms/platform"
    assert {*referred.values()} <= {*fields}
    assert {key["@id"] for record in records.values() for key in record.get("key", [])} <= {*fields}
