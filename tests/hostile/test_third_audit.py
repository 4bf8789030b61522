"""What the third audit broke with files of other tools (docs/trust-audits.md), read without the limits of a process:
these are seconds of processor time. All but the last test need nothing that came later, and run on the code from
before."""

import json
import signal
import time
from contextlib import contextmanager

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from benchmarks.archive import ArchiveError
from benchmarks.formats import FORMATS, ForeignFile, read_foreign
from profiles.measurements import PlatformRecord
from profiles.measurements.bounds import number_outside
from tests.mpet_site.api_samples import API, client_of, make_user
from tests.processes import output_of

MACHINE = PlatformRecord("laptop", "ACME 1000", threads=8, n_max=8)
FAST_S = 2.0
LARGE = 2 * 2**20
BLANKS = "<Identifier>a</Identifier><Hardware>Processor: " + " " * 200 + "x</Hardware>"
NESTED = "<Result><Data><Entry><Value>1</Value></Entry></Data>"


@contextmanager
def fast(seconds: float = FAST_S):
    """What takes much longer is stopped; SIGPROF counts processor time."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {4 * seconds} s of processor time")

    before, start = signal.signal(signal.SIGPROF, stop), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, 4 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert time.process_time() - start < seconds


def outcome(form: str, content: bytes, platform=MACHINE) -> str:
    """The reasons of a refusal; empty where it was read."""
    try:
        measurements = read_foreign(form, [ForeignFile("sent", content)], platform=platform)
    except ArchiveError as error:
        return str(error)
    assert number_outside(measurements) is None
    assert str(measurements.workloads).encode()
    assert all(workload.name.encode() for workload in measurements.workloads)
    return ""


def composite(system: str = "", results: str = "") -> bytes:
    return (
        f"<PhoronixTestSuite><System><Identifier>a</Identifier>{system}</System>{results}</PhoronixTestSuite>".encode()
    )


def result(description: str = "Threads: 2") -> str:
    return (
        f"<Result><Identifier>t</Identifier><Scale>Seconds</Scale><Description>{description}</Description>"
        "<Data><Entry><Value>1.5</Value></Entry></Data></Result>"
    )


def many(text: str, size: int = LARGE - 200) -> str:
    return text * (size // len(text))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(composite("<Hardware>Processor: " + " " * 4_000 + "x</Hardware>", result()), id="PROCESSOR"),
        pytest.param(composite(results=result("threads" + " " * 40_000 + "x")), id="THREADS_NAMED"),
        pytest.param(composite(results=NESTED * 6_000 + "</Result>" * 6_000), id="nested"),
        pytest.param(composite(results=many(f"<System>{BLANKS}</System>")), id="hardware"),
        pytest.param(composite(results=many(result("threads" + " " * 280 + "x"))), id="descriptions"),
    ],
)
def test_third_1_a_phoronix_file_takes_no_more_time_than_it_is_long(content):
    with fast():
        outcome("phoronix", content)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("depth", [33, 1_000, 100_000])
def test_third_1_deep_documents_are_refused(form, depth):
    with fast():
        for opening, closing in (("[", "]"), ('{"a":', "}"), ("<a>", "</a>")):
            assert outcome(form, (opening * depth + closing * depth).encode())
        nested = "<Result>" * depth + "</Result>" * depth
        assert outcome(form, f"<PhoronixTestSuite>{nested}</PhoronixTestSuite>".encode())


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("csv", "n,time_s\n" + many("x,y\n", 15 * 2**20)),
        ("csv", "n,time_s\n" + many("x,y\n")),
        ("csv", "n,time_s\n" + many("1\n")),
        ("extra-p", many('{"params": {"p": "x"}, "value": 1}\n', 15 * 2**20)),
        ("extra-p", many('{"params": {"p": "x"}, "value": 1}\n')),
        ("extra-p", many('{"params": {"m": 1}, "value": 1}\n')),
        ("google-benchmark", '{"benchmarks": [' + many('{"time_unit":0},\n', 300_000) + "{}]}"),
        ("hyperfine", '{"results": [' + many("{},\n", 79_000) + "{}]}"),
    ],
)
def test_third_6_reading_stops_at_the_hundredth_problem_and_at_two_megabytes(form, content):
    with fast():
        reasons = outcome(form, content.encode())
    assert "is larger than 2097152 bytes" in reasons or reasons.endswith("and 90 more")


def test_third_6_google_benchmarks_are_read_in_one_pass():
    """Which line each benchmark stands on was counted from the start of the file."""
    benchmarks = ['{"name":"a","real_time":1}' + "\n" * 70] * 19_000
    content = '{"benchmarks":[' + ",".join(benchmarks) + "]}"
    assert len(content) < LARGE
    with fast(6):
        assert outcome("google-benchmark", content.encode()) == ""


HEAVY = """
import resource
from benchmarks.archive import ArchiveError
from benchmarks.formats import ForeignFile, read_foreign
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
content = b"<PhoronixTestSuite>" + b"<a/>" * 520_000 + b"</PhoronixTestSuite>"
try:
    reasons = read_foreign("phoronix", [ForeignFile("sent", content)])
