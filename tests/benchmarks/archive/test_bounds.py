"""What an audit sent through the reader is refused with member, line and reason."""

import json
import tracemalloc

import pytest

from benchmarks.archive import ArchiveProblem
from profiles.measurements.bounds import number_outside
from tests.benchmarks.archive.refusals import (
    HEADER,
    accepted,
    changed_row,
    first,
    line_of,
    refused_csv,
    refused_field,
    with_platform,
)
from tests.benchmarks.tarballs import csv_of, pack, read, refusal, rows_of, with_manifest
from tests.paths import ROOT

REFERENCES = sorted((ROOT / "benchmarks" / "reference").glob("*.tar.gz"))


def test_what_the_kit_measured_is_inside():
    assert REFERENCES
    for tarball in REFERENCES:
        assert number_outside(read(tarball.read_bytes())) is None


@pytest.mark.parametrize("value", ["1.7976931348623157e308", "1e-310", "5e-324", "1e22", "1e-10"])
def test_trust_1_counter_values_on_which_quotients_overflow(files, value):
    member, line, reason = first(changed_row(files, 3, "counters.csv", value=value))
    assert (member, line) == ("counters.csv", 3)
    assert reason.startswith(f"value {value} is ")


@pytest.mark.parametrize("value", ["0", "1e-9", "0.113", "1e21"])
def test_counter_values_at_the_bounds(files, value):
    rows = rows_of(files["counters.csv"])
    rows[1]["value"] = value
    tables = accepted(files | {"counters.csv": csv_of(rows)}).profiles
    assert tables[0].counters.value[1] == float(value)


@pytest.mark.parametrize("count", [65_537, 1_000_000, 2**31 - 1])
def test_trust_2_thread_counts_that_take_gigabytes(files, count):
    reason = refused_field(files, physical_cores=count, threads=count, n_max=count)
    assert reason == f"physical_cores: {count} is greater than the maximum of 65536"


def test_trust_3_threads_that_no_drawing_holds(files):
    reason = refused_field(files, threads=3_000_000, physical_cores=4, n_ht=None, n_nu=2)
    assert reason == "threads: 3000000 is greater than the maximum of 65536"


@pytest.mark.parametrize("name", ["laptop\u200b", "EPYC \u202eB3117"])
def test_trust_third_12_names_that_look_like_others(files, name):
    code = f"U+{ord(max(name)):04X}"
    for field in ("name", "cpu_model"):
        assert refused_field(files, **{field: name}) == f"{field}: has the invisible character {code}"


@pytest.mark.parametrize("column", ["counter", "output_checksum"])
def test_trust_third_12_texts_of_tables(files, column):
    table = "runs.csv" if column == "output_checksum" else "counters.csv"
    problems = changed_row(files, 3, table, **{column: "a\u2066b"}).problems
    assert ArchiveProblem(table, 3, f"{column} has the invisible character U+2066") in problems


def test_the_largest_machine_is_accepted(files):
    counts = {"threads": 65_536, "physical_cores": 65_536, "n_max": 65_536, "n_nu": 1, "n_ht": 65_536}
    sizes = {"l3_bytes": 2**60, "memory_bytes": 2**60, "base_mhz": 1, "max_mhz": 100_000}
    platform = accepted(with_platform(files, **counts, **sizes, placement=list(range(65_536)))).platforms[0]
    assert (platform.n_max, platform.memory_bytes, len(platform.placement)) == (65_536, 2**60, 65_536)


LISTS = b'{"name": "a",\n"x": [' + b"[]," * 1_390_000 + b"[]]}"


def test_trust_13_a_million_empty_lists(files):
    """Refused while they are parsed, before they take memory; 334 MB they took."""
    tarball = pack(with_manifest(files | {"environment.json": LISTS}))
    tracemalloc.start()
    try:
        error = refusal(tarball, json_bytes=2 * len(LISTS))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert first(error) == ("environment.json", 2, "is not valid JSON: More than 20000 lists and objects")
    assert peak < 60 * 2**20


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" + b"0," * 200_000 + b"0]", "More than 200000 values"),
        (b"[" + b"{}," * 20_000 + b"{}]", "More than 20000 lists and objects"),
        (b'{"a": ' * 33 + b"1" + b"}" * 33, "Nested more than 32 deep"),
        (b"[" * 33 + b"]" * 33, "Nested more than 32 deep"),
    ],
)
def test_json_past_its_bounds(files, content, reason):
    error = refusal(pack(with_manifest(files | {"environment.json": content})))
    assert first(error) == ("environment.json", 1, f"is not valid JSON: {reason}")


@pytest.mark.parametrize(
    "content", [b"[" * 32 + b"]" * 32, b"[" + b"[]," * 19_998 + b"[]]", b"[" + b"0," * 199_998 + b"0]"]
)
def test_json_at_its_bounds(files, content):
    assert accepted(files | {"environment.json": content}).environment == {"environment": json.loads(content)}


