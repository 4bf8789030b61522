"""Every recipe of docs/recipes.md, and the notebook, are executed against a live server."""

import os
import re
import subprocess
import sys

import pytest

from benchmarks.models import Upload
from tests.benchmarks.kit.kit_build import need
from tests.benchmarks.uploads import tarball
from tests.paths import ROOT

pytestmark = pytest.mark.django_db(transaction=True)
RECIPES = ROOT / "docs" / "recipes.md"
NOTEBOOK = ROOT / "docs" / "notebooks" / "first-steps.ipynb"
SOURCES = ROOT / "benchmarks" / "client" / "src"


def recipes():
    """(title, language, code) of each block."""
    for section in re.split(r"^## ", RECIPES.read_text(), flags=re.M)[1:]:
        title = section.splitlines()[0]
        for language, code in re.findall(r"^```(\w+)\n(.*?)^```", section, flags=re.M | re.S):
            yield pytest.param(language, code, id=f"{title} ({language})")


@pytest.fixture
def outside(server, token, tmp_path):
    """The environment of somebody who has the client, a token, and a tarball in the current folder."""
    (tmp_path / "results.tar.gz").write_bytes(tarball())
    folders = {"MPET_CONFIG_DIR": str(tmp_path / "config"), "MPET_CACHE_DIR": str(tmp_path / "cache")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MPET", "DJANGO", "PYTEST"))}
    return (
        kept
        | folders
        | {
            "SITE": server,
            "TOKEN": token,
            "MPET_SERVER": server,
            "MPET_TOKEN": token,
            "PYTHONPATH": str(SOURCES),
        }
    )


def test_every_recipe_is_told_in_both_languages():
    languages = [parameters.values[0] for parameters in recipes()]
    assert languages == ["sh", "python"] * 6


@pytest.mark.parametrize(("language", "code"), list(recipes()))
def test_a_recipe_runs_as_it_stands(outside, tmp_path, language, code):
    need("curl")
    command = ["sh", "-e", "-c", code] if language == "sh" else [sys.executable, "-c", code]
    done = subprocess.run(command, env=outside, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.strip()
    if "uploads/" in code or "upload(" in code:
        assert Upload.objects.get().status == "accepted"


def test_the_notebook_runs(outside, tmp_path):
    command = [sys.executable, "-m", "pytest", "--nbmake", "-q", "-p", "no:cacheprovider", "-p", "no:django"]
    done = subprocess.run(
        [*command, f"--rootdir={tmp_path}", "-c", os.devnull, NOTEBOOK],
        env=outside, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "1 passed" in done.stdout
