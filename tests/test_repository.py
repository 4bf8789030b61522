"""What a host of repositories reads: the workflow, forms of issues, updates, hooks before a commit."""

import os
import re
import subprocess
import tomllib
from collections import Counter

import pytest
import yaml

from tests.paths import ROOT
from tests.test_docs import read


def load(name: str) -> dict:
    # YAML 1.1 reads the key `on` of a workflow as true.
    return yaml.safe_load(read(name))


def pinned() -> set[str]:
    """Names of the distributions that requirements-dev.txt pins."""
    return set(re.findall(r"^([\w-]+)==", read("requirements-dev.txt"), flags=re.M))


def test_the_workflow_runs_ci_on_each_python():
    workflow = load(".github/workflows/ci.yml")
    assert {"push", "pull_request"} <= set(workflow[True])
    assert workflow["permissions"] == {"contents": "read"}
    job = workflow["jobs"]["test"]
    pythons = job["strategy"]["matrix"]["python"]
    assert pythons == ["3.11", "3.12", "3.13"]
    assert tomllib.loads(read("pyproject.toml"))["project"]["requires-python"] == f">={pythons[0]}"
    assert ".ci/run" in [step.get("run") for step in job["steps"]]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    # The Makefile takes the interpreter of the matrix from the environment.
    assert job["env"]["PYTHON"] == "python${{ matrix.python }}"
    assert "\nPYTHON ?=" in read("Makefile")


def test_ci_runs_every_test_and_skips_none_for_want_of_a_tool():
    commands = read(".ci/run").splitlines()
    first = commands.index("export MPET_TESTS_STRICT=1")
    assert commands[first + 1 : first + 4] == ["make check", "make test", "make lab"]
    assert "set -euo pipefail" in commands


@pytest.mark.parametrize("target", ["test", "lab"])
@pytest.mark.parametrize(("arguments", "succeeds"), [("", False), ("-k nothing", True)])
def test_a_run_without_a_test_is_a_failure_unless_tests_were_chosen(target, arguments, succeeds, tmp_path):
    (tmp_path / "pytest").write_text("#!/bin/sh\nexit 5\n")  # as pytest does where it finds none
    (tmp_path / "pytest").chmod(0o755)
    command = ["make", target, "--assume-old=.venv/.installed-dev", f"BIN={tmp_path}", f"PYTEST_ARGS={arguments}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode == 0) == succeeds, done.stderr


def test_the_forms_of_issues_are_complete():
    forms = {path.name: load(path.relative_to(ROOT).as_posix()) for path in ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")}
    assert forms.pop("config.yml")["blank_issues_enabled"] is True
    assert {form["name"] for form in forms.values()} == {"A prediction was wrong", "Add a machine", "Bug"}
    for name, form in forms.items():
        assert form["description"] and form["labels"], name
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert {field["type"] for field in fields} <= {"input", "textarea", "dropdown"}, name
        identifiers = [field["id"] for field in fields]
        assert len(set(identifiers)) == len(identifiers) >= 3, name
        assert all(field["attributes"]["label"] for field in fields), name
        assert any(field.get("validations", {}).get("required") for field in fields), name


def test_the_pull_request_template_names_targets_that_exist():
    template = read(".github/pull_request_template.md")
    targets = set(re.findall(r"`make ([\w-]+)`", template))
    assert targets == {"quick-test", "check"}
    assert all(re.search(rf"^{target}:", read("Makefile"), flags=re.M) for target in targets)


def test_pins_and_actions_are_updated():
    updates = load(".github/dependabot.yml")
    assert updates["version"] == 2
    assert {update["package-ecosystem"] for update in updates["updates"]} == {"pip", "github-actions"}
    assert {update["directory"] for update in updates["updates"]} == {"/"}
    assert {update["schedule"]["interval"] for update in updates["updates"]} == {"quarterly"}
    assert "once in three months" in read("SECURITY.md")


def test_each_distribution_is_pinned_once():
    """pip reads the first pin of a name, and whoever raises it may see the second."""
    lines = read("constraints.txt").splitlines()
    names = Counter(re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() for line in lines if "==" in line)
    assert [name for name, count in names.items() if count > 1] == []
    assert len(names) > 100


def test_hooks_run_what_is_pinned_and_download_nothing():
    (repository,) = load(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}
    programs = {hook["entry"].split()[0] for hook in repository["hooks"]}
    assert programs == {".venv/bin/ruff", ".venv/bin/djlint"}
    assert {program.removeprefix(".venv/bin/") for program in programs} <= pinned()
    djlint = next(hook for hook in repository["hooks"] if hook["id"] == "djlint")
    assert re.search(djlint["files"], "predictor/templates/predictor/answer.html")
    assert djlint["entry"].removeprefix(".venv/bin/") in read("Makefile")


def test_contributing_begins_with_the_quick_test():
    first = next(line for line in read("CONTRIBUTING.md").splitlines() if line.startswith("    "))
    assert first.split("#")[0].strip() == "make quick-test"
    recipe = re.search(r"^quick-test: \$\(VENV\).*\n((?:\t.*\n)+)", read("Makefile"), flags=re.M)[1]
    for marker in ("alone", "browser", "kit", "lab", "postgresql", "shared_data"):
        assert re.search(rf"not \(.*\b{marker}\b.*\)", recipe), marker
    folders = re.search(r"^QUICK := ((?:.*\\\n)*.*)", read("Makefile"), flags=re.M)[1].replace("\\\n", " ").split()
    assert len(folders) > 3
    assert all((ROOT / folder).exists() for folder in folders)


def test_coverage_measures_the_processes_of_the_tests():
    settings = tomllib.loads(read("pyproject.toml"))["tool"]["coverage"]["run"]
    assert settings["patch"] == ["subprocess"]
    assert set(settings["source"]) == {"accounts", "benchmarks", "mpet_site", "operations", "predictor", "profiles"}
    assert "coverage" in pinned()
    assert re.search(r"^coverage==", read("constraints.txt"), flags=re.M)


def test_the_code_of_conduct_is_the_contributor_covenant():
    text = read("CODE_OF_CONDUCT.md")
    assert "https://www.contributor-covenant.org/version/2/1/code_of_conduct/" in text
    assert "SECURITY.md" in text
