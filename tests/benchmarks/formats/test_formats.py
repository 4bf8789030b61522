"""Every format read from a specimen. hyperfine's and Google Benchmark's were written by the tools themselves (only the
host's name was replaced); Extra-P 4.2.5 reads the ones of its formats; the others follow the tools' sources."""

import json
from pathlib import Path

import pytest

from benchmarks.archive import ArchiveError
from benchmarks.formats import FORMATS, ForeignFile, read_foreign
from benchmarks.formats.collecting import ForeignLimits
from profiles.measurements import PlatformRecord
from profiles.measurements.bounds import number_outside

SPECIMENS = Path(__file__).parent / "specimens"
MACHINE = PlatformRecord("laptop", "ACME 1000", threads=8, n_max=8)
CSV_COLUMNS = {"workload": "Benchmark", "n": "Threads", "time_ms": "Milliseconds"}
FILES = {
    "google-benchmark": ("google-benchmark-1.7.1.json",),
    "hyperfine": ("hyperfine-1.15.0.json",),
    "extra-p": ("extra-p.txt",),
    "talp": ("talp-1.json", "talp-2.json", "talp-2-again.json"),
    "likwid": ("likwid-region-1.csv", "likwid-region-2.csv"),
    "phoronix": ("phoronix-10.8.6.xml",),
    "csv": ("table.csv",),
}


def specimen(name):
    return ForeignFile(name, (SPECIMENS / name).read_bytes())


def read(form, *names, platform=MACHINE, **options):
    if form == "csv":
        options.setdefault("columns", CSV_COLUMNS)
    return read_foreign(form, [specimen(name) for name in names or FILES[form]], platform=platform, **options)


def read_content(form, content, name="x"):
    return read_foreign(form, [ForeignFile(name, content)], platform=MACHINE)


def refused(form, content, platform=MACHINE, **options):
    with pytest.raises(ArchiveError) as caught:
        read_foreign(form, [ForeignFile("file", content.encode())], platform=platform, **options)
    return str(caught.value)


def runs(measurements):
    """Name, input and the times of each n, by workload."""
    found = {}
    for record in measurements.profiles:
        workload = measurements.workloads[record.workload]
        table = found.setdefault((workload.name, workload.input), {})
        for n, time_s in zip(record.runs.n.tolist(), record.runs.time_s.tolist(), strict=True):
            table.setdefault(n, []).append(time_s)
    return found


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_a_specimen_that_is_read(form):
    measurements = read(form)
    assert measurements.profiles
    assert measurements.platforms == [MACHINE]
    assert measurements.generator == f"import_measurements {form}"
    assert number_outside(measurements) is None
    for record in measurements.profiles:
        keys = list(zip(record.runs.n.tolist(), record.runs.repeat.tolist(), strict=True))
        assert keys == sorted(set(keys))


def test_google_benchmark():
    content = json.loads((SPECIMENS / FILES["google-benchmark"][0]).read_text())
    single = [one for one in content["benchmarks"] if one["run_type"] == "iteration"]
    found = runs(read("google-benchmark"))
    assert list(found) == [("BM_sum/4096", "4096"), ("BM_copy", None)]
    assert {n: len(times) for n, times in found["BM_sum/4096", "4096"].items()} == {1: 3, 2: 3}
    expected = [one["real_time"] * 1e-6 for one in single if one["run_name"] == "BM_sum/4096/real_time/threads:2"]
    assert found["BM_sum/4096", "4096"][2] == pytest.approx(expected)
    expected = [one["real_time"] * 1e-9 for one in single if one["run_name"] == "BM_copy/threads:1"]
    assert found["BM_copy", None][1] == pytest.approx(expected)


def test_google_benchmark_describes_the_machine_where_nobody_else_does():
    (platform,) = read("google-benchmark", platform=None).platforms
    assert (platform.name, platform.cpu_model, platform.threads, platform.n_max) == ("workstation", "", 2, 2)
    assert (platform.l1d_bytes, platform.l2_bytes, platform.l3_bytes) == (65536, 2097152, 33554432)


