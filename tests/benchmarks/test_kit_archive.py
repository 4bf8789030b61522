"""The kit as a tarball."""

import io
import os
import tarfile

import pytest

from benchmarks.kit_archive import NoKitError, built_architectures, built_tarball, kit_tarball


def members(packed):
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        return {member.name: (oct(member.mode), member.mtime) for member in archive.getmembers()}


def test_it_holds_the_sources_and_nothing_that_was_built(kit_folder):
    assert members(kit_tarball()) == {
        "mpet-kit/Makefile": ("0o644", 0),
        "mpet-kit/VERSION": ("0o644", 0),
        "mpet-kit/run.sh": ("0o755", 0),
        "mpet-kit/src/a.cpp": ("0o644", 0),
    }


def test_the_same_sources_are_the_same_bytes(kit_folder):
    before = kit_tarball()
    for path in kit_folder.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    (kit_folder / "build" / "b.o").write_text("more")
    assert kit_tarball() == before
    (kit_folder / "Makefile").write_text("all: a\n")
    assert kit_tarball() != before


def test_it_knows_the_server_that_it_came_from(kit_folder):
    """What the operator keeps in the folder is not served."""
    (kit_folder / "TOKEN").write_text("mpet_secret\n")
    (kit_folder / "SERVER").write_text("https://elsewhere.example\n")
    packed = kit_tarball("https://mpet.example/")
    assert "mpet-kit/TOKEN" not in members(packed)
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        assert [member.name for member in archive].count("mpet-kit/SERVER") == 1
        server = archive.extractfile("mpet-kit/SERVER")
        assert server is not None and server.read() == b"https://mpet.example\n"


def test_what_make_static_built_is_served_by_architecture_with_what_measures_and_sends(static_build):
    assert built_architectures() == ["x86_64"]
    packed = built_tarball("x86_64", "https://mpet.example/")
    found = members(packed)
    assert found["mpet-kit/measure"] == ("0o755", 0) and found["mpet-kit/build/mpet-sweep"] == ("0o755", 0)
    assert {"mpet-kit/build/libmpet_gomp.so", "mpet-kit/upload/upload.sh", "mpet-kit/SERVER"} <= set(found)
    assert "mpet-kit/build/clean/a.o" not in found
    assert built_tarball("x86_64", "https://mpet.example/") == packed
    with pytest.raises(NoKitError, match="aarch64"):
        built_tarball("aarch64", "")


def test_a_build_of_another_version_or_of_no_architecture_is_not_served(static_build):
    (static_build / "VERSION").write_text("1.3\n")
    assert built_architectures() == []
    for architecture in ("x86_64", "../static/x86_64", ""):
        with pytest.raises(NoKitError):
            built_tarball(architecture, "")
