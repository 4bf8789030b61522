"""make upload: what is sent, how long it waits, what it says; and that nobody sees the token."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.benchmarks.kit.kit_build import need
from tests.benchmarks.kit.uploading import UPLOAD, Said, run, served_kit, stand_in, upload_document, write_results
from tests.paths import KIT

pytestmark = pytest.mark.kit

ACCEPTED = upload_document("accepted", profiles=["a", "b"])
BUSY = {"title": "Busy", "status": 503, "detail": "Try again."}


@pytest.fixture
def kit(tmp_path) -> Path:
    """With two sweeps and the results of a program, which are the newest."""
    need("curl", "awk")
    folder = served_kit("", tmp_path)
    platform = {"name": "host"}
    write_results(folder, "host-1", 300, platform=platform, environment={"scale": "full"})
    write_results(folder, "host-2", 200, platform=platform, environment={"scale": "quick"})
    write_results(folder, "host-sort-3", 100, platform=platform)
    return folder


def upload(kit: Path, url: str, tarball: str | Path = "", **environment: str) -> Said:
    settings = {"MPET_TOKEN": "mpet_a-b_c", "VISIBILITY": "public", "URL": url} | environment
    return run("sh", kit / "upload" / "upload.sh", kit / "results", tarball, **settings)


def test_make_upload_sends_the_newest_tarball_names_it_and_waits(kit):
    processing = upload_document("processing")
    answers = [(202, processing, {}), (200, processing, {}), (200, ACCEPTED, {})]
    with stand_in(*answers) as server:
        said = run("make", "-C", kit, "upload", f"URL={server.url}/", "TOKEN=abc", "PAPI=0")
    assert said.status == 0, said.err
    (method, path, authorization, body), *polls = server.received
    assert (method, path, authorization) == ("POST", "/api/v1/uploads/", "Bearer abc")
    assert b'filename="mpet-host-sort-3.tar.gz"' in body and b"private" in body
    assert [poll[:3] for poll in polls] == [("GET", f"/api/v1/uploads/{UPLOAD}/", "Bearer abc")] * 2
    assert "results/mpet-host-sort-3.tar.gz is the newest of 3 tarballs in results" in said.err
    assert "TARBALL=results/mpet-host-2.tar.gz (make quick)" in said.err
    assert f"to {server.url}, private: readable by you only" in said.err
    assert "accepted: 2 profiles" in said.err
    assert f"Report: {server.url}/uploads/{UPLOAD}/" in said.out


def test_another_tarball_can_be_named(kit):
    with stand_in((201, ACCEPTED, {})) as server:
        said = run("make", "-C", kit, "upload", f"URL={server.url}", "TARBALL=results/mpet-host-1.tar.gz", "PAPI=0",
                   "VISIBILITY=private", MPET_TOKEN="abc")  # fmt: skip
    assert b'filename="mpet-host-1.tar.gz"' in server.received[0][3] and b"private" in server.received[0][3]
    assert "(make)" in said.err and "private: readable by you only" in said.err
    assert "newest" not in said.err


def test_the_pages_of_the_programs_are_printed_or_that_of_the_upload_if_it_has_none(kit):
    programs = [{"name": "sort", "url": "https://mpet.example/programs/1/"}, {"name": "fft", "url": "https://x/2/"}]
    answers = [(201, ACCEPTED | {"programs": some}, {}) for some in (programs, [])]
    with stand_in(*answers) as server:
        assert upload(kit, server.url).out.splitlines() == [
            "sort on all machines, the fastest first: https://mpet.example/programs/1/",
            "fft on all machines, the fastest first: https://x/2/",
        ]
        assert upload(kit, server.url).out == f"Report: {server.url}/uploads/{UPLOAD}/\n"


def test_it_waits_as_long_as_a_busy_server_asks_for(kit, tmp_path):
    """The pauses are noted instead of slept."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sleep").write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/slept\n')
    (tmp_path / "bin" / "sleep").chmod(0o755)
    received = upload_document("received")
    answers = [
        (429, {"title": "Too many requests"}, {"Retry-After": "7"}),
        (503, BUSY, {"Retry-After": "30"}),
        (202, received, {}),
        (200, received, {}),
        (503, BUSY, {"Retry-After": "9"}),
        (500, {}, {}),
        (200, ACCEPTED, {}),
    ]
    with stand_in(*answers) as server:
        said = upload(kit, server.url, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert said.status == 0, said.err
    assert (tmp_path / "slept").read_text().split() == ["7", "30", "1", "2", "9", "8"]
    assert [method for method, *_ in server.received] == ["POST"] * 3 + ["GET"] * 4


def test_patience_ends_and_says_where_to_look(kit):
    with stand_in((202, upload_document("received"), {})) as server:
        said = upload(kit, server.url, MPET_UPLOAD_PATIENCE="0")
    assert said.status == 3
    assert f"has not finished reading it; report: {server.url}/uploads/{UPLOAD}/" in said.err


def test_warnings_are_told_shortly(kit):
    report = {"errors": [], "warnings": [f'"fib": number {i}\\' for i in range(9)]}
    with stand_in((201, ACCEPTED | {"report": report}, {})) as server:
        said = upload(kit, server.url)
    assert said.err.count("  warning: ") == 6
    assert '  warning: "fib": number 5\\\n' in said.err
    assert f"  and 3 more: {server.url}/uploads/{UPLOAD}/" in said.err


def test_a_rejection_says_why(kit):
    errors = [
        {"member": "runs.csv", "line": 7, "reason": "time_ns is 0"},
        {"member": None, "line": None, "reason": "is truncated"},
    ]
    document = upload_document("rejected", report={"errors": errors, "warnings": []})
    with stand_in((201, document, {})) as server:
        said = upload(kit, server.url)
    assert said.status == 1
    assert "  runs.csv: 7: time_ns is 0\n  is truncated\n" in said.err
    assert said.out == f"Report: {server.url}/uploads/{UPLOAD}/\n"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((401, {"title": "Unauthorized", "detail": "Invalid token."}, {}), "rejects this token (Invalid token.)"),
        ((413, {"title": "Too large", "detail": "At most 9 bytes."}, {}), "answers 413: Too large At most 9 bytes."),
        ((301, {}, {"Location": "https://mpet.example/api/"}), "redirects to https://mpet.example/api/: use that URL"),
    ],
)
def test_a_refusal_is_told_and_the_tarball_is_kept(kit, answer, reason):
    with stand_in(answer) as server:
        said = upload(kit, server.url)
    assert said.status == 1 and said.out == ""
    assert reason in said.err
    assert f"{kit}/results/mpet-host-sort-3.tar.gz is kept" in said.err


