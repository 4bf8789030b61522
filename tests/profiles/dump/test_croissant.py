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


def test_the_columns_are_those_of_the_files(dumps):
    records = {record["name"]: record for record in croissant(dumps / "csv")["recordSet"]}
    assert {*records} == {dumped.table.name for dumped in dumped_tables()}
    for name, record in records.items():
        (file,) = {field["source"]["fileObject"]["@id"] for field in record["field"]}
        with (dumps / "csv" / file).open(newline="") as opened:
            assert [field["source"]["extract"]["column"] for field in record["field"]] == next(csv.reader(opened))
        assert [field["@id"] for field in record["field"]] == [f"{name}/{field['name']}" for field in record["field"]]


def test_what_refers_to_another_table_names_a_field_of_it(dumps):
    records = croissant(dumps / "csv")["recordSet"]
    known = {field["@id"] for record in records for field in record["field"]}
    referred = {
        field["@id"]: field["references"]["field"]["@id"]
        for record in records
        for field in record["field"]
        if "references" in field
    }
    assert referred["profiles/platform"] == "platforms/platform"
    assert {*referred.values()} <= known
    assert {key["@id"] for record in records for key in record.get("key", [])} <= known


def test_numbers_and_times_have_their_types(dumps):
    of_field = {
        field["@id"]: field["dataType"] for record in croissant(dumps / "csv")["recordSet"] for field in record["field"]
    }
    assert of_field["curves/n"] == "sc:Integer"
    assert of_field["curves/time_s"] == "sc:Float"
    assert of_field["platforms/virtualised"] == "sc:Boolean"
    assert of_field["platforms/placement"] == "sc:Text"


def test_sqlite_has_its_file_alone(dumps):
    document = croissant(dumps / "sqlite")
    assert [file["encodingFormat"] for file in document["distribution"]] == ["application/vnd.sqlite3"]
    assert "recordSet" not in document
