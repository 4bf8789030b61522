"""A dump of everything public, and a database that is restored from it and answers alike."""

import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from predictor.accuracy.settlement import settle_delivery
from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict, preview_answer
from predictor.snapshot import cache
from profiles.dump.files import DUMP_FORMS, read_table
from profiles.dump.package import file_sha256
from profiles.dump.tables import CURVES_TABLE, FEATURES_TABLE, PROFILES_TABLE
from profiles.models import (
    CounterReading,
    FeatureVector,
    Platform,
    Profile,
    Revision,
    Run,
    ScalingCurves,
    Source,
    Workload,
)
from profiles.moderation import mark_outlier, set_hidden
from tests.predictor.conftest import only_pair, store, without_pair
from tests.samples import sample_measurements, sample_platform, varied_measurements

PAIR = (2, 3)
QUESTION = PredictionRequest(workload="app1-section1", target="machine-3")
EVERYTHING = (Prediction, Source, Platform, Workload, Revision)
PRIVATE_NAME = "planted-laptop"


@pytest.fixture
def everything(db, alice):
    """Two datasets, an upload with counters and variations, a validated prediction, an outlier, hidden and private
    rows."""
    whole = sample_measurements(4, 6)
    first = replace(without_pair(whole, *PAIR), licence="CC BY 4.0", source="a paper")
    store(first, label="first", kind="dataset")
    validated = predict(PredictionRequest(workload="app1-section1", target="machine-2"))
    settle_delivery(store(only_pair(whole, *PAIR), label="later").source)
    varied = varied_measurements(seed=3)
    store(replace(varied, platforms=[sample_platform(7)], log="line", environment={"OMP": "1"}), label="varied")
    mark_outlier(Profile.objects.filter(platform__slug="machine-1").first(), "too slow")
    set_hidden(
        store(replace(sample_measurements(1, 1, seed=9), platforms=[sample_platform(8)]), label="bad").source, True
    )
    secret = replace(sample_measurements(1, 2, seed=5), platforms=[sample_platform(name=PRIVATE_NAME)])
    store(secret, label="secret-file", owner=alice, private=True)
    assert Prediction.objects.get(uid=validated.uid).settled_at is not None
    return validated


def emptied(monkeypatch):
    for model in (CounterReading, Run, ScalingCurves, FeatureVector, *EVERYTHING):
        model.objects.all().delete()
    assert not Profile.objects.exists()
    monkeypatch.setattr(cache, "_cache", cache.SnapshotCache(4))  # as in a process that never saw the first database


def answer_of(method):
    return preview_answer(replace(QUESTION, method=method))


def profile_rows():
    columns = ("uid", "platform__slug", "workload__slug", "source__uid", "t1_s", "fit_error", "run_count", "warnings")
    more = ("standard_error", "outlier_reason", "outlier_judge", "created_at", "source__licence", "origin")
    return list(Profile.objects.public().filter(hidden=False).order_by("uid").values(*columns, *more))


@pytest.mark.parametrize("form", DUMP_FORMS)
def test_a_restored_database_answers_alike(everything, tmp_path, monkeypatch, form):
    answers = {method: answer_of(method) for method in ("mpet", "mpet2020")}
    stored, rows, revision = Prediction.objects.get(uid=everything.uid), profile_rows(), Revision.current()
    measured_by = stored.settled_by.uid
    call_command("export", tmp_path / "dump", format=form)
    emptied(monkeypatch)
    call_command("import_dataset", tmp_path / "dump")
    assert profile_rows() == rows
    assert Revision.current() == revision
    again = Prediction.objects.get(uid=everything.uid)
    for name in ("answer", "request_key", "created_at", "settled_at", "error_full", "points_inside", "is_blind"):
        assert getattr(again, name) == getattr(stored, name), name
    assert again.settled_by.uid == measured_by
    for method, answer in answers.items():
        restored = answer_of(method)
        for name in ("curve", "candidates", "sources", "revision"):
            assert restored[name] == answer[name], name


def test_nothing_private_hidden_or_open_is_in_it(everything, tmp_path):
    predict(QUESTION)
    for form in DUMP_FORMS:
        call_command("export", tmp_path / form, format=form)
    descriptor = json.loads((tmp_path / "csv" / "datapackage.json").read_text())
    assert {one["name"]: one["rows"] for one in descriptor["resources"]}["predictions"] == 1  # not the open one
    text = "".join(path.read_text() for path in (tmp_path / "csv").iterdir())
    assert "machine-0" in text
    for planted in (PRIVATE_NAME, "secret-file", "machine-8", "alice"):
        assert planted not in text
        assert planted.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "sqlite").iterdir())