except ArchiveError as error:
    reasons = error
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10, reasons)
"""


def test_third_6_an_xml_of_empty_elements_takes_little_memory():
    mebibytes, _, reasons = output_of("-c", HEAVY).partition(" ")
    assert int(mebibytes) < 64
    assert "has more than 50000 elements" in reasons


def google(**context) -> bytes:
    benchmark = {"name": "a", "run_name": "a", "threads": 1, "real_time": 1.0, "time_unit": "ms"}
    return json.dumps({"context": context, "benchmarks": [benchmark]}).encode()


def with_cache(**fields) -> bytes:
    cache = {"type": "Data", "level": 1, "size": 1, "num_sharing": 1} | fields
    return google(host_name="a", num_cpus=2, caches=[cache])


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("google-benchmark", with_cache(level=True)),
        ("google-benchmark", with_cache(size=True, num_sharing=True)),
        ("google-benchmark", with_cache(size=10**400)),
        ("google-benchmark", google(host_name="a", num_cpus=True)),
        ("google-benchmark", google(host_name="a", num_cpus=10**400)),
        ("phoronix", composite("<Hardware>Processor: ACME @ 1.2.3GHz (4 Cores)</Hardware>", result())),
        ("phoronix", composite("<Hardware>Processor: ACME (" + "9" * 5_000 + " Cores)</Hardware>", result())),
        ("phoronix", composite("<Hardware>Processor: " + "9" * 5_000 + " x ACME (4 Cores)</Hardware>", result())),
        ("phoronix", composite(results=result("Threads: " + "9" * 5_000))),
        ("csv", b"n,time_s\n" + b"9" * 5_000 + b",1\n1," + b"9" * 5_000 + b"\n"),
        ("extra-p", b'{"params": {"p": ' + b"9" * 5_000 + b'}, "value": 1}\n'),
        ("extra-p", b'{"params": {"p": true}, "value": 1}\n'),
        ("extra-p", b'{"params": {"p": 1}, "value": 1, "callpath": "half \\ud800"}\n'),
        ("talp", json.dumps({"Application": {"a": {"numCpus": True, "elapsedTime": 10**400}}}).encode()),
    ],
)
@pytest.mark.parametrize("platform", [MACHINE, None])
def test_third_7_what_is_no_number_is_refused_or_left_out(form, content, platform):
    outcome(form, content, platform)


@pytest.mark.django_db
def test_third_7_an_unexpected_exception_of_a_reader_refuses_the_file(monkeypatch, caplog):
    from benchmarks import reading  # noqa: PLC0415  not there before
    from tests.benchmarks import stand_in_reader  # noqa: PLC0415

    run_reader = reading.run_reader
    monkeypatch.setattr(reading, "child_reader", stand_in_reader)
    monkeypatch.setattr(reading, "waiting_programs", [])
    monkeypatch.setattr(reading, "run_reader", lambda task, *arguments: run_reader("fail", *arguments))
    sent = {"file": SimpleUploadedFile("a.tar.gz", b"\x1f\x8b"), "visibility": "public"}
    upload = client_of(make_user("mallory")).post(f"{API}uploads/", sent).json()
    assert upload["status"] == "rejected"
    assert [error["reason"] for error in upload["report"]["errors"]] == [reading.UNEXPECTED]
    assert "ZeroDivisionError" in caplog.text
