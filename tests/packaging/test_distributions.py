"""The distributions: one version, sdists from which the wheels build, and a server that runs from its wheel alone."""

import json
import os
import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import numpy
import pytest
import yaml

from tests.paths import ROOT
from tests.research.bench.made_up import write_dataset

PROJECTS = {
    "mpet-server": ROOT,
    "mpet": ROOT / "benchmarks" / "client",
    "mpet-core": ROOT / "packaging" / "mpet-core",
    "mpet-bench": ROOT / "research" / "bench",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """The wheel of each distribution, built of its sdist, which takes long: for tests of `make lab`."""
    folder = tmp_path_factory.mktemp("dist")
    for project in PROJECTS.values():
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, project]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return {name: next(folder.glob(f"{name.replace('-', '_')}-[0-9]*.whl")) for name in PROJECTS}


def metadata_of(wheel):
    (name,) = [member for member in wheel.namelist() if member.endswith(".dist-info/METADATA")]
    return message_from_bytes(wheel.read(name))


def test_one_version_stands_and_is_set_everywhere(tmp_path):
    script = runpy.run_path(str(ROOT / "packaging" / "set_version.py"))
    found = script["versions"]()
    assert len({*found.values()}) == 1, found
    assert {ROOT / name for name in found} >= {project / "pyproject.toml" for project in PROJECTS.values()}
    for name in script["PLACES"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    script["main"].__globals__["REPOSITORY"] = tmp_path
    script["main"]("7.8.9rc1")
    assert {*script["versions"]().values()} == {"7.8.9rc1"}
    for name in script["PLACES"]:
        assert (tmp_path / name).read_text().count("7.8.9rc1") == 1
    with pytest.raises(SystemExit, match="one is no version"):
        script["main"]("one")


@pytest.mark.lab
@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_says_what_an_index_shows(built, name):
    with zipfile.ZipFile(built[name]) as wheel:
        told = metadata_of(wheel)
        assert not [member for member in wheel.namelist() if "__pycache__" in member or member.startswith("tests/")]
    assert told["Name"] == name
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Description-Content-Type"] == "text/markdown"
    assert len(told.get_all("Classifier")) > 4
    assert told["Summary"]
    assert name in told.get_payload()


@pytest.mark.lab
def test_the_dependencies_of_the_server_are_those_of_make_run(built):
    with zipfile.ZipFile(built["mpet-server"]) as wheel:
        needed = metadata_of(wheel).get_all("Requires-Dist")
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if re.match("[A-Za-z]", line)]
    plain = {re.sub(r"[ ;].*", "", line).lower() for line in needed if "extra ==" not in line}
    assert plain == {line.lower() for line in lines}


