import sys

import pytest

from tests.paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks" / "client" / "src"))


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """No test reads or writes what the user of this machine keeps."""
    monkeypatch.setenv("MPET_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("MPET_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("MPET_TOKEN", "MPET_SERVER"):
        monkeypatch.delenv(name, raising=False)
