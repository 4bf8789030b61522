import pytest

from benchmarks.formats import FORMATS
from benchmarks.formats.collecting import ForeignFile
from benchmarks.formats.recognising import TARBALL, UnrecognisedError, recognise
from tests.benchmarks.formats.test_formats import FILES, specimen


@pytest.mark.parametrize("form", FORMATS)
def test_every_specimen_is_recognised(form):
    assert recognise([specimen(name) for name in FILES[form]]) == form


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("extra-p.jsonl", None, "extra-p"),
        ("night.tar.gz", b"no gzip, but said to be", TARBALL),
        ("unnamed", b"\x1f\x8b\x08", TARBALL),
        ("table.csv", b"\xef\xbb\xbfn,time_s\n1,2\n", "csv"),
        ("one line.json", b'{"params": {"p": 1}, "value": 2}', "extra-p"),
    ],
)
def test_also_recognised(name, content, form):
    assert recognise([specimen(name) if content is None else ForeignFile(name, content)]) == form


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("photo.jpg", b"\xff\xd8\xff\xe0,"),
        ("notes.txt", b"to be measured\n"),
        ("other.json", b'{"data": []}'),
        ("list.json", b"[1, 2]"),
        ("broken.json", b"{" * 100_000),
        ("page.xml", b"<html></html>"),
        ("binary.csv", b"a,b\0c"),
        ("empty", b""),
    ],
)
def test_what_is_of_no_known_tool_is_named(name, content):
    with pytest.raises(UnrecognisedError, match=rf"{name}: unknown file type"):
        recognise([ForeignFile(name, content)])


def test_two_tarballs_are_no_upload():
    with pytest.raises(UnrecognisedError, match="a single results tarball"):
        recognise([ForeignFile("a.tar.gz", b""), ForeignFile("b.tar.gz", b"")])
