"""deploy/: the units hold before systemd's own checker, and what the files name is there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import skip_or_fail
from tests.paths import ROOT
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
        "warning: Nobody can moderate: run manage.py createsuperuser.",
    ]


def test_compose_starts_what_the_docs_say_in_order():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert set(services) == {"postgresql", "migrate", "web", "worker", "proxy"}
    for name in ("web", "worker"):
        assert services[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
        assert services[name]["env_file"] == "env"
    assert services["migrate"]["depends_on"] == {"postgresql": {"condition": "service_healthy"}}
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