def test_a_refused_field_is_named_once(kit):
    reason = 'licence: "GPL" is not one of: CC0, ODbL.'
    errors = [{"name": "licence", "reason": '"GPL" is not one of: CC0, ODbL.'}]
    with stand_in((400, {"title": "Invalid request", "detail": reason, "errors": errors}, {})) as server:
        said = upload(kit, server.url, LICENCE="GPL")
    assert said.err.count("is not one of") == 1
    assert f"upload: {server.url} answers 400: Invalid request {reason}\n" in said.err


def test_a_folder_is_not_sent(kit):
    with stand_in((201, ACCEPTED, {})) as server:
        said = upload(kit, server.url, kit / "results")
    assert (said.status, server.received) == (2, [])
    assert said.err == (
        f"upload: {kit}/results is a folder: TARBALL must be a results tarball, such as results/mpet-NAME.tar.gz\n"
    )


def test_no_server_at_the_address(kit):
    with stand_in((200, {}, {})) as server:
        gone = server.url
    said = upload(kit, gone)
    assert said.status == 1
    assert "onnect" in said.err and "is kept" in said.err


def test_curl_is_missing(kit, tmp_path):
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "dirname", "readlink", "mktemp", "rm", "sed", "ls", "tar", "gzip", "awk", "wc", "tr"):
        (tmp_path / "bin" / tool).symlink_to(Path(shutil.which(tool) or tool).resolve())
    said = upload(kit, "https://mpet.example", PATH=str(tmp_path / "bin"))
    assert said.status == 1
    kept = kit / "results" / "mpet-host-sort-3.tar.gz"
    assert f"curl is missing, so {kept} is not sent. Upload it in the browser: https://mpet.example/upload/" in said.err
    assert kept.exists()


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"URL": ""}, "no server is set: name one with URL=https://..."),
        ({"URL": "mpet.example"}, "which begins with https:// or http://"),
        ({"MPET_TOKEN": ""}, "no token is set: make upload TOKEN=..."),
        ({"MPET_TOKEN": 'a"\nurl = "https://elsewhere'}, "the token contains invalid characters"),
        ({"VISIBILITY": ""}, "'' is neither public nor private"),
        ({"VISIBILITY": "Public"}, "'Public' is neither public nor private"),
    ],
)
def test_what_has_to_be_said_first(kit, environment, reason):
    with stand_in((201, ACCEPTED, {})) as server:
        said = upload(kit, server.url, **environment)
    assert (said.status, server.received) == (2, [])
    assert reason in said.err