def test_google_benchmark_with_aggregates_alone_takes_the_median():
    rows = [
        {"name": f"BM_x_{name}", "run_name": "BM_x", "run_type": "aggregate", "aggregate_name": name, "threads": 1}
        | {"real_time": time, "time_unit": "ms"}
        for name, time in (("mean", 3.0), ("median", 2.0), ("stddev", 1.0))
    ]
    content = json.dumps({"benchmarks": rows}).encode()
    assert runs(read_content("google-benchmark", content)) == {("BM_x", None): {1: [pytest.approx(0.002)]}}


def test_hyperfine():
    content = json.loads((SPECIMENS / FILES["hyperfine"][0]).read_text())
    found = runs(read("hyperfine"))
    assert found == {
        ("stress-ng --cpu {threads} --cpu-ops 40 -q", None): {i + 1: content["results"][i]["times"] for i in range(2)}
    }


def test_hyperfine_keeps_other_parameters_and_leaves_failed_runs_out():
    results = [
        {"command": f"./run -t {n} -s {size}", "parameters": {"threads": str(n), "size": size}}
        | {"times": [1.0 / n, 9.0], "exit_codes": [0, 1]}
        for n in (1, 2)
        for size in ("3", "4")
    ]
    content = json.dumps({"results": results}).encode()
    measurements = read_content("hyperfine", content)
    assert runs(measurements) == {
        (f"./run -t {{threads}} -s {size}", f"size={size}"): {1: [1.0], 2: [0.5]} for size in ("3", "4")
    }
    assert measurements.warnings == ["left out: 4 runs that ended with a status other than 0"]


def test_extra_p_text():
    measurements = read("extra-p")
    assert runs(measurements) == {
        ("main->solve", "m=100"): {1: [8.0, 8.2, 8.1], 2: [4.1, 4.2, 4.0], 4: [2.2, 2.1, 2.3]},
        ("main->solve", "m=200"): {1: [16.0, 16.2, 16.1], 2: [8.1, 8.2, 8.0], 4: [4.2, 4.1, 4.3]},
    }
    assert {(workload.application, workload.section) for workload in measurements.workloads} == {("main", "solve")}
    assert measurements.warnings == ["left out: 18 values of the metric 'visits', which is not a time"]


def test_extra_p_json_lines():
    assert runs(read("extra-p", "extra-p.jsonl")) == {("main->solve", None): {1: [8.0, 8.2], 2: [4.1], 4: [2.2]}}


def test_talp():
    measurements = read("talp")
    assert runs(measurements) == {
        ("Global", None): {1: [pytest.approx(6.358605307)], 2: pytest.approx([5.937043413, 4.590622717])},
        ("solve", None): {1: [pytest.approx(6.357023240)], 2: pytest.approx([5.933087479, 4.579348449])},
    }
    solve = json.loads((SPECIMENS / "talp-2.json").read_text())["Application"]["solve"]
    kept = next(one for one in measurements.environment["pop_metrics"] if one["region"] == "solve" and one["n"] == 2)
    assert kept["ompLoadBalance"] == solve["ompLoadBalance"] < kept["ompSchedulingEfficiency"] < 1


def talp_of_dlb_3_4(**more):
    """As its source writes it: a list of regions, and no resources."""
    region = {"name": "main", "elapsedTime": 10**9, "averageIPC": 1.5, "parallelEfficiency": 0.9, "loadBalance": 0.95}
    return json.dumps({**more, "popMetrics": [region]})


def test_talp_of_dlb_3_4_has_no_number_of_threads():
    reason = "file:1: has no number of CPUs (numCpus), which DLB 3.5 and newer write"
    assert refused("talp", talp_of_dlb_3_4()) == reason
    completed = talp_of_dlb_3_4(resources={"numCpus": 3}).encode()
    assert runs(read_content("talp", completed)) == {("main", None): {3: [1.0]}}


