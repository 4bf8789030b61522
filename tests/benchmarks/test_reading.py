"""Files of strangers are read in a process of its own, whose end is a refusal and nothing else."""

import io
import json
import os
import pickle
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from benchmarks import child_reader, reading
from benchmarks.archive import ArchiveError, read_archive
from benchmarks.child_reader import describe_measurements
from benchmarks.formats.deliveries import ForeignReading
from benchmarks.models import Upload
from mpet_site.state_folder import file_lock
from profiles.jobs.queue import take_up
from profiles.measurements import Measurements, PlatformRecord, ProfileRecord, RunTable, WorkloadRecord
from tests.benchmarks import stand_in_reader
from tests.benchmarks.uploads import tarball
from tests.mpet_site.api_samples import API, client_of, make_user

MACHINE = {"name": "laptop", "cpu_model": "ACME 1000", "threads": 8}
CSV = b"workload,n,time_s\nfft,1,2.0\nfft,2,1.0\n"


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(reading, "child_reader", stand_in_reader)
    monkeypatch.setattr(reading, "waiting_programs", [])
    yield
    for program in reading.waiting_programs:
        program.close()


def refused(task: str) -> str:
    with pytest.raises(ArchiveError) as caught:
        reading.run_reader(task, io.BytesIO(b"x"), {})
    return str(caught.value)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("task", "limit", "most", "reason"),
    [
        ("spin", "READ_SECONDS", 1, "1 s of processor time"),
        ("sleep", "READ_WALL_SECONDS", 2.0, "2 s"),
        ("allocate", "READ_MEMORY_BYTES", 256 << 20, "256 MiB of memory"),
    ],
)
def test_what_takes_too_much_is_refused(settings, task, limit, most, reason):
    setattr(settings, limit, most)
    start = time.monotonic()
    assert refused(task) == f"took more than {reason} to read"
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("task", "logged"), [("die", "ended with status -11"), ("fail", "told to the operators alone")]
)
def test_a_reader_that_dies_or_fails_refuses_the_file_and_tells_the_operators(stand_in, caplog, task, logged):
    assert refused(task) == reading.UNEXPECTED
    assert logged in caplog.text


def test_an_answer_makes_measurements_and_nothing_else(stand_in):
    with pytest.raises(pickle.UnpicklingError, match="system is no part of an answer"):
        reading.run_reader("forge", io.BytesIO(b"x"), {})


