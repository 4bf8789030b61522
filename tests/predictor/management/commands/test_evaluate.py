"""The statistics themselves are tested in tests/predictor/core/; here: that options reach them and files are right.

Tests without the `db` fixture cannot reach a database: pytest-django refuses any query.
"""

import csv
import gzip
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from predictor.core.evaluate import Protocol, evaluate
from predictor.core.methods import METHODS, get_method
from predictor.models import Evaluation
from predictor.snapshot.cache import read_database
from tests.paths import ROOT
from tests.predictor.conftest import store
from tests.samples import sample_measurements

STATISTICS = {"mean", "median", "p70", "p80", "p95", "max", "bias", "count", "refused"}
METHOD_STATISTICS = {
    *("full", "t1", "scaling", "coverage", "interval_width", "interval_score", "constant_interval_score"),
    *("refused_n", "seconds"),
}
PLATFORMS, WORKLOADS, COUNTS = 4, 6, (1, 2, 4, 8)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A dataset of 24 time-only profiles."""
    path = tmp_path / "dataset"
    path.mkdir()
    description = {"schema": "mpet-dataset/1", "licence": "CC0", "source": "made up", "note": ""}
    (path / "dataset.json").write_text(json.dumps(description))
    head = (
        "platform_id,name,vendor,architecture,microarchitecture,device_class,sockets,numa_nodes,physical_cores,threads,"
        "n_nu,n_ht,base_mhz,l1d_bytes,l2_bytes,l3_bytes,memory_bytes,virtualised,cpu_model"
    )
    platforms = [f"p/{p},P{p},V,x86_64,,server,1,1,8,8,,,2000,,,,,False,CPU {p // 2}" for p in range(PLATFORMS)]
    (path / "platforms.csv").write_text("\n".join([head, *platforms]) + "\n")
    rng = np.random.default_rng(0)
    rows = [
        f"p/{p},w{w},{n},1,{(1 + p) * (1 + w) * (0.1 + 0.9 / n) * rng.uniform(0.9, 1.1)!r},absolute"
        for p in range(PLATFORMS)
        for w in range(WORKLOADS)
        for n in COUNTS
    ]
    with gzip.open(path / "runs.csv.gz", "wt") as file:
        file.write("\n".join(["platform_id,workload,n,repeat,time_s,time_kind", *rows]) + "\n")
    return path


def run(folder, *arguments, method="mpet2020", out=None):
    """The JSON report of an evaluation of the folder."""
    out = out or folder.parent / "report.json"
    call_command("evaluate", "--dataset", str(folder), "--method", method, "--json", str(out), *arguments)
    return json.loads(out.read_text())


def result_of(folder, *arguments, **options):
    return run(folder, *arguments, **options)["methods"]["mpet2020"]


def rows_of(folder, *arguments):
    """The statistics and the rows of the CSV file."""
    out = folder.parent / "errors.csv"
    result = result_of(folder, "--csv", str(out), *arguments)
    with out.open(newline="") as file:
        return result, list(csv.DictReader(file))


def predicted(result, part="full"):
    return result[part]["count"] + result[part]["refused"]


def evaluate_stored(*arguments, method="mpet2020"):
    call_command("evaluate", "--database", "--method", method, *arguments)


def test_the_json_has_the_promised_shape(folder, capsys):
    report = run(folder)
    assert set(report) == {"methods", "noise_floor"}
    result = report["methods"]["mpet2020"]
    assert set(result) == METHOD_STATISTICS
    assert all(set(result[part]) == STATISTICS for part in ("full", "t1", "scaling"))
    assert predicted(result) == PLATFORMS * WORKLOADS
    assert (result["coverage"], result["interval_width"]) == (None, None)
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert table[0][:5] == ["full:", "error", "in", "%", "mean"]
    assert float(table[1][1]) == pytest.approx(result["full"]["mean"], rel=1e-2)


def test_a_csv_row_for_each_prediction_gives_the_statistics(folder):
    result, rows = rows_of(folder)
    assert len({(row["platform"], row["workload"], row["method"]) for row in rows}) == PLATFORMS * WORKLOADS
    for part in ("full", "t1", "scaling"):
        errors = [float(row[f"{part}_error_percent"]) for row in rows if row[f"{part}_error_percent"]]
        assert np.mean(errors) == pytest.approx(result[part]["mean"])


def test_needs_no_database(folder):
    """A fresh process, whose database cannot even be opened."""
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{folder}/missing/x.sqlite3", "MPET_STATE_DIR": str(folder)}
    command = [sys.executable, "manage.py", "evaluate", "--dataset", str(folder), "--method", "mpet2020"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mpet2020" in done.stdout
    assert "evaluate" in done.stderr  # progress
    assert not (folder / "missing").exists()


def test_the_same_seed_is_the_same_sample(folder):
    first, again = (result_of(folder, "--sample", "9", "--seed", "3", "--probes", "2") for _ in range(2))
    assert predicted(first) == 9
    assert {**first, "seconds": 0} == {**again, "seconds": 0}


def test_jobs_change_nothing_and_holdouts_do(folder):
    one_job, two_jobs = result_of(folder), result_of(folder, "--jobs", "2")
    assert {**one_job, "seconds": 0} == {**two_jobs, "seconds": 0}
    assert result_of(folder, "--holdout", "cpu_model")["full"]["mean"] != one_job["full"]["mean"]


def test_only_the_targets(folder):
    targets = folder.parent / "targets.txt"
    targets.write_text("p/1\n\np/3\n")
    assert {row["platform"] for row in rows_of(folder, "--targets", str(targets))[1]} == {"p/1", "p/3"}


def test_cuts_are_small_databases_each_by_itself(folder):
    _, rows = rows_of(folder, "--cut", "2x3", "--cuts", "4")
    cuts = [
        [{row[name] for row in rows[start : start + 6]} for name in ("platform", "workload")]
        for start in range(0, 24, 6)
    ]
    assert [(len(platforms), len(workloads)) for platforms, workloads in cuts] == [(2, 3)] * 4
    assert len({(*sorted(platforms), *sorted(workloads)) for platforms, workloads in cuts}) > 1
    assert len(rows) == 24
    assert predicted(result_of(folder, "--cut", "2x3", "--cuts", "4", "--sample", "2")) == 4 * 2


def test_cuts_of_the_database_have_their_noise_floor_and_are_not_kept(measured, tmp_path):
    arguments = ("--baselines", "--cut", "2x3", "--cuts", "2")
    evaluate_stored(*arguments, "--json", str(tmp_path / "report.json"), method="mpet")
    assert json.loads((tmp_path / "report.json").read_text())["noise_floor"]["full"]["count"] == 2 * 2 * 3
    assert not Evaluation.objects.exists()
    with pytest.raises(CommandError, match="--save: not allowed with --cut"):
        evaluate_stored(*arguments, "--save")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--method", "mpet2020,guess"], "guess"),
        (["--save"], "not allowed with --dataset"),
        (["--origin", "simulated"], "not allowed with --dataset"),
        (["--holdout", "moon"], "moon"),
        (["--probes", "0"], "probes"),
        (["--sample", "0"], "sample"),
        (["--cut", "9"], "'9' is not PLATFORMSxWORKLOADS"),
        (["--cut", "1x3"], "1x3"),
        (["--cut", "3x3"], "only 2 platforms of different cpu_model"),
        (["--cuts", "2"], "--cuts requires --cut"),
        (["--cut", "2x3", "--cuts", "0"], "cuts must be at least 1"),
        (["--diverse"], "--diverse requires --cut"),
        (["--json", "/no/such/folder/x.json"], "no such folder"),
        (["--targets", "/no/such/file"], "No such file"),
        (["--database"], "not allowed with"),
        (["--by-application"], "no workload names its application"),
    ],
)
def test_refusals_say_why(folder, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("evaluate", "--dataset", str(folder), "--method", "mpet2020", *arguments)


@pytest.mark.parametrize(
    ("text", "reason"), [("p/1\np/9\n", "line 2: no platform 'p/9'"), ("\n", "no platform in the file")]
)
def test_targets_that_are_not_there(folder, text, reason):
    targets = folder.parent / "targets.txt"
    targets.write_text(text)
    with pytest.raises(CommandError, match=reason):
        run(folder, "--targets", str(targets))


def test_a_broken_dataset_names_member_and_line(folder):
    with (folder / "platforms.csv").open("a") as file:
        file.write("p/0,again,V,x86_64,,server,1,1,8,8,,,2000,,,,,False,CPU 0\n")
    with pytest.raises(CommandError, match=r"platforms.csv, line 6"):
        run(folder)


def test_the_database_is_evaluated_as_the_public_sees_it(measured, owner, tmp_path):
    store(sample_measurements(4, 6, seed=3), "private", owner, private=True)
    out = tmp_path / "report.json"
    evaluate_stored("--json", str(out))
    expected = asdict(evaluate(read_database(), [get_method("mpet2020")], Protocol()).report())
    printed = json.loads(out.read_text())
    for report in (printed, expected):
        report["methods"]["mpet2020"]["seconds"] = 0
    assert printed == expected


@pytest.mark.shared_data
def test_public_measurements(shared_data, tmp_path):
    result = result_of(shared_data / "gbm", out=tmp_path / "report.json")
    assert predicted(result) == 59
    assert 0 < result["t1"]["median"] < 50


@pytest.mark.django_db
def test_a_database_of_simulated_profiles_alone_is_evaluated_and_says_so(capsys):
    store(sample_measurements(4, 6, origin="simulated"), "demo", kind="simulator")
    evaluate_stored()
    printed = capsys.readouterr()
    assert "using simulated profiles: no workload was measured on two platforms" in printed.err
    assert "24" in printed.out


def test_baselines_are_all_of_them_once_and_the_floor(folder, capsys):
    report = run(folder, "--baselines", "--sample", "2", method="ridge,mpet2020")
    baselines = [name for name, method in METHODS.items() if method.baseline and name != "ridge"]
    assert list(report["methods"]) == ["ridge", "mpet2020", *baselines]
    assert {predicted(result) for result in report["methods"].values()} == {2}
    assert report["noise_floor"]["full"] | {"count": 0, "refused": 2} == report["noise_floor"]["full"]
    assert "no run was repeated" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [("--references", "2"), ("--unlike",), ("--holdout", "application,microarchitecture")]
)
def test_what_only_studies_ask_is_not_kept(measured, options):
    evaluate_stored(*options, method="additive-log")
    assert not Evaluation.objects.exists()
    with pytest.raises(CommandError, match="--save: not allowed with"):
        evaluate_stored(*options, "--save", method="additive-log")


def test_the_statistics_of_each_application(folder, capsys):
    """w0 to w2 become sections of one application, the others stay programs of their own."""
    path = folder / "runs.csv.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    for workload in ("w0", "w1", "w2"):
        text = text.replace(f",{workload},", f",suite/{workload},")
    path.write_bytes(gzip.compress(text.encode()))
    ((application, results),) = run(folder, "--by-application")["applications"].items()
    result = results["mpet2020"]
    assert (application, predicted(result), set(result)) == ("suite", 3 * PLATFORMS, METHOD_STATISTICS)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("suite")]
    assert f"{result['full']['mean']:.3g}" in line


def test_evaluations_of_the_database_are_kept(measured, capsys):
    evaluate_stored("--baselines", "--sample", "3", "--seed", "2")
    (kept,) = Evaluation.objects.all()
    assert f"saved as evaluation {kept.uid}" in capsys.readouterr().out
    assert (kept.origin, kept.sample, kept.seed, kept.noise_floor["full"]["count"]) == ("measured", 3, 2, 3)
    evaluate_stored("--sample", "3", "--no-save")
    assert Evaluation.objects.count() == 1


def test_the_origin_can_be_chosen(measured, capsys):
    arguments = ("evaluate", "--method", "mpet2020", "--origin", "simulated")
    with pytest.raises(CommandError, match="no simulated profile"):
        call_command(*arguments)
    store(sample_measurements(4, 6, seed=3, origin="simulated"), "demo", kind="simulator")
    call_command(*arguments, "--sample", "3")
    assert "using simulated profiles\n" in capsys.readouterr().err
    assert Evaluation.objects.get().origin == "simulated"
