"""Fixtures: the kit's compiler, a waiting upload, and folders with the kit's structure."""

import io
import os
import shutil

import pytest

from benchmarks import kit_archive
from benchmarks.services import keep_tarball
from tests.benchmarks.kit.kit_build import CACHED_COMPILER
from tests.benchmarks.uploads import tarball


@pytest.fixture(scope="session", autouse=True)
def _compile_once():
    """Set CXX, from which all of the kit's Makefiles take the compiler, to the cached compiler."""
    with pytest.MonkeyPatch.context() as patch:
        if "CXX" not in os.environ and shutil.which("g++"):
            patch.setenv("CXX", str(CACHED_COMPILER))
        yield


@pytest.fixture
def waiting(alice, media):
    """Return a stored upload of alice that is not processed yet."""
    return keep_tarball(io.BytesIO(tarball()), alice, "public", "run.tar.gz")


@pytest.fixture
def kit_folder(tmp_path, monkeypatch):
    """Return a small kit, which the server has instead of its own."""
    monkeypatch.setattr(kit_archive, "KIT", tmp_path)
    for name, text in {
        "VERSION": "1.2\n",
        "Makefile": "all:\n",
        "src/a.cpp": "int main() {}\n",
        "build/a.o": "built",
        "src/a.o": "built",
        "results/mpet-x.tar.gz": "measured",
        ".hidden": "x",
        "run.sh": "#!/bin/sh\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "run.sh").chmod(0o775)
    (tmp_path / "link").symlink_to("/etc/passwd")
    return tmp_path


@pytest.fixture
def static_build(kit_folder):
    """Add the files that `make static` writes for one architecture, and the scripts that belong to them."""
    for name, text in {
        **dict.fromkeys(kit_archive.RUN_FILES.keys() - {"VERSION"}, "#!/bin/sh\n"),
        "build/static/x86_64/mpet-sweep": "built",
        "build/static/x86_64/libmpet_gomp.so": "built",
        "build/static/x86_64/clean/a.o": "built",
        "build/static/x86_64/VERSION": "1.2\n",
    }.items():
        path = kit_folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("static/measure.sh", "mpet-profile", "build/static/x86_64/mpet-sweep"):
        (kit_folder / name).chmod(0o755)
    return kit_folder
