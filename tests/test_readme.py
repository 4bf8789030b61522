"""The commands of the README and of docs/getting-started.md can be pasted: they are run on a small demo."""

import json
import re
import shlex

import pytest
from django.core.management import call_command, load_command_class

from benchmarks import simulator
from benchmarks.management.commands import load_demo
from profiles.models import Platform, Workload
from tests.paths import ROOT
from tests.test_docs import read

MACHINES = tuple(simulator.find_hardware(name) for name in ("A53 (S905)", "i7-3667U", "i9-9900K"))
APPS = {
    "predict": "predictor",
    "evaluate": "predictor",
    "import_results": "benchmarks",
    "api_token": "accounts",
}


def first_pages() -> str:
    """The text of the two pages that a new user reads."""
    return read("README.md") + read("docs/getting-started.md")


def commands(text: str | None = None) -> list[str]:
    """The indented lines of the two pages (or of the text), continued ones joined, without their comments."""
    lines = re.sub(r"\\\n\s*", " ", first_pages() if text is None else text).splitlines()
    return [re.sub(r"\s+#.*", "", line).strip() for line in lines if line.startswith("    ")]


def management_commands() -> list[list[str]]:
    """Name and arguments of each `manage.py` line."""
    found = re.findall(r"\.venv/bin/python manage\.py ([^)\n]+)", "\n".join(commands()))
    return [shlex.split(line) for line in found]


def expanded(argument: str) -> list[str]:
    return [str(path) for path in sorted(ROOT.glob(argument))] if "*" in argument else [argument]


@pytest.fixture
def demo(db, monkeypatch):
    """Three machines of the demo, stored as `make run` stores them."""
    monkeypatch.setattr(load_demo, "HARDWARE", MACHINES)
    call_command("load_demo", "--jobs", "1")


def test_the_readme_has_two_commands_and_one_prediction():
    make_run, make_test, prediction = commands(read("README.md"))
    assert (make_run, make_test) == ("make run", "make test")
    assert prediction.startswith(".venv/bin/python manage.py predict ")


def test_the_pages_name_every_command_that_is_tested_here():
    assert {name for name, *_ in management_commands()} == set(APPS)


def test_every_make_target_exists():
    targets = set(re.findall(r"^(\w[\w-]*):", read("Makefile"), flags=re.M))
    named = {line.split()[1] for line in commands() if line.startswith("make ")}
    assert named >= {"run", "test"}
    assert named <= targets


def test_every_management_command_parses_and_its_files_are_in_the_checkout():
    for name, *arguments in management_commands():
        filled = [value for argument in arguments for value in expanded(argument)]
        assert len(filled) >= len(arguments), f"no file matches: {arguments}"
        parser = load_command_class(APPS[name], name).create_parser("manage.py", name)
        parser.parse_args(filled)


def test_the_commands_run_on_the_demo(demo, capsys):
    runnable = [command for command in management_commands() if command[0] != "import_results"]
    for name, *arguments in runnable:
        call_command(name, *arguments)
    shown = capsys.readouterr().out
    assert "t(1) = " in shown
    assert "mpet2020" in shown


def test_the_slugs_are_those_of_the_demo(demo):
    slugs = set(re.findall(r"[\w-]+-simulated", first_pages()))
    stored = {*Platform.objects.values_list("slug", flat=True), *Workload.objects.values_list("slug", flat=True)}
    assert slugs
    assert slugs <= stored


def test_the_request_of_the_api_is_answered(demo, client, capsys):
    (curl,) = (shlex.split(line) for line in commands() if line.startswith("curl"))
    call_command("api_token", "alice")
    address = next(word for word in curl if word.startswith("http"))
    answer = client.post(
        address.removeprefix("http://127.0.0.1:8000"),
        curl[curl.index("-d") + 1],
        content_type="application/json",
        headers={"Authorization": f"Bearer {capsys.readouterr().out.strip()}"},
    )
    assert answer.status_code == 201, answer.content
    assert json.loads(answer.content)["curve"]
