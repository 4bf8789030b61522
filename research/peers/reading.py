"""Interoperability: Extra-P and Frictionless read the files that MPET writes (`make peers`).

The usual test run does not collect these tests, as the file name does not match its pattern. Extra-P pins an old numpy,
so the tools have an environment of their own (requirements-peers.txt). MPET_PEERS is the path of its interpreter.
"""

import json
import os
import subprocess
from statistics import median

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from profiles.models import Run
from tests.benchmarks.formats.test_formats import SPECIMENS, read, runs
from tests.predictor.conftest import store
from tests.samples import sample_measurements

EXTRA_P = """
import json, sys
from extrap.fileio.file_reader.jsonlines_file_reader import read_jsonlines_file
from extrap.fileio.file_reader.text_file_reader import TextFileReader
read_file = read_jsonlines_file if sys.argv[1].endswith("jsonl") else TextFileReader().read_experiment
read = read_file(sys.argv[1])
((callpath, metric), measurements), = read.measurements.items()
points = [
    {"n": float(list(point.coordinate)[0]), "median": float(point.median), "repeats": point.repetitions}
    for point in measurements
]
parameters = [parameter.name for parameter in read.parameters]
print(json.dumps({"callpath": callpath.name, "parameters": parameters, "points": points}))
"""
FRICTIONLESS = """
import json, sys
from frictionless import validate
report = validate(sys.argv[1])
errors = [error.message for task in report.tasks for error in task.errors]
rows = {task.name: task.stats.get("rows") for task in report.tasks}
print(json.dumps({"valid": report.valid, "errors": errors + [error.message for error in report.errors], "rows": rows}))
"""


def ask(script, *arguments, cwd):
    command = [os.environ["MPET_PEERS"], "-c", script, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


EXTRA_P_TIMES = (
    EXTRA_P.partition("((callpath")[0]
    + """
names = [parameter.name for parameter in read.parameters]
print(json.dumps([
    [callpath.name, dict(zip(names, map(float, point.coordinate))), float(point.median)]
    for (callpath, metric), points in read.measurements.items() if metric.name == "time"
    for point in points
]))
"""
)


@pytest.fixture
def profile(db):
    return store(sample_measurements(1, 1, seed=3), label="sample").profiles[0]


@pytest.mark.parametrize("form", ["extra-p", "extra-p-lines"])
def test_extra_p_reads_a_profile(profile, form, tmp_path):
    answer = APIClient().get(f"/api/v1/profiles/{profile.uid}/{form}/")
    path = tmp_path / ("profile.jsonl" if form.endswith("lines") else "profile.txt")
    path.write_bytes(answer.content)
    read = ask(EXTRA_P, path, cwd=tmp_path)
    clean = Run.objects.filter(profile=profile, pass_kind=Run.Pass.CLEAN)
    assert read["callpath"] == profile.workload.name
    assert [point["n"] for point in read["points"]] == sorted(set(clean.values_list("n", flat=True)))
    for point in read["points"]:
        times = clean.filter(n=point["n"]).values_list("time_s", flat=True)
        assert point["repeats"] == len(times)
        assert point["median"] == pytest.approx(median(times))


@pytest.mark.parametrize("name", ["extra-p.txt", "extra-p.jsonl"])
def test_extra_p_reads_the_specimens_as_we_do(name, tmp_path):
    theirs = {}
    for callpath, point, time_s in ask(EXTRA_P_TIMES, SPECIMENS / name, cwd=tmp_path):
        rest = f"m={point['m']:.0f}" if "m" in point else None
        theirs.setdefault((callpath, rest), {})[int(point["p"])] = pytest.approx(time_s)
    ours = {key: {n: median(times) for n, times in of.items()} for key, of in runs(read("extra-p", name)).items()}
    assert ours == theirs


# Parquet is left out, because Frictionless needs a reader for it that requires another numpy.
@pytest.mark.parametrize("form", ["csv", "sqlite"])
def test_frictionless_finds_the_dump_valid(profile, form, tmp_path):
    call_command("export", tmp_path / "dump", format=form)
    read = ask(FRICTIONLESS, "datapackage.json", cwd=tmp_path / "dump")
    assert read["valid"], read["errors"]
    if form != "sqlite":
        assert read["rows"]["runs"] == Run.objects.count()
        assert read["rows"]["profiles"] == 1
