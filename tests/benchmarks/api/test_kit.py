import io
import os
import tarfile

import pytest

from benchmarks import kit_archive
from benchmarks.kit_archive import NoKitError, kit_tarball
from tests.mpet_site.api_samples import API, client_of
from tests.mpet_site.web.test_problems import problem_in


@pytest.fixture
def folder(tmp_path):
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


def members(packed):
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        return {member.name: (oct(member.mode), member.mtime) for member in archive.getmembers()}


def test_it_holds_the_sources_and_nothing_that_was_built(folder):
    assert members(kit_tarball(folder)) == {
        "mpet-kit/Makefile": ("0o644", 0),
        "mpet-kit/VERSION": ("0o644", 0),
        "mpet-kit/run.sh": ("0o755", 0),
        "mpet-kit/src/a.cpp": ("0o644", 0),
    }


def test_the_same_sources_are_the_same_bytes(folder):
    before = kit_tarball(folder)
    for path in folder.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    (folder / "build" / "b.o").write_text("more")
    assert kit_tarball(folder) == before
    (folder / "Makefile").write_text("all: a\n")
    assert kit_tarball(folder) != before


def test_no_version_no_kit(tmp_path):
    with pytest.raises(NoKitError, match="VERSION"):
        kit_tarball(tmp_path)


@pytest.mark.django_db
def test_served(folder, monkeypatch):
    monkeypatch.setattr(kit_archive.kit_version, "__defaults__", (folder,))
    monkeypatch.setattr(kit_archive.kit_tarball, "__defaults__", (folder,))
    client = client_of()
    for accept in ("*/*", "application/gzip"):
        response = client.get(API + "kit/", HTTP_ACCEPT=accept)
        assert response.status_code == 200
        assert response["Content-Type"] == "application/gzip"
        assert response["Content-Disposition"] == 'attachment; filename="mpet-kit-1.2.tar.gz"'
        assert response.content == kit_tarball(folder)
    assert client.get(API + "kit/", HTTP_IF_NONE_MATCH=response["ETag"]).status_code == 304
    (folder / "VERSION").unlink()
    problem_in(client.get(API + "kit/"), 404)
