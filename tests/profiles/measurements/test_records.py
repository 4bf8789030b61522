import io

import pytest

from profiles.measurements import KIT_RESULTS, UnreadableError, read_measurements, register_reader
from tests.benchmarks.tarballs import packed
from tests.samples import sample_measurements


@pytest.fixture
def no_readers(monkeypatch):
    monkeypatch.setattr("profiles.measurements.records._readers", {})


def test_the_benchmarks_have_registered_the_form_of_the_kit():
    delivered = sample_measurements(1, 2)
    assert read_measurements(KIT_RESULTS, io.BytesIO(packed(delivered))).workloads == delivered.workloads


def test_a_reader_says_what_is_wrong_with_a_file():
    with pytest.raises(UnreadableError, match="not a gzip"):
        read_measurements(KIT_RESULTS, io.BytesIO(b"no tarball"))


def test_a_form_that_nobody_reads(no_readers):
    with pytest.raises(UnreadableError, match="no application reads other/1; known: none"):
        read_measurements("other/1", io.BytesIO())
    register_reader("one/1", lambda file: sample_measurements(1, 1))
    with pytest.raises(UnreadableError, match="no application reads other/1; known: one/1"):
        read_measurements("other/1", io.BytesIO())
    assert len(read_measurements("one/1", io.BytesIO()).profiles) == 1
