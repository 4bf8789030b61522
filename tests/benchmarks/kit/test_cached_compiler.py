"""The compiler of the kit's tests is called by several processes of make at once."""

from tests.benchmarks.kit import cached_compiler


def test_a_file_that_another_process_renames_meanwhile_is_no_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(cached_compiler, "KEPT", tmp_path / "compiled")
    output = tmp_path / "mpet-pack"
    output.write_bytes(b"linked")
    (tmp_path / "compiled").mkdir()
    (tmp_path / "compiled" / "renamed").symlink_to("nothing")  # listed, and then not there
    kept = tmp_path / "compiled" / "key"
    cached_compiler.keep(output, kept)
    assert kept.read_bytes() == b"linked"