def test_trust_14_counters_without_one_good_row(files):
    rows = [row | {"status": "fine"} for row in rows_of(files["counters.csv"])]
    error = refused_csv(files, csv_of(rows), "counters.csv")
    assert first(error)[:2] == ("counters.csv", 2)
    assert first(error)[2].startswith("status 'fine' is not one of ")
    header = files["counters.csv"].split(b"\n")[0] + b"\n"
    assert accepted(files | {"counters.csv": header}).profiles[0].counters is None


@pytest.mark.parametrize("name", ["base_mhz", "max_mhz"])
def test_trust_14_a_clock_of_400_digits(files, name):
    reason = refused_field(files, **{name: 10**400})
    assert reason.startswith(f"{name}: 1000")
    assert reason.endswith(" is greater than the maximum of 100000")


@pytest.mark.parametrize("name", ["tasks", "waits"])
def test_trust_14_tasks_that_no_column_holds(files, name):
    rows = [row | {name: "1"} for row in rows_of(files["runs.csv"])]
    rows[3][name] = str(2**63 - 1)
    expected = ("runs.csv", 5, f"{name} {2**63 - 1} is more than {2**53}")
    assert first(refused_csv(files, csv_of(rows))) == expected


@pytest.mark.parametrize("size", ["5e-324", "1.7e308", "1e19", "1e-10"])
def test_trust_15_run_sizes_on_which_powers_overflow(files, size):
    rows = [row | {"size": ""} for row in rows_of(files["runs.csv"])]
    rows[10]["size"] = size
    member, line, reason = first(refused_csv(files, csv_of(rows)))
    assert (member, line) == ("runs.csv", 12)
    assert reason.startswith(f"size {size} is ")


def test_n_times_time_ns_fits_63_bits(files):
    """At 1,024 threads and 10^16 ns it does not."""
    large = with_platform(files, threads=1024, n_max=1024, placement=None)
    content = HEADER + b"app0/section0,1,1,clean,10000000000000000,,,,,,,,\n"
    content += b"app0/section0,1024,1,clean,10000000000000000,,,,,,,,\n"
    error = first(refusal(pack(with_manifest(large | {"runs.csv": content}))))
    assert error == ("runs.csv", 3, f"n * time_ns = 1024 * {10**16} exceeds 63 bits")
    fitting = content.replace(b",1024,1,clean,10000000000000000", b",1024,1,clean,%d" % ((2**63 - 1) // 1024))
    assert accepted(large | {"runs.csv": fitting}).profiles


def test_trust_17_a_placement_is_no_longer_than_threads(files):
    assert refused_field(files, placement=list(range(17))) == "placement has 17 entries, more than threads = 16"
    member, line, reason = first(refusal(pack(with_manifest(with_platform(files, placement=[0] * 400_000)))))
    assert (member, reason) == ("platform.json", "is not valid JSON: More than 200000 values")
    assert line > line_of(files["platform.json"], '"placement"')


def test_many_columns_and_many_lines_are_refused(files):
    wide = HEADER.strip() + b"," + b",".join(b"c%d" % i for i in range(200)) + b"\n"
    assert first(refused_csv(files, wide))[1:] == (1, "has 213 columns, more than 200")
    commas = HEADER + (b"," * 300_000 + b"\n") * 3
    assert first(refused_csv(files, commas)) == ("runs.csv", 2, "has 300001 columns, the header has 13")
    blank = pack(with_manifest(files | {"runs.csv": HEADER + b"\n" * 600}))
    assert first(refusal(blank, rows=100)) == ("runs.csv", 1, "is not valid CSV: more than 501 lines")


def test_long_rows_are_not_gathered_by_the_thousand(files):
    """They are looked at in pieces of some megabytes, and the cells of other columns are dropped at once."""
    cell = b"x" * 100_000
    rows = b"".join(b"app0/section0,1,%d,clean,1000,,,,,,,,,%s\n" % (repeat, cell) for repeat in range(300))
    tarball = pack(with_manifest(files | {"runs.csv": HEADER.strip() + b",note\n" + rows}))
    tracemalloc.start()
    try:
        assert len(read(tarball).profiles[0].runs) == 300
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < len(rows) / 2


def test_many_workloads_without_one_thread_are_told_in_time(files):
    """One look at all runs, not one a workload."""
    names = [f"w{number}" for number in range(2000)]
    workloads = json.dumps([{"name": name} for name in names]).encode()
    rows = "".join(f"{name},2,{repeat},clean,1000,,,,,,,,\n" for repeat in range(5) for name in names).encode()
    del files["counters.csv"]
    error = refusal(pack(with_manifest(files | {"workloads.json": workloads, "runs.csv": HEADER + rows})))
    problems = [problem for problem in error.problems if problem.member == "runs.csv"]
    assert problems[0].reason == "workload 'w0' has no run at n = 1"
    assert [problem.line for problem in problems] == list(range(2, 12))
    assert error.more == 1990