def test_likwid_takes_the_time_of_the_region():
    measurements = read("likwid", platform=None)
    assert runs(measurements) == {("solve", None): {1: [0.849244], 2: [1.492179]}}
    assert measurements.platforms[0].cpu_model == "AMD EPYC"


OF_OLDER_VERSION = b"TABLE,Group 1 Raw,CLOCK,1\nEvent,Counter,Core 4\nRuntime (RDTSC) [s],TSC,2.5\n"


@pytest.mark.parametrize(
    ("content", "times"),
    [
        (specimen("likwid-1.csv").content, {1: [0.7427]}),
        (specimen("likwid-2.csv").content, {2: [1.3883]}),
        (specimen("likwid-2.csv").content * 2, {2: [1.3883, 1.3883]}),
        (specimen("likwid-mpirun.csv").content, {1: [1.176022], 2: [2.0332]}),
        (OF_OLDER_VERSION, {1: [2.5]}),
    ],
    ids=["wrapper, n = 1", "wrapper, n = 2", "repeats at one n", "likwid-mpirun, two executions of two ranks", "older"],
)
def test_likwid_without_regions_names_the_program_by_its_file(content, times):
    assert runs(read_content("likwid", content, "triad.csv")) == {("triad", None): times}


def test_phoronix():
    measurements = read("phoronix", platform=None)
    (platform,) = measurements.platforms
    assert (platform.name, platform.cpu_model) == ("workstation", "AMD EPYC")
    assert (platform.physical_cores, platform.threads, platform.n_ht) == (2, 2, None)
    seconds, rate = ("local/relax", "Grid: 1500"), ("local/relax", "Grid: 1500 - Rate")
    assert runs(measurements) == {
        seconds: {1: [1.0068, 1.014, 1.1231], 2: [2.4205, 2.483, 2.9502]},
        rate: {1: [1 / 335.21, 1 / 332.83, 1 / 300.5], 2: [1 / 139.43, 1 / 135.93, 1 / 114.4]},
    }
    assert measurements.time_kinds == {0: "absolute", 1: "relative"}
    assert {workload.version for workload in measurements.workloads} == {"1.2"}


def test_phoronix_without_a_number_of_threads_ran_on_all_of_them():
    measurements = read("phoronix", "composite.xml", platform=None)
    (platform,) = measurements.platforms
    assert (platform.name, platform.cpu_model) == ("workstation", "AMD Ryzen 7 5800X")
    assert (platform.physical_cores, platform.threads, platform.n_ht, platform.max_mhz) == (8, 16, 8, 3800.0)
    assert runs(measurements) == {
        ("pts/build-linux-kernel", "Build: defconfig"): {16: [60.0, 60.5, 61.0]},
        ("pts/compress-7zip", None): {4: [1 / 20000]},
    }
    assert [workload.version for workload in measurements.workloads] == ["6.1", "22.01"]


def test_plain_csv_with_a_mapping():
    assert runs(read("csv")) == {
        ("fft", None): {1: [0.8], 2: [pytest.approx(0.4105), pytest.approx(0.409)]},
        ("sort", None): {1: [0.09]},
    }


def test_plain_csv_under_our_own_names_needs_no_mapping():
    content = b"n,time_s,version\n1,2.5,7\n"
    measurements = read_content("csv", content, "fft.csv")
    assert runs(measurements) == {("fft", None): {1: [2.5]}}
    assert measurements.workloads[0].version == "7"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "content", ["", "{}", "[]", "null", "\0", "<a/>", "1,2", "PARAMETER p", "{" * 10**5, '"\ud83d"']
)
def test_what_is_no_such_file_is_refused_with_its_name(form, content):
    with pytest.raises(ArchiveError) as caught:
        read_content(form, content.encode("utf-8", "surrogatepass"), "file")
    assert caught.value.problems[0].member in ("file", None)
    assert caught.value.problems[0].reason