def test_twice_is_once_and_a_second_database_keeps_its_own(everything, tmp_path, monkeypatch, capsys):
    call_command("export", tmp_path / "dump")
    before = profile_rows()
    call_command("import_dataset", tmp_path / "dump")
    assert profile_rows() == before
    assert "0 sources with 0 profiles" in capsys.readouterr().out
    emptied(monkeypatch)
    store(replace(sample_measurements(1, 1, seed=11), platforms=[sample_platform(12)]), label="mine")
    call_command("import_dataset", tmp_path / "dump")
    assert Profile.objects.filter(source__label="mine").exists()
    assert len(profile_rows()) == len(before) + 1


def test_the_descriptor_says_what_is_in_it(everything, tmp_path):
    call_command("export", tmp_path / "dump", format="sqlite")
    document = json.loads((tmp_path / "dump" / "datapackage.json").read_text())
    assert document["mpet"]["revision"] == Revision.current()[0]
    assert "homepage" not in document  # the command knows no site, and null is no address
    credited = {source["title"]: source["licence"] for source in document["sources"]}
    assert credited["first"] == "CC BY 4.0"
    assert not any("rows" in one for one in document["resources"])  # Frictionless could count none of a whole file
    with sqlite3.connect(tmp_path / "dump" / "mpet.sqlite") as database:
        (runs,) = database.execute(
            "SELECT count(*) FROM runs JOIN profiles USING (profile) WHERE platform = 'machine-0'"
        ).fetchone()
        assert database.execute("SELECT count(*) FROM profiles").fetchone() == (len(profile_rows()),)
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    assert runs == Run.objects.filter(profile__platform__slug="machine-0").count()


def test_features_and_curves_are_those_that_are_stored(everything, tmp_path):
    call_command("export", tmp_path / "dump")
    uids = {row[0]: row[1] for row in read_table(tmp_path / "dump", PROFILES_TABLE, "parquet")}
    for row in read_table(tmp_path / "dump", FEATURES_TABLE, "parquet"):
        expected = FeatureVector.objects.get(profile__uid=uids[row[0]]).values
        np.testing.assert_array_equal(np.array(row[1:85], dtype=float), expected)
    times = {(uids[row[0]], row[1]): row[2] for row in read_table(tmp_path / "dump", CURVES_TABLE, "parquet")}
    curves = ScalingCurves.objects.select_related("profile").filter(profile__uid__in=uids.values())
    assert times == {
        (str(one.profile.uid), n): t
        for one in curves
        for n, t in zip(one.n.tolist(), one.values[: len(one.n)].tolist(), strict=True)
    }


def damage(folder, line, column, text):
    """Change a cell of `runs.csv` and have the descriptor agree with it."""
    runs = folder / "runs.csv"
    lines = [one.split(",") for one in runs.read_text().splitlines()]
    lines[line][lines[0].index(column)] = text
    runs.write_text("".join(f"{','.join(cells)}\n" for cells in lines))
    path = folder / "datapackage.json"
    document = json.loads(path.read_text())
    (resource,) = (one for one in document["resources"] if one["name"] == "runs")
    resource["hash"] = f"sha256:{file_sha256(runs)}"
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((2, "time_s", "soon"), "runs.csv, row 2: time_s is 'soon', not of type number"),
        ((3, "n", ""), "runs.csv, row 3: n is empty"),
        ((0, "time_ns", "ns"), "runs.csv: lacks the columns time_ns"),
        ((1, "time_s", "inf"), "runs.csv, row 1: time_s is 'inf', not of type number"),
        ((1, "time_s", "1e30"), "is more than"),
        ((-1, "profile", "4711"), "its rows are not in the order of table profiles"),
    ],
)
def test_a_broken_dump_is_refused_with_file_row_and_reason(everything, tmp_path, monkeypatch, change, reason):
    folder = tmp_path / "dump"
    call_command("export", folder, format="csv")
    emptied(monkeypatch)
    damage(folder, *change)
    with pytest.raises(CommandError, match=reason):
        call_command("import_dataset", folder)


def test_changed_bytes_and_missing_files_are_refused(everything, tmp_path):
    folder = tmp_path / "dump"
    call_command("export", folder, format="csv")
    runs = folder / "runs.csv"
    runs.write_text(runs.read_text().replace("clean", "dirty", 1))
    with pytest.raises(CommandError, match=r"runs.csv: its sha256 differs from the one in datapackage.json"):
        call_command("import_dataset", folder)
    runs.unlink()
    with pytest.raises(CommandError, match=r"runs.csv: is missing"):
        call_command("import_dataset", folder)
    (folder / "datapackage.json").write_text('{"mpet": {"schema": "mpet-dump/9"}}')
    with pytest.raises(CommandError, match="mpet-dump/9"):
        call_command("import_dataset", folder)
    with pytest.raises(CommandError, match="not an empty folder"):
        call_command("export", folder)
    with pytest.raises(CommandError, match="has no owner"):
        call_command("import_dataset", folder, private=True, owner="alice")