def test_the_reader_gets_no_secret(stand_in, monkeypatch):
    for name in ("DATABASE_URL", "MPET_SECRET_KEY", "MPET_METRICS_TOKEN", "SECRET_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "planted")
    found = reading.run_reader("environment", io.BytesIO(b"x"), {})
    assert "planted" not in found.values()
    assert found["OPENBLAS_NUM_THREADS"] == "1"
    assert {*found} <= {*reading.INHERITED, *reading.ENVIRONMENT, "LC_CTYPE"}


def test_what_is_read_there_is_what_is_read_here():
    content = tarball()
    measurements, doubts = reading.read_upload(io.BytesIO(content), "run.tar.gz", None)
    here = read_archive(io.BytesIO(content))
    assert (measurements.platforms, measurements.workloads) == (here.platforms, here.workloads)
    for there, own in zip(measurements.profiles, here.profiles, strict=True):
        np.testing.assert_array_equal(there.runs.time_ns, own.runs.time_ns)
        np.testing.assert_array_equal(there.runs.parts_ns, own.runs.parts_ns)
        assert there.runs.output_checksum == own.runs.output_checksum
        assert (there.counters is None) == (own.counters is None)
    assert isinstance(doubts, list)


def test_problems_come_back_with_member_and_line():
    reading_of_csv = ForeignReading("csv", PlatformRecord("laptop", "ACME", threads=8))
    with pytest.raises(ArchiveError) as caught:
        reading.read_upload(io.BytesIO(b"n,time_s\n1,1\n9,1\n"), "table.csv", reading_of_csv)
    assert [(problem.member, problem.line) for problem in caught.value.problems] == [("table.csv", 3)]
    assert caught.value.more == 0


def test_a_preview_of_many_thread_counts_is_linear():
    """65,536 of them, each with its median, compared every run with every count."""
    n = np.arange(1, 65_537, dtype=np.int64)
    runs = RunTable(n, np.ones_like(n), np.zeros(len(n), np.bool_), 1.0 / n)
    found = Measurements("measured", {}, [PlatformRecord("a", "A")], [WorkloadRecord("w")], [ProfileRecord(0, 0, runs)])
    start = time.process_time()
    (workload,) = describe_measurements(found)["workloads"]
    assert time.process_time() - start < 10, "it was minutes"
    assert workload["n"] == n.tolist()
    assert workload["time_s"] == runs.time_s.tolist()


# The doors through which files of strangers come, each with what tells that the file was refused.
FIELDS = {"form": "auto", "visibility": "private"}


def by_api(content: bytes, name: str, **fields) -> str:
    file = SimpleUploadedFile(name, content)
    user = make_user("mallory")
    return client_of(user).post(f"{API}uploads/", {**FIELDS, "file": file, **fields}).content.decode()


def by_page(content: bytes, name: str, **fields) -> str:
    client = Client()
    client.force_login(make_user("mallory"))
    sent = {**FIELDS, "file": SimpleUploadedFile(name, content), **fields}
    return client.post(reverse("upload"), sent, follow=True).content.decode()


def by_quarantine(content: bytes, name: str) -> str:
    return client_of().post(f"{API}quarantine/", {"file": SimpleUploadedFile(name, content)}).content.decode()


def platform_file(**fields) -> dict:
    return {"platform_json": SimpleUploadedFile("platform.json", json.dumps(MACHINE).encode()), **fields}


DOORS = {
    "API": lambda: by_api(CSV, "table.csv", platform_json=json.dumps(MACHINE)),
    "API, preview": lambda: by_api(CSV, "table.csv", platform_json=json.dumps(MACHINE), preview="true"),
    "API, its form said": lambda: by_api(CSV, "table.csv", form="csv"),
    "API, tarball": lambda: by_api(tarball(), "run.tar.gz"),
    "page": lambda: by_page(CSV, "table.csv", **platform_file()),
    "page, preview": lambda: by_page(CSV, "table.csv", **platform_file(preview="")),
    "page, tarball": lambda: by_page(tarball(), "run.tar.gz"),
    "page, preview of a tarball": lambda: by_page(tarball(), "run.tar.gz", preview=""),
    "without an account": lambda: by_quarantine(tarball(), "run.tar.gz"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_with_the_limit(door, settings):
    settings.READ_WALL_SECONDS = 1e-5  # less than any reader needs
    assert "took more than 1e-05 s to read" in DOORS[door]()
    assert not Upload.objects.filter(status="accepted").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("door", [door for door in DOORS if "said" not in door])
def test_no_reader_runs_in_the_server(door, monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("read in the server's process")

    for name in ("read_archive", "read_foreign", "read_platform_file", "recognise"):
        monkeypatch.setattr(child_reader, name, never)
        for module in ("archive", "archive.reading", "formats", "formats.recognising"):
            monkeypatch.setattr(f"benchmarks.{module}.{name}", never, raising=False)
    monkeypatch.setattr("benchmarks.archive.documents.Document", never)
    answer = DOORS[door]()
    assert "took more than" not in answer
    assert '"errors":[]' in answer.replace(" ", "") or "nothing is stored yet" in answer or "accepted" in answer


@pytest.mark.django_db
def test_a_refused_file_is_not_tried_again(settings):
    settings.READ_WALL_SECONDS = 1e-5
    by_api(tarball(), "run.tar.gz")
    upload = Upload.objects.get()
    assert (upload.status, upload.attempts, upload.lease_until) == ("rejected", 1, None)


@pytest.mark.django_db
def test_previews_have_a_rate_on_the_page_and_by_the_api(settings, tmp_path):
    settings.RATES_FILE = tmp_path / "rates.sqlite3"
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": {"preview": "2/hour"}}
    user = make_user("mallory")
    page = Client()
    page.force_login(user)

    def preview(number: int) -> int:
        sent = {"file": SimpleUploadedFile("a.tar.gz", tarball()), "preview": "true", "visibility": "private"}
        if number % 2:
            return client_of(user).post(f"{API}uploads/", sent).status_code
        return page.post(reverse("upload"), sent).status_code

    assert [preview(number) for number in range(4)] == [200, 200, 429, 429]
    sent = {"file": SimpleUploadedFile("a.tar.gz", tarball()), "visibility": "private"}
    assert client_of(user).post(f"{API}uploads/", sent).status_code == 201, "what is stored has no rate of previews"
    assert client_of(make_user("ada")).post(f"{API}uploads/", sent | {"preview": "true"}).status_code != 429


@pytest.fixture
def busy(settings, tmp_path, db):
    """Another process has a request that waits for a file to be read."""
    settings.READING_LOCK = tmp_path / "reading.lock"
    with file_lock(settings.READING_LOCK):
        yield


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("door", [door for door in DOORS if "preview" in door])
def test_a_second_preview_is_told_to_come_back(door, caplog):
    answer = DOORS[door]()
    assert "Another file is being read. Nothing was stored" in answer
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.usefixtures("busy")
def test_what_is_needed_to_keep_a_file_is_not_waited_for():
    """Of which machine it is, and which tool wrote it."""
    file, user = {"file": SimpleUploadedFile("table.csv", CSV), "visibility": "private"}, make_user("mallory")
    for fields in ({"form": "auto"}, {"form": "csv", "platform_json": json.dumps(MACHINE)}):
        answer = client_of(user).post(f"{API}uploads/", file | fields)
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        file["file"].seek(0)
    page = Client()
    page.force_login(user)
    answer = page.post(reverse("upload"), FIELDS | {"file": SimpleUploadedFile("table.csv", CSV)})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert not Upload.objects.exists()


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("door", ["API, tarball", "page, tarball", "without an account"])
def test_a_second_upload_is_kept_and_taken_up_by_the_next_chore(door):
    """The chore, which is no request, has the time."""
    DOORS[door]()
    upload = Upload.objects.get()
    assert (upload.status, upload.attempts, upload.lease_until) == ("processing", 0, None)
    assert take_up("uploads") == 1
    upload.refresh_from_db()
    assert (upload.status, upload.attempts) == ("accepted", 1)


def test_a_reader_takes_the_time_that_others_leave(stand_in):
    assert reading.run_reader("niceness", io.BytesIO(b"x"), {}) == min(os.nice(0) + reading.READER_NICENESS, 19)


def test_one_program_reads_one_file_after_another(stand_in):
    parents = {reading.run_reader("parent", io.BytesIO(b"x"), {}) for _ in range(3)}
    assert parents == {program.program.pid for program in reading.waiting_programs}


def test_nothing_of_a_file_is_left_for_the_next(stand_in):
    assert [reading.run_reader("remember", io.BytesIO(b"x"), {}) for _ in range(2)] == [["x"], ["x"]]


def test_another_program_reads_where_the_first_has_ended(stand_in):
    first = reading.run_reader("parent", io.BytesIO(b"x"), {})
    os.kill(first, signal.SIGKILL)
    assert reading.run_reader("parent", io.BytesIO(b"x"), {}) not in (first, os.getpid())


def test_a_file_that_ends_the_program_twice_is_refused(stand_in, caplog):
    reading.run_reader("parent", io.BytesIO(b"x"), {})
    assert refused("end_program") == reading.UNEXPECTED
    assert "the program that reads files ended" in caplog.text


def test_a_program_ends_when_it_is_not_used(monkeypatch):
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(child_reader, "IDLE_SECONDS", 0.01)
    with ours, theirs:
        child_reader.serve_requests(theirs)


def test_two_threads_read_by_two_programs(stand_in):
    with ThreadPoolExecutor(2) as pool:
        parents = list(pool.map(lambda _: reading.run_reader("slow_parent", io.BytesIO(b"x"), {}), range(2)))
    assert len({*parents}) == 2