def test_the_token_from_a_file_that_nobody_else_may_read(kit):
    (kit / "TOKEN").write_text("mpet_of_the_file\n")
    with stand_in((201, ACCEPTED, {})) as server:
        (kit / "TOKEN").chmod(0o640)
        said = upload(kit, server.url, MPET_TOKEN="")
        assert (said.status, server.received) == (2, [])
        assert f"others can read {kit}/TOKEN: chmod 600 {kit}/TOKEN" in said.err
        (kit / "TOKEN").chmod(0o600)
        assert upload(kit, server.url, MPET_TOKEN="").status == 0
    assert server.received[0][2] == "Bearer mpet_of_the_file"


def test_no_process_shows_the_token(kit, tmp_path):
    """In place of curl: a script that looks at the command lines of all processes, and at its own environment."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "curl").write_text(
        f"#!/bin/sh\ncat /proc/[0-9]*/cmdline > {tmp_path}/seen 2> {tmp_path}/vanished\n"
        f"env > {tmp_path}/environment\ncat > {tmp_path}/input\n"
    )
    (tmp_path / "bin" / "curl").chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    run("make", "-C", kit, "upload", "URL=https://x", "PAPI=0", MPET_TOKEN="mpet_very_secret", PATH=path)
    assert "mpet_very_secret" in (tmp_path / "input").read_text()
    assert b"upload.sh" in (tmp_path / "seen").read_bytes()
    assert b"mpet_very_secret" not in (tmp_path / "seen").read_bytes()
    assert "mpet_very_secret" not in (tmp_path / "environment").read_text()


@pytest.mark.parametrize(
    "document",
    [
        {"a": [True, "b c", None, -1.5e3], "": {"d": []}, "e": {}},
        {"text": 'a "b" \\ / , [] {} : end', "list": [[1, [2]], {"x": {"y": "z"}}]},
        {"warnings": ["Umlaut ä, \\u00e4 stays", "last"], "nothing": ""},
        ["alone"],
    ],
)
def test_json_becomes_lines(document, tmp_path):
    def lines(path, value):
        if isinstance(value, dict):
            return [line for name, inner in value.items() for line in lines(f"{path}.{name}", inner)]
        if isinstance(value, list):
            return [line for i, inner in enumerate(value) for line in lines(f"{path}.{i}", inner)]
        return [f"{path}\t{value if isinstance(value, str) else json.dumps(value)}"]

    for indent in (None, 2):
        text = json.dumps(document, indent=indent, ensure_ascii=False).replace("-1500.0", "-1.5e3")
        (tmp_path / "document").write_text(text)
        said = run("awk", "-f", KIT / "upload" / "json.awk", tmp_path / "document")
        assert said.out.replace("-1.5e3", "-1500.0").splitlines() == lines("", document)


def test_what_is_not_printable_does_not_reach_the_terminal(tmp_path):
    (tmp_path / "document").write_text(json.dumps({"a": "x\x1b[31m\ny\tz"}))
    assert run("awk", "-f", KIT / "upload" / "json.awk", tmp_path / "document").out == ".a\tx [31m y z\n"


def test_what_is_no_json_ends(tmp_path):
    for text in ("", "<html>", '{"a": [1, ', '{"a', "}"):
        (tmp_path / "document").write_text(text)
        assert run("awk", "-f", KIT / "upload" / "json.awk", tmp_path / "document").status == 0
