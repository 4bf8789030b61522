"""The tarball itself: which are read, which are refused, and under which limits. Problems are reported together, and a
report stays short."""

import gzip
import io
import json
import re
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.archive import ArchiveError, Limits, read_archive
from tests.benchmarks.archive.refusals import accepted, first, reason_of, same, small_tarball, survives
from tests.benchmarks.tarballs import (
    TOP,
    add,
    csv_of,
    good_files,
    pack,
    packed,
    packed_tar,
    read,
    refusal,
    rows_of,
    with_manifest,
)


def test_no_gzip_and_no_tar(files):
    reason = "is not a gzip file, or is truncated or damaged: Not a gzipped file"
    assert first(refusal(b"plain text")) == (None, None, reason)
    assert reason_of(b"") == "is empty"
    for content in (b"no tar " * 1000, b""):
        assert "is not a tar archive" in reason_of(gzip.compress(content))
    good = pack(files)
    assert "CRC check failed" in reason_of(good[:-6] + bytes([good[-6] ^ 1]) + good[-5:])
    assert reason_of(packed_tar(gzip.decompress(good) + b"more")) == "has data after the end of the tar archive"
    assert "gzip" in reason_of(good + b"more")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_truncated_anywhere(data):
    content = small_tarball()
    refusal(content[: data.draw(st.integers(0, len(content) - 1))])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_tar_truncated_inside_an_intact_gzip(data):
    tar = gzip.decompress(small_tarball())
    end = len(tar.rstrip(b"\0"))
    refusal(packed_tar(tar[: data.draw(st.integers(0, end - 1))]))


LINKS = {
    tarfile.SYMTYPE: "is not a plain file but a symbolic link",
    tarfile.LNKTYPE: "is not a plain file but a hard link",
    tarfile.CHRTYPE: "is not a plain file but a character device",
    tarfile.BLKTYPE: "is not a plain file but a block device",
    tarfile.FIFOTYPE: "is not a plain file but a pipe",
    tarfile.DIRTYPE: "is not a plain file but a folder",
}


@pytest.mark.parametrize(("kind", "reason"), LINKS.items())
@pytest.mark.parametrize("name", ["odd", "runs.csv"])
def test_a_member_that_is_not_a_plain_file(files, kind, reason, name):
    error = refusal(pack(files, also=lambda tar: add(tar, f"{TOP}/{name}", type=kind, linkname="/etc/passwd")))
    assert first(error) == (f"{TOP}/{name}", None, reason)


def test_a_sparse_member_cannot_unpack_to_more_than_it_holds(files):
    headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(2**50)}

    def sparse(tar):
        add(tar, f"{TOP}/holes", b"1\n0\n0\n".ljust(512, b"\0"), pax_headers=headers)

    assert first(refusal(pack(files, also=sparse)))[2] == "is not a plain file but a sparse file"


@pytest.mark.parametrize(
    ("name", "member", "reason"),
    [
        ("/etc/passwd", "/etc/passwd", "is an absolute path"),
        *((path, path, "is a path with '..'") for path in ("../up", f"{TOP}/../up", f"{TOP}/a/..")),
        (f"./{TOP}//runs.csv", f"./{TOP}//runs.csv", "occurs twice"),
        ("other/a", None, f"has more than one top folder: {TOP!r}, 'other'"),
        ("stray", "stray", f"is outside the top folder {TOP!r}"),
    ],
)
def test_a_member_at_a_wrong_place(files, name, member, reason):
    assert first(refusal(pack(files, also=lambda tar: add(tar, name, b"x")))) == (member, None, reason)


def test_all_odd_members_are_reported_at_once(files):
    def odd(tar):
        add(tar, "/a")
        add(tar, "../b\n")
        add(tar, "c", type=tarfile.SYMTYPE, linkname="d")

    error = refusal(pack(files, also=odd))
    assert [problem.member for problem in error.problems] == ["/a", r"'../b\n'", "c"]
    assert str(error).splitlines()[0] == "/a: is an absolute path"


class Endless(io.RawIOBase):
    """A stream that counts what is taken from it, and has always more."""

    def __init__(self, start: bytes, more: bytes) -> None:
        self.start, self.more, self.taken = start, more, 0

    def read(self, size=-1):
        piece = (self.start or self.more)[: size if size >= 0 else None]
        self.start = self.start[len(piece) :]
        self.taken += len(piece)
        return piece


