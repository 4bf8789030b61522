import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

PROJECT = ROOT / "benchmarks" / "client"
sys.path.insert(0, str(PROJECT / "src"))


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """No test reads or writes what the user of this machine keeps."""
    monkeypatch.setenv("MPET_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("MPET_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("MPET_TOKEN", "MPET_SERVER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, PROJECT]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return next(folder.glob("mpet-*.whl"))
