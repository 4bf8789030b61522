"""The kit that a server sends: what is unpacked of it, and what happens where it fails."""

import io
import tarfile
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from mpet.errors import KitFailed
from mpet.kit import NOT_PROFILABLE, TOP_FOLDER, measure, profile, run_command, unpack_kit

from benchmarks.kit_archive import kit_tarball

MAKEFILE = b"""quick:
\t@echo building; mkdir -p results; echo x > results/a.tar.gz; echo 'Results: results/a.tar.gz'
\t@echo 'Upload them in the browser, or with: make upload'
"""


def packed(*members):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, data, kind in members:
            entry = tarfile.TarInfo(name)
            entry.size, entry.type, entry.mode = len(data), kind, 0o755
            entry.linkname = "/etc/passwd" if kind == tarfile.SYMTYPE else ""
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def small_kit(makefile=MAKEFILE):
    return packed((f"{TOP_FOLDER}/Makefile", makefile, tarfile.REGTYPE))


def test_the_servers_kit_is_unpacked_once(tmp_path):
    content = kit_tarball("http://here")
    folder = unpack_kit(content)
    assert (folder / "mpet-profile").stat().st_mode & 0o100
    (folder / "built").touch()
    assert unpack_kit(content) == folder
    assert (folder / "built").exists()


BAD = {
    "above": (f"{TOP_FOLDER}/../../evil", b"", tarfile.REGTYPE),
    "absolute": ("/evil", b"", tarfile.REGTYPE),
    "elsewhere": ("evil", b"", tarfile.REGTYPE),
    "link": (f"{TOP_FOLDER}/link", b"", tarfile.SYMTYPE),
}


@pytest.mark.parametrize("member", BAD)
def test_what_no_kit_has_is_not_unpacked(tmp_path, member):
    with pytest.raises(KitFailed, match="member"):
        unpack_kit(packed((f"{TOP_FOLDER}/Makefile", b"", tarfile.REGTYPE), BAD[member]))
    assert list(tmp_path.rglob("*evil*")) == []
    assert list((tmp_path / "cache/kits").iterdir()) == []


def test_other_bytes_are_no_kit(tmp_path):
    for content in (b"<html>", packed((f"{TOP_FOLDER}/README", b"", tarfile.REGTYPE))):
        with pytest.raises(KitFailed):
            unpack_kit(content)


def test_a_cache_that_cannot_be_written_is_named(monkeypatch):
    monkeypatch.setenv("MPET_CACHE_DIR", "/proc/none")
    with pytest.raises(KitFailed, match="MPET_CACHE_DIR chooses another folder"):
        unpack_kit(small_kit())


def test_measuring_tells_its_lines_and_finds_the_tarball(tmp_path):
    said = []
    tarball = measure(unpack_kit(small_kit()), "quick", {}, said.append)
    assert tarball.read_text() == "x\n"
    assert "building" in said and not any("make upload" in line for line in said)


def test_two_commands_at_once_do_not_build_in_one_folder():
    kit = unpack_kit(
        small_kit(b"quick:\n\t@mkdir building && sleep 0.5 && rmdir building && echo 'Results: a.tar.gz'\n")
    )
    said = []
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(measure, kit, "quick", {}, said.append) for _ in range(2)]
    assert [one.result() for one in running] == [kit / "a.tar.gz"] * 2
    assert said.count("waiting until another mpet command that uses the kit has finished") == 1


def test_a_kit_that_fails_says_so_with_its_last_lines(tmp_path):
    said = []
    with pytest.raises(KitFailed, match=r"^make ended with status 2$") as raised:  # its lines were shown already
        measure(unpack_kit(small_kit(b"quick:\n\t@echo no compiler; exit 3\n")), "quick", {}, said.append)
    assert raised.value.exit_code == 7 and "no compiler" in said
    with pytest.raises(KitFailed, match=r"^sh ended with status 3:\n  no compiler$"):
        run_command(["sh", "-c", "echo no compiler; exit 3"])
    with pytest.raises(KitFailed, match="path of its results"):
        measure(unpack_kit(small_kit(b"quick:\n\t@echo done\n")), "quick", {}, print)


def test_the_token_is_not_in_the_environment_of_what_is_run(tmp_path, monkeypatch):
    monkeypatch.setenv("MPET_TOKEN", "mpet_secret")
    kit = unpack_kit(packed(
        (f"{TOP_FOLDER}/Makefile", b"", tarfile.REGTYPE),
        (f"{TOP_FOLDER}/mpet-profile", b"#!/bin/sh\necho \"<$MPET_TOKEN>\" $*; touch $2\n", tarfile.REGTYPE),
    ))  # fmt: skip
    said = []
    assert profile(kit, ["./program", "its"], tmp_path / "out.tar.gz", ["--n", "1"], said.append).is_file()
    assert said == [f"<> --output {tmp_path / 'out.tar.gz'} --n 1 ./program its"]


def test_statuses_that_are_no_failure_are_told_to_the_profiler(mpet, monkeypatch, tmp_path):
    content = packed(
        (f"{TOP_FOLDER}/Makefile", b"", tarfile.REGTYPE),
        (f"{TOP_FOLDER}/mpet-profile", b"#!/bin/sh\necho $*; touch $2\n", tarfile.REGTYPE),
    )
    monkeypatch.setattr("mpet.client.Client.kit", lambda self: content)
    words = ("--no-upload", "--accept-exit", "1", "--accept-exit", "3", "--output", tmp_path / "out.tar.gz")
    status, _, said = mpet("profile", *words, "--", "./program", "its")
    assert status == 0 and "--accept-exit 1 --accept-exit 3 ./program its" in said


def test_without_a_compiler_the_servers_programs_measure(mpet, monkeypatch, static_build):
    monkeypatch.setattr("mpet.client.can_build", lambda: False)
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(machine="x86_64"))
    (static_build / "static/measure.sh").write_text(
        '#!/bin/sh\ncd "$(dirname "$0")"; mkdir results; echo x > results/a.tar.gz; echo "$@"\n'
        "echo 'Results: results/a.tar.gz'\n"
    )
    status, _, said = mpet("measure", "--no-upload", "--full", "--workloads", "hog sgm")
    assert status == 0 and "full --workloads hog sgm" in said
    (static_build / "build/static/x86_64/VERSION").unlink()
    status, _, said = mpet("measure", "--no-upload")
    assert status == 7 and "needs make and g++: the server has no compiled kit for x86_64" in said


def test_the_status_says_that_a_program_cannot_be_profiled(tmp_path):
    """Whatever the words are: `mpet try` times such a program as a whole."""
    for status in (1, NOT_PROFILABLE):
        (tmp_path / "mpet-profile").write_text(f"#!/bin/sh\necho some words >&2\nexit {status}\n")
        (tmp_path / "mpet-profile").chmod(0o755)
        said = []
        with pytest.raises(KitFailed, match=f"mpet-profile ended with status {status}$") as failed:
            profile(tmp_path, ["./program"], tmp_path / "out.tar.gz", [], said.append)
        assert (failed.value.status, said) == (status, ["some words"])
    assert KitFailed("not started").status is None