def test_over_the_packed_limit_stops_reading(files):
    content = pack(files)
    assert read(content, packed_bytes=len(content))
    assert reason_of(content, packed_bytes=len(content) - 1) == f"is larger than {len(content) - 1} bytes packed"
    stored = gzip.compress(b"\0" * 100, 0)
    endless = Endless(stored, stored * 1000)
    with pytest.raises(ArchiveError, match=r"larger than 1 MiB packed|tar archive"):
        read_archive(endless, limits=Limits(packed_bytes=2**20))
    assert endless.taken < 2**21


def test_a_gzip_bomb_is_stopped_while_it_is_read(files):
    def bomb(tar):
        add(tar, f"{TOP}/zeros", b"\0" * 2**25)

    content = pack(files, also=bomb)
    assert len(content) < 2**17
    assert reason_of(content, unpacked_bytes=2**20) == "is larger than 1 MiB unpacked"


def test_zeros_behind_the_archive_count_as_unpacked(files):
    tar = gzip.decompress(pack(files))
    assert reason_of(packed_tar(tar + b"\0" * 2**24), unpacked_bytes=2**23) == "is larger than 8 MiB unpacked"


def test_a_header_that_claims_too_much_is_not_believed(files):
    """A size of 8 GiB with no content is a truncated archive, not an allocation."""
    info = tarfile.TarInfo(f"{TOP}/huge")
    info.size = 8 * 2**30 - 1
    tar = gzip.decompress(pack(files)).rstrip(b"\0")
    tar += b"\0" * (-len(tar) % 512)
    assert "unexpected end of data" in reason_of(packed_tar(tar + info.tobuf() + b"x" * 512))


def test_too_many_members(files):
    content = pack(with_manifest(files | {f"{number}": b"" for number in range(5)}))
    assert read(content, members=len(files) + 5)
    limit = len(files) + 4
    assert reason_of(content, members=limit) == f"has more than {limit} members"


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_bytes(data):
    content = bytearray(small_tarball())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    survives(bytes(content))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_tar(data):
    tar = bytearray(gzip.decompress(small_tarball()))
    headers = [match.start() for match in re.finditer(rb"mpet-results/", tar)]
    for _ in range(data.draw(st.integers(1, 3))):
        header = data.draw(st.sampled_from(headers))
        tar[header + data.draw(st.integers(0, 700))] = data.draw(st.integers(0, 255))
        tar[header : header + 512] = with_header_sum(tar[header : header + 512])
    survives(packed_tar(bytes(tar)))


def with_header_sum(header: bytearray) -> bytearray:
    """A tar header whose checksum fits, so that the damage behind it is looked at."""
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return header


@pytest.mark.parametrize("top", ["", "any name", "."])
def test_members_may_be_at_the_root_or_below_one_folder(top):
    assert same(accepted(good_files(), top=top), accepted(good_files()))


def test_the_top_folder_itself_may_be_a_member():
    def folder(tar):
        add(tar, "./", type=tarfile.DIRTYPE)
        add(tar, "./mpet-results/", type=tarfile.DIRTYPE)

    assert accepted(good_files(), also=folder).warnings == []


@pytest.mark.parametrize("format_", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_tar_dialect_is_read(format_):
    buffer = io.BytesIO()
    top = "a folder with a very long näme " * 3 + "/" + "" if format_ != tarfile.USTAR_FORMAT else "short/"
    with tarfile.open(fileobj=buffer, mode="w:gz", format=format_) as tar:
        for name, content in good_files().items():
            add(tar, top + name, content)
    assert same(read(buffer.getvalue()), accepted(good_files()))


def test_several_gzip_streams_one_after_another_are_one():
    tar = gzip.decompress(packed())
    assert same(read(gzip.compress(tar[:5000]) + gzip.compress(tar[5000:])), read(packed()))


def test_all_of_a_text_may_be_invalid_without_a_long_report(files):
    error = refusal(pack(with_manifest(files | {"workloads.json": json.dumps(["x" * 1000] * 500).encode()})))
    assert len(error.problems) == 50
    assert error.more == 450
    assert str(error).endswith("\nand 450 more")
    assert max(map(len, str(error).splitlines())) < 300


def test_problems_of_all_members_are_reported_together(files):
    rows = [row | {"time_ns": "0"} for row in rows_of(files["runs.csv"])]
    platform = json.dumps(json.loads(files["platform.json"]) | {"n_nu": 9}).encode()
    counters = files["counters.csv"].replace(b"ok", b"okay", 1)
    broken = files | {"runs.csv": csv_of(rows), "platform.json": platform, "counters.csv": counters}
    error = refusal(pack(with_manifest(broken)))
    assert [p.member for p in error.problems] == ["platform.json", *["runs.csv"] * 10, "counters.csv"]
    assert error.more == len(rows) - 10
    assert str(error).splitlines()[1] == "runs.csv:2: time_ns 0 is less than 1"
