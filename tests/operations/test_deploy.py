"""deploy/: the units hold before systemd's own checker, and what the files name is there."""

import ast
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from tests.conftest import skip_or_fail
from tests.paths import ROOT
from tests.processes import environment_of, output_of
from tests.test_docs import read

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
OTHERS = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD", "MPET_HOST"}  # PostgreSQL's and the proxy's


def environment() -> dict[str, str]:
    lines = (DEPLOY / "env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_takes_the_unit_and_knows_every_line_of_it(unit, tmp_path):
    """With programs that are here in the place of those that the installation will have."""
    if shutil.which("systemd-analyze") is None:
        skip_or_fail("systemd-analyze is not installed (Debian: apt install systemd)")
    text = re.sub(r"/srv/mpet/\.venv/bin/\w+", "/bin/true", unit.read_text())
    text = re.sub(r"WorkingDirectory=.*", "WorkingDirectory=/", text)
    for other in UNITS:
        (tmp_path / other.name).write_text(re.sub(r"/srv/mpet/\.venv/bin/\w+", "/bin/true", other.read_text()))
    path = tmp_path / unit.name.replace("@", "@1")
    path.write_text(text)
    result = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    path.write_text(text.replace("[Unit]", "[Unit]\nNoSuchLine=1"))
    worse = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
    assert "NoSuchLine" in worse.stderr


def test_the_commands_of_the_files_are_there():
    texts = [path.read_text() for path in (*UNITS, DEPLOY / "compose.yaml", DEPLOY / "Containerfile")]
    found = set(re.findall(r"manage\.py[\", ]+(\w+)", " ".join(texts)))
    assert found == {"backup", "collectstatic", "db_worker", "migrate"}
    for program in set(re.findall(r"\.venv/bin/(\w+)", " ".join(texts))):
        assert (Path(sys.executable).parent / program).exists(), program
    copied = re.findall(r"^COPY (.+) \./$", (DEPLOY / "Containerfile").read_text(), flags=re.M)
    assert all((ROOT / name).is_file() for line in copied for name in line.split())


def test_every_variable_of_the_example_is_a_setting():
    documented = read("docs/settings.md")
    assert {name for name in environment() if f"`{name}`" not in documented} == OTHERS


def test_the_example_makes_a_server_that_django_and_doctor_find_safe(empty_database, tmp_path):
    """Whatever doctor finds is of this machine: a database that is empty, pages that were not collected."""
    example = environment() | {"MPET_STATE_DIR": str(tmp_path), "MPET_STATIC_ROOT": str(tmp_path / "static")}
    example["DATABASE_URL"] = f"sqlite:///{tmp_path}/mpet.sqlite3"
    settings = {"PATH": os.environ["PATH"]} | {name: value for name, value in example.items() if name not in OTHERS}

    def manage(*arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        result = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
        return result.stdout + result.stderr

    assert "no issues" in manage("check", "--deploy", "--fail-level", "WARNING")
    shutil.copyfile(empty_database, tmp_path / "mpet.sqlite3")
    assert [line for line in manage("doctor").splitlines() if line.startswith(("error", "warning"))] == [
        "error: Style sheets and scripts are not collected: run manage.py collectstatic.",
        "warning: No user can moderate: run manage.py createsuperuser.",
    ]


def test_compose_starts_services_that_wait_by_themselves():
    """podman-compose of Debian 12 ignores the conditions of `depends_on`: all start at once."""
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert set(services) == {"postgresql", "migrate", "web", "worker", "proxy"}
    assert not [name for name, service in services.items() if isinstance(service.get("depends_on"), dict)]
    for name in ("migrate", "web", "worker"):
        assert services[name]["env_file"] == "env"
    assert "migrate --noinput --wait 300" in " ".join(services["migrate"]["command"])
    assert " ".join(services["worker"]["command"]).startswith(
        "sh -c python manage.py migrate --check --wait 600 && exec "
    )
    (command,) = re.findall(r"^CMD (.+)$", (DEPLOY / "Containerfile").read_text(), flags=re.M)
    assert "command" not in services["web"]
    assert json.loads(command)[2].startswith("python manage.py migrate --check --wait 600 && exec gunicorn ")
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]


@pytest.mark.lab
@pytest.mark.parametrize("name", ["web", "worker"])
def test_a_service_of_compose_starts_when_another_has_migrated(name, empty_database, tmp_path):
    """The command as it is, but for the server's address, and with a program that ends in the place of the worker."""
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    (command,) = re.findall(r"^CMD (.+)$", (DEPLOY / "Containerfile").read_text(), flags=re.M)
    shell, option, line = services[name].get("command") or json.loads(command)
    line = re.sub("exec .*", "exec python -c \"print('serves')\"", line)
    environment = environment_of(tmp_path, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    with subprocess.Popen(
        [shell, option, line], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as service:
        with pytest.raises(subprocess.TimeoutExpired):
            service.wait(timeout=3)
        with (
            closing(sqlite3.connect(empty_database)) as migrated,
            closing(sqlite3.connect(tmp_path / "mpet.sqlite3")) as to,
        ):
            migrated.backup(to)
        assert service.stdout.read() == "serves\n"
    assert service.returncode == 0


def copied_files(root: Path) -> set[str]:
    """What `COPY . .` takes by `.dockerignore`: of the patterns that fit a path, or a folder above it, the last."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    patterns = [(line.startswith("!"), re.compile(as_regex(line.removeprefix("!")))) for line in rules]

    def is_taken(path: Path) -> bool:
        names = [path.as_posix(), *(folder.as_posix() for folder in path.parents)]
        taken = True
        for is_exception, pattern in patterns:
            if any(pattern.fullmatch(name) for name in names if name != "."):
                taken = is_exception
        return taken

    found = set()
    for folder, folders, files in os.walk(root):
        here = Path(folder).relative_to(root)
        folders[:] = [name for name in folders if is_taken(here / name)]
        found |= {(here / name).as_posix() for name in files if is_taken(here / name)}
    return found


def as_regex(pattern: str) -> str:
    """
    >>> as_regex("**/*.py[cod]")
    '(?:.*/)?[^/]*\\\\.py[cod]'
    """
    parts = re.split(r"(\*\*/|\*|\[[^]]*\])", pattern)
    special = {"**/": "(?:.*/)?", "*": "[^/]*"}
    return "".join(special.get(part, part if part.startswith("[") else re.escape(part)) for part in parts)


STRAY = (
    *("deploy/env", ".git/config", ".env", "env", "var/secret_key", "var/mpet.sqlite3", "backup.tar", "out.json"),
    *(".venv/bin/python", "node_modules/a.js", "staticfiles/a.css", "build/client/a.whl", ".mypy_cache/a"),
    *("benchmarks/kit/TOKEN", "benchmarks/kit/SERVER", "benchmarks/kit/build/a.o", "benchmarks/kit/results/a.csv"),
    *("profiles/__pycache__/a.cpython-311.pyc", "profiles/models/a.pyc", "docs/.env", "benchmarks/client/a.egg-info/b"),
)
SERVED = ("accounts", "benchmarks", "docs", "mpet_site", "operations", "predictor", "profiles")
ALONE = {
    "manage.py",
    "gunicorn.conf.py",
    "pyproject.toml",
    "constraints.txt",
    "requirements.txt",
    "requirements-postgresql.txt",
}
ALONE |= {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"}


@pytest.fixture
def checkout(tmp_path) -> Path:
    """The files of this repository, and what lies in the checkout of somebody who works with it."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        to = tmp_path / "checkout" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to)
    for name in STRAY:
        to = tmp_path / "checkout" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text("a secret, or made here")
    return tmp_path / "checkout"


def test_the_image_has_what_serves_and_nothing_else(checkout):
    everything = {path.relative_to(checkout).as_posix() for path in checkout.rglob("*") if path.is_file()}
    served = {name for name in everything - {*STRAY} if name.split("/")[0] in SERVED and "/." not in name} | ALONE
    assert copied_files(checkout) == served
    ignored = subprocess.run(["git", "check-ignore", "deploy/env"], cwd=ROOT, capture_output=True, check=False)
    assert ignored.returncode == 0, "a commit would take the passwords along"


ASK_THE_IMAGE = """
import django
django.setup()
from django.core.management import call_command
from django.test import Client
call_command("collectstatic", interactive=False, verbosity=0)
pages = ["/", "/healthz", "/measure/", "/docs/", "/api/v1/kit/"]
pages += ["/docs/" + name for name in ("operations.md", "project/CHANGELOG.md")]
print({page: Client(SERVER_NAME="localhost").get(page, follow=True).status_code for page in pages})
"""


@pytest.mark.lab
def test_what_the_image_has_is_enough_to_serve(checkout, migrated_folder, tmp_path):
    for name in copied_files(checkout):
        to = tmp_path / "image" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(checkout / name, to)
    environment = environment_of(migrated_folder, MPET_STATIC_ROOT=str(tmp_path / "static"))
    asked = output_of("-c", ASK_THE_IMAGE, environment=environment, folder=tmp_path / "image")
    assert set(ast.literal_eval(asked).values()) == {200}, asked