@pytest.mark.lab
def test_the_server_runs_from_its_wheel(built, tmp_path):
    with zipfile.ZipFile(built["mpet-server"]) as wheel:
        wheel.extractall(tmp_path / "site")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(tmp_path / "site"),
        "HOME": str(tmp_path / "home"),
        "OPENBLAS_NUM_THREADS": "1",
    }

    def run(*arguments: str) -> str:
        command = [sys.executable, "-c", "import mpet_server; mpet_server.main()", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("migrate", "--verbosity", "0")
    run("collectstatic", "--noinput", "--verbosity", "0")
    run("import_results", str(next((ROOT / "benchmarks" / "reference").glob("*.tar.gz"))))  # a process reads it
    asked = "from django.test import Client\nprint([Client(HTTP_HOST='localhost').get(p).status_code for p in {}])"
    assert run("shell", "--no-imports", "-c", asked.format(["/", "/docs/", "/api/v1/kit/", "/measure/"])) == (
        "[200, 200, 200, 200]\n"
    )
    state = tmp_path / "home" / ".local" / "share" / "mpet-server"
    assert (state / "mpet.sqlite3").is_file()
    assert not list((tmp_path / "site" / "mpet_server").glob("var"))


@pytest.mark.lab
def test_an_sdist_of_the_core_needs_no_repository(built):
    source = next(built["mpet-core"].parent.glob("mpet_core-*.tar.gz"))
    with tarfile.open(source) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    with zipfile.ZipFile(built["mpet-core"]) as wheel:
        assert {name for name in wheel.namelist() if name.endswith(".py")} <= inside


@pytest.mark.lab
def test_the_benchmark_runs_in_a_fresh_environment(built, tmp_path):
    """Libraries are those of this environment; of the repository there are two installed wheels and nothing else."""
    place, dataset = tmp_path / "fresh", write_dataset(tmp_path / "own")
    venv.create(place, with_pip=False)
    (packages,) = place.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "--no-deps", "--no-index"]
    wheels = [built["mpet-bench"], built["mpet-core"]]
    done = subprocess.run([*pip, *wheels], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (packages / "libraries.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}

    def bench(*arguments) -> str:
        done = subprocess.run(
            [place / "bin" / "mpet-bench", *arguments], cwd=tmp_path, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "hidden-pair-v1" in bench("tasks")
    for entry in ("matrix-completion", "mpet"):
        question = ("--task", "small-databases-v1", "--data", dataset)
        assert f"**{entry}**" in bench("run", "--entry", entry, *question, "--json", tmp_path / "out.json")
        assert json.loads((tmp_path / "out.json").read_text())["refused"] == 0
    with zipfile.ZipFile(built["mpet-bench"]) as wheel:
        names = wheel.namelist()
    assert "mpet_bench/results/hidden-pair-v1.mpet.json" in names
    assert not [name for name in names if name.endswith((".csv", ".gz", ".npz"))]  # no data set is shipped


def test_the_kit_of_the_recipes_is_installed_without_what_was_built(tmp_path):
    subprocess.run(["sh", ROOT / "packaging" / "kit" / "install.sh", tmp_path], check=True)
    there = {path.name for path in (tmp_path / "share" / "mpet-kit").iterdir()}
    assert there >= {"Makefile", "VERSION", "workloads", "include", "mpet-profile"}
    assert not there & {"build", "results", "SERVER", "TOKEN"}
    done = subprocess.run(
        [tmp_path / "bin" / "mpet-kit", "list"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "computes:" in done.stdout
    assert (tmp_path / "mpet-kit" / "Makefile").is_file()


def test_the_recipes_need_what_the_client_needs():
    project = tomllib.loads((ROOT / "benchmarks" / "client" / "pyproject.toml").read_text())["project"]
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "mpet" / "recipe.yaml").read_text())
    needed = {line.replace(">=", " >=") for line in project["dependencies"]}
    assert {*recipe["requirements"]["run"]} == needed | {f"python {project['requires-python']}"}
    spack = (ROOT / "packaging" / "spack" / "packages" / "py_mpet" / "package.py").read_text()
    for line in project["dependencies"]:
        name, _, least = line.partition(">=")
        assert f'depends_on("py-{name}@{least}:"' in spack
    for name in ("mpet", "mpet-kit"):
        recipe = yaml.safe_load((ROOT / "packaging" / "conda" / name / "recipe.yaml").read_text())
        assert recipe["package"]["name"] == name
        assert recipe["about"]["license"] == "Apache-2.0"


def test_zenodo_is_told_what_the_citation_says():
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    for theirs, ours in (("title", "title"), ("version", "version"), ("license", "license")):
        assert zenodo[theirs] == citation[ours]
    assert citation["preferred-citation"]["authors"][0]["family-names"] in zenodo["references"][0]


@pytest.mark.lab
def test_the_release_workflow_builds_and_publishes_all(built):
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    steps = [step for job in release["jobs"].values() for step in job["steps"]]
    assert any(step.get("run", "").startswith("make dist") for step in steps)
    assert any("twine check" in step.get("run", "") for step in steps)
    assert release["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert all(version in path.name for path in built.values())


def test_the_action_is_split_out_and_works_without_the_rest(tmp_path):
    folder = tmp_path / "mpet-action"
    command = ["make", "action", f"DIR={folder}"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert {path.name for path in folder.iterdir()} == {".git", "LICENSE", "README.md", "action.yml"}
    action = yaml.safe_load((folder / "action.yml").read_text())
    version = tomllib.loads((ROOT / "benchmarks/client/pyproject.toml").read_text())["project"]["version"]
    assert f"mpet=={version}" in action["runs"]["steps"][0]["run"]
    assert action["branding"] == {"icon": "trending-up", "color": "blue"}
    assert "../" not in (folder / "action.yml").read_text()
    readme = (folder / "README.md").read_text()
    links = re.findall(r"\]\(([^)]*)\)", readme)
    assert not [link for link in links if not link.startswith(("https://", "#"))]
    assert "REPOSITORY/action@" not in readme
    again = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert again.returncode and "is not empty" in again.stderr