@pytest.mark.parametrize(
    ("form", "content", "reason"),
    [
        ("hyperfine", '{"results": [\n{"command": "a", "times": [1]}]}', "file:2: no parameter is the thread count"),
        (
            "hyperfine",
            '{"results": [{"command": "a", "parameters": {"n": "many"}, "times": [1]}]}',
            "file:1: n is 'many', not a thread count from 1 to 65536",
        ),
        (
            "hyperfine",
            '{"results": [{"command": "a", "parameters": {"n": "1"}, "times": [-1]}]}',
            "file:1: the time is -1, not a number from 1e-18 to 1e+07",
        ),
        (
            "google-benchmark",
            '{"benchmarks": [\n{"name": "a", "real_time": 1, "time_unit": "year"}]}',
            "file:2: time_unit is 'year', not ns, us, ms or s",
        ),
        ("extra-p", "PARAMETER p\nPOINTS 1 2\nDATA 1\nDATA 2\nDATA 3", "file:5: is DATA without a point"),
        ("extra-p", "PARAMETER p m\nPOINTS (1)", "file:2: point '1' has 1 values for 2 parameters"),
        ("extra-p", "PARAMETER m\nPOINTS 1\nDATA 1", "file:3: no parameter is the thread count"),
        ("extra-p", "NONSENSE 1", "file:1: begins with 'NONSENSE'"),
        ("extra-p", '{"params": {"p": 1}, "value": 1}\n{"params": 3}', "file:2: has no params or no value"),
        ("csv", "n,time_s\n1,2\n2", "file:3: has 1 cells, the header has 2"),
        ("csv", "n,time_s,time_ms\n1,2,3", "file:1: 2 columns are mapped to a time (time_s, time_ms, ...), not one"),
        ("csv", "n,n,time_s\n1,2,3", "file:1: column 'n' occurs twice"),
        ("csv", "time_s\n1", "file:1: no column is mapped to n"),
        ("csv", "n,time_s\n9,1", "file:2: n is 9, but the machine has 8 threads"),
        ("csv", "n,time_s\n1,nan", "file:2: the time is 'nan', not a number from 1e-18 to 1e+07"),
        (
            "likwid",
            "TABLE,Group 1 Raw,X,1\nEvent,Counter,HWThread 0,HWThread 1\nRuntime (RDTSC) [s],TSC,1",
            "file:3: has 1",
        ),
        ("phoronix", "<PhoronixTestSuite>\n<a></PhoronixTestSuite>", "file:2: is not valid XML"),
        (
            "phoronix",
            '<!DOCTYPE a [<!ENTITY b "c">]><PhoronixTestSuite>&b;</PhoronixTestSuite>',
            "file: cannot be read as XML: EntitiesForbidden",
        ),
    ],
)
def test_bad_input_is_refused_with_line_and_reason(form, content, reason):
    assert reason in refused(form, content)


def test_a_mapping_of_what_is_not_known_and_a_name_that_is_too_long_are_refused():
    assert "name is longer than 200 characters" in refused("csv", f"workload,n,time_s\n{'x' * 201},1,1")
    assert "'speed' is not a known field: n, " in refused("csv", "n,time_s\n1,1", columns={"speed": "n"})
    assert "column 'N' is missing" in refused("csv", "n,time_s\n1,1", columns={"n": "N"})


def test_without_a_machine_it_is_refused():
    assert refused("csv", "n,time_s\n1,1", platform=None) == ("the files do not name the machine: specify it")


def test_too_many_runs_or_workloads_are_refused():
    rows = "workload,n,time_s\n" + "".join(f"w{i},1,1\n" for i in range(5))
    assert "has more than 3 runs" in refused("csv", rows, limits=ForeignLimits(rows=3))
    assert "has more than 4 workloads" in refused("csv", rows, limits=ForeignLimits(workloads=4))
