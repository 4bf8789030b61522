import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from accounts.models import ApiToken
from predictor.core import public_dump
from predictor.core.errors import PredictionError
from predictor.core.methods import METHODS
from profiles.dump.files import DumpError
from tests.paths import ROOT
from tests.predictor.conftest import store
from tests.samples import sample_measurements

PROJECT = ROOT / "benchmarks" / "client"
sys.path.insert(0, str(PROJECT / "src"))


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """Use temporary folders, so that tests do not touch the configuration and cache of the machine's user."""
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


@pytest.fixture
def server(live_server):
    store(sample_measurements(4, 6), announced=False)  # the judgement of outliers is tested elsewhere
    return live_server.url


@pytest.fixture
def token(alice):
    return ApiToken.issue(alice, ApiToken.Scope.UPLOAD)[1]


@pytest.fixture
def core(monkeypatch):
    """Provide mpet_core, from the modules that its wheel is built from, as if the wheel were installed."""
    installed = ModuleType("mpet_core")
    installed.read_dump, installed.DumpError = public_dump.read_dump, DumpError
    installed.METHODS, installed.PredictionError = METHODS, PredictionError
    monkeypatch.setitem(sys.modules, "mpet_core", installed)


@pytest.fixture
def mpet(server, token, core, monkeypatch, capsys):
    """Return a function that runs the command and returns its status, standard output and standard error."""
    cli = importlib.import_module("mpet.cli")  # imported here, because its folder is added to sys.path above

    def run(*words, server=server, token=token):
        as_whom = ["--token", token] if token else []
        where = ["--server", server] if server else []
        monkeypatch.setattr("sys.argv", ["mpet", *where, *as_whom, *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    monkeypatch.setattr(cli.out, "_width", 100)
    return run
