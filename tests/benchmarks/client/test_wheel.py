"""A stranger's machine: a fresh virtual environment with the wheel alone measures, uploads, predicts and ranks."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.archive import read_archive
from benchmarks.models import Upload
from profiles.ingest.service import ingest
from tests.benchmarks.kit.kit_build import AS_OTHER_TESTS, SHORT_WORKLOADS, need
from tests.conftest import skip_or_fail
from tests.paths import ROOT

pytestmark = [pytest.mark.kit, pytest.mark.django_db(transaction=True)]
PROJECT = ROOT / "benchmarks" / "client"
REFERENCE = ROOT / "benchmarks" / "reference" / "amd-epyc-kvm-2vcpu.tar.gz"


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """`mpet` of an environment that has nothing but the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "--disable-pip-version-check"]
    install = [*pip, "install", "--quiet", "--no-compile", wheel]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        skip_or_fail(f"pip cannot install the wheel's dependencies: {done.stderr[-300:]}")
    return folder / "bin" / "mpet"


@pytest.mark.lab
def test_the_wheel_alone_measures_uploads_predicts_and_ranks(installed, live_server, tmp_path, token):
    need("make", "g++")
    with REFERENCE.open("rb") as file:
        ingest(read_archive(file), kind="tarball", label="reference", sha256="0" * 64, owner=None, private=False)
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MPET", "DJANGO"))}
    outside |= {"MPET_TOKEN": token, "MPET_SERVER": live_server.url, "MPET_CONFIG_DIR": str(tmp_path / "config"),
                "MPET_CACHE_DIR": str(tmp_path / "cache"), "REPEATS": "1", **AS_OTHER_TESTS}  # fmt: skip

    def mpet(*words: str) -> str:
        done = subprocess.run(
            [installed, *words], env=outside, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    measured = ("--full", "--workloads", SHORT_WORKLOADS, "--threads", "1,2", "--name", "here")
    report = json.loads(mpet("measure", *measured, "--no-upload", "--json"))
    assert Path(report["results"]).is_file()
    uploaded = json.loads(mpet("upload", report["results"], "--json"))
    assert uploaded["status"] == "accepted" and uploaded["profiles"]
    assert Upload.objects.get().visibility == "private"
    answer = json.loads(mpet("predict", "prefix_sum", "here", "--json"))
    assert [point["n"] for point in answer["curve"]] == [1, 2]
    assert all(point["low_s"] <= point["time_s"] <= point["high_s"] for point in answer["curve"])
    ranking = json.loads(mpet("rank", "prefix_sum", "--json"))
    assert "here" in {row["platform"].split("-")[0] for row in ranking["results"]}
    modules = subprocess.run(
        [installed.parent / "python", "-c", "import mpet, sys; print('django' in sys.modules, 'numpy' in sys.modules)"],
        env=outside, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert modules.stdout == "False False\n"


def test_python_3_9_reads_every_module():
    for path in (PROJECT / "src").rglob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 9))
