import tarfile
import zipfile

import pytest

from benchmarks.public_data import files
from benchmarks.public_data.files import UnreadableOrigin, find_folders
from benchmarks.public_data.sparecores import SpareCores
from tests.benchmarks.public_data.servers import clone_bare, pack_servers, server, write_servers

SOURCE = SpareCores()
SERVERS = {"aws/a1.large": server(), "aws/b2.large": server(2.0), "gcp/c3-standard-8": server(3.0)}


def zipped(tmp_path):
    with zipfile.ZipFile(tmp_path / "made.zip", "w") as archive:
        for name, contents in SERVERS.items():
            for member, text in contents.items():
                archive.writestr(f"sc-main/data/{name}/{member}", text)
    return tmp_path / "made.zip"


MADE = {
    "archive": lambda path: pack_servers(path / "made.tar.gz", SERVERS),
    "folder": lambda path: write_servers(path / "folder", SERVERS),
    "bare clone": lambda path: clone_bare(write_servers(path / "work", SERVERS)),
    "zip": zipped,
}


@pytest.mark.parametrize("form", MADE)
def test_every_form_gives_the_same_folders(form, tmp_path):
    found = list(find_folders(SOURCE, MADE[form](tmp_path)))
    expected = list(find_folders(SOURCE, pack_servers(tmp_path / "expected.tar.gz", SERVERS)))
    assert [folder.name for folder in found] == sorted(SERVERS)
    assert found == expected
    assert "passmark/stdout" not in found[0].files
    assert len({folder.sha256 for folder in found}) == 3


def test_another_reader_makes_another_digest(tmp_path, monkeypatch):
    origin = write_servers(tmp_path, SERVERS)
    before = [folder.sha256 for folder in find_folders(SOURCE, origin)]
    monkeypatch.setattr(SpareCores, "version", 99)
    assert not set(before) & {folder.sha256 for folder in find_folders(SOURCE, origin)}


def test_a_file_over_the_limit_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_FILE_BYTES", 1000)
    (found,) = find_folders(SOURCE, write_servers(tmp_path, {"aws/a1.large": {"lshw/stdout": "x" * 1001}}))
    assert (found.too_large, found.files) == ("lshw/stdout", {})


def test_links_are_not_followed(tmp_path):
    write_servers(tmp_path, {"aws/a1.large": {"lscpu/stdout": "here"}})
    (tmp_path / "secret").write_text("elsewhere")
    (tmp_path / "data/aws/a1.large/lshw").mkdir()
    (tmp_path / "data/aws/a1.large/lshw/stdout").symlink_to(tmp_path / "secret")
    (found,) = find_folders(SOURCE, tmp_path)
    assert set(found.files) == {"lscpu/stdout"}


def test_files_of_a_folder_must_lie_together(tmp_path):
    path = tmp_path / "mixed.tar"
    (tmp_path / "one").write_text("1")
    with tarfile.open(path, "w") as archive:
        for name in ("aws/a", "aws/b", "aws/a"):
            archive.add(tmp_path / "one", f"data/{name}/lscpu/stdout")
    with pytest.raises(UnreadableOrigin, match="the files of aws/a are not stored together"):
        list(find_folders(SOURCE, path))


@pytest.mark.parametrize("kept", [0, 10, 700])
def test_an_archive_that_is_cut_off_is_refused(kept, tmp_path):
    path = MADE["archive"](tmp_path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(UnreadableOrigin, match="cannot be read"):
        list(find_folders(SOURCE, path))


def test_an_origin_without_files_of_the_source_is_an_error(tmp_path):
    with pytest.raises(UnreadableOrigin, match="has no files of SpareCores"):
        list(find_folders(SOURCE, tmp_path))
    with pytest.raises(UnreadableOrigin, match="cannot be read"):
        list(find_folders(SOURCE, tmp_path / "nowhere"))
    (tmp_path / "HEAD").write_text("nothing")  # as in a clone
    (tmp_path / "objects").mkdir()
    with pytest.raises(UnreadableOrigin, match="not a git repository"):
        list(find_folders(SOURCE, tmp_path))
