"""`--scheduler`, `--jobs` and the commands that compute everything: the same numbers as without."""

import csv
import io
import json

import numpy as np
import pytest
from distributed import LocalCluster
from django.core.management import CommandError, call_command

from predictor.predictions.rankings import rank_platforms
from predictor.snapshot.cache import read_database
from profiles.models import Profile
from tests.predictor.conftest import store
from tests.predictor.core.comparisons.matrices import distance_matrix
from tests.profiles.derived import corrupt, derived
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def scheduler():
    """The address of a cluster that anybody on this host can reach."""
    with LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def stored():
    store(sample_measurements(5, 6, licence="CC0", source="made up"))


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_evaluate(stored, scheduler, tmp_path):
    reports = []
    for options in ([], ["--scheduler", scheduler], ["--jobs", "-1"]):
        out = tmp_path / f"{len(reports)}.json"
        call_command("evaluate", "--database", "--method", "mpet,mpet2020", "--no-save", "--json", str(out), *options)
        report = json.loads(out.read_text())
        for result in report["methods"].values():
            del result["seconds"]
        reports.append(report)
    assert reports[0] == reports[1] == reports[2]
    assert reports[0]["methods"]["mpet"]["full"]["count"] > 20


def test_paper_figures(stored, scheduler, tmp_path):
    for name, options in (("here", []), ("there", ["--scheduler", scheduler])):
        (tmp_path / name).mkdir()
        call_command("paper_figures", "--no-save", "--sample", "8", "--output", str(tmp_path / name), *options)
    here, there = ((tmp_path / name / "paper.json").read_text() for name in ("here", "there"))
    assert here == there


def test_refit(stored, scheduler):
    before = derived()
    corrupt(Profile.objects.all())
    assert derived() != before
    call_command("refit", "--scheduler", scheduler)
    assert derived() == before


def test_find_outliers(scheduler, capsys):
    measurements = sample_measurements(6, 8, licence="CC0", source="made up")
    measurements.profiles[9].runs.time_s[:] *= 40
    store(measurements)
    said = []
    for options in (["--all"], ["--all", "--scheduler", scheduler]):
        Profile.objects.update(outlier_reason="", outlier_judge="", outlier_checked_at=None)
        call_command("find_outliers", *options)
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert said[0].startswith("48 profiles judged")


@pytest.mark.parametrize("where", ["here", "there"])
def test_rank_everything_is_every_ranking(stored, scheduler, tmp_path, where):
    options = ["--scheduler", scheduler] if where == "there" else []
    call_command("rank_everything", str(tmp_path), "--format", "csv", *options)
    rows = rows_of(tmp_path / "rankings.csv")
    database = read_database()
    assert len(rows) == len(database.platforms) * len(database.workloads)
    for workload in database.workloads:
        ranking = rank_platforms(workload)
        mine = [row for row in rows if row["workload"] == workload]
        assert [row["platform"] for row in mine if row["place"]] == [row["platform"] for row in ranking.results]
        for row, expected in zip(mine, ranking.results, strict=False):
            numbers = [float(row[name]) for name in ("time_s", "low_s", "high_s")]
            assert numbers == [expected[name] for name in ("time_s", "low_s", "high_s")]
            assert int(row["n_best"]) == expected["n_best"]


def test_rank_everything_of_some_workloads_estimated(stored, tmp_path):
    wanted = read_database().workloads[2]
    call_command("rank_everything", str(tmp_path), "--format", "csv", "--workloads", wanted, "--estimate")
    rows = rows_of(tmp_path / "rankings.csv")
    assert {(row["workload"], row["estimated"], row["low_s"]) for row in rows} == {(wanted, "true", "")}
    times = [float(row["time_s"]) for row in rows if row["place"]]
    assert times == sorted(times)
    assert times


@pytest.mark.parametrize("of", ["platforms", "workloads"])
def test_all_distances_are_those_of_the_matrix(stored, scheduler, tmp_path, of):
    call_command("all_distances", str(tmp_path), "--of", of, "--format", "csv", "--scheduler", scheduler)
    matrix = distance_matrix(read_database(), of)
    position = {slug: place for place, slug in enumerate(matrix["slugs"])}
    rows = rows_of(tmp_path / "distances.csv")
    assert len(rows) == np.count_nonzero(np.triu(matrix["count"], 1))
    for row in rows:
        place = position[row["first"]], position[row["second"]]
        assert float(row["distance"]) == pytest.approx(matrix["mean"][place], abs=1e-12)
        assert int(row["count"]) == matrix["count"][place]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["rank_everything", "nowhere"], "no such folder"),
        (["rank_everything", ".", "--workloads", "moon"], "'moon'"),
        (["rank_everything", ".", "--method", "speed-ratio", "--estimate"], "has no estimates"),
        (["all_distances", "."], "no measured or simulated profile"),
        (["refit", "--scheduler", "nonsense://x"], "--scheduler"),
    ],
)
def test_what_makes_no_sense_is_refused(options, reason, request, tmp_path, monkeypatch):
    if options[0] == "rank_everything":
        request.getfixturevalue("stored")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=reason):
        call_command(*options, stdout=io.StringIO())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [["--jobs", "0"], ["--jobs", "two"], ["--jobs", "2", "--scheduler", "tcp://x:1"]])
def test_jobs_that_are_no_number_and_both_options(options):
    with pytest.raises(CommandError):
        call_command("refit", *options)
