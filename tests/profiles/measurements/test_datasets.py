import gzip
import json

import numpy as np
import pytest

from profiles.measurements.bounds import number_outside
from profiles.measurements.datasets import DATASET_PLATFORM_COLUMNS, DatasetError, dataset_sha256, read_dataset

DESCRIPTION = {"schema": "mpet-dataset/1", "licence": "CC0", "source": "somebody", "note": "made up"}
PLATFORM = {
    **{"platform_id": "p1", "name": "box", "cpu_model": "Example CPU", "vendor": "Example", "architecture": "x86_64"},
    **{"microarchitecture": "", "device_class": "server", "sockets": "1", "numa_nodes": "", "physical_cores": "4"},
    **{"threads": "8", "n_nu": "", "n_ht": "4", "base_mhz": "0.0", "l1d_bytes": "32768", "l2_bytes": ""},
    **{"l3_bytes": "", "memory_bytes": "17179869184", "virtualised": "False"},
}
RUNS = [
    "p1,sort/merge,1,1,2.0,absolute",
    "p1,sort/merge,4,1,0.6,absolute",
    "p1,sort/merge,4,2,0.7,absolute",
    "p1,fft@2,1,1,3.25,relative",
]
COUNTERS = ["p1,sort/merge,1,1,INSTR,1e9", "p1,sort/merge,4,2,my counter,7"]


def text(header, rows):
    return "\n".join([header, *rows]) + "\n"


def write(folder, *, description=DESCRIPTION, platforms=({},), runs=RUNS, counters=None, header=None):
    (folder / "dataset.json").write_text(json.dumps(description))
    rows = [",".join((PLATFORM | changes)[column] for column in DATASET_PLATFORM_COLUMNS) for changes in platforms]
    (folder / "platforms.csv").write_text(text(",".join(DATASET_PLATFORM_COLUMNS), rows))
    (folder / "runs.csv").write_text(text(header or "platform_id,workload,n,repeat,time_s,time_kind", runs))
    if counters is not None:
        (folder / "counters.csv").write_text(text("platform_id,workload,n,repeat,counter,value", counters))
    return folder


def test_what_is_read(tmp_path):
    measurements = read_dataset(write(tmp_path, counters=COUNTERS))
    (platform,) = measurements.platforms
    expected = {"name": "box", "cpu_model": "Example CPU", "vendor": "Example", "sockets": 1, "numa_nodes": None}
    expected |= {"n_nu": None, "n_ht": 4, "n_max": 8, "base_mhz": None, "l1d_bytes": 32768, "l2_bytes": None}
    expected |= {"memory_bytes": 16 << 30, "microarchitecture": None}
    assert {name: getattr(platform, name) for name in expected} == expected
    assert platform.virtualised is False
    assert measurements.platform_ids == ["p1"]
    assert [(one.name, one.application, one.section) for one in measurements.workloads] == [
        ("sort/merge", "sort", "merge"),
        ("fft@2", None, None),
    ]
    assert measurements.time_kinds == {0: "absolute", 1: "relative"}
    assert (measurements.licence, measurements.source, measurements.note) == ("CC0", "somebody", "made up")
    assert (measurements.origin, measurements.warnings) == ("measured", [])
    sort, fft = measurements.profiles
    assert (sort.platform, sort.workload, fft.workload) == (0, 0, 1)
    assert sort.runs.n.tolist() == [1, 4, 4]
    assert sort.runs.repeat.tolist() == [1, 1, 2]
    assert sort.runs.time_s.tolist() == [2.0, 0.6, 0.7]
    assert not sort.runs.is_profile_pass.any()
    assert sort.runs.time_ns is sort.runs.parts_ns is fft.counters is None
    assert (sort.counters.counter, sort.counters.status) == (("INSTR", "my counter"), ("ok", "ok"))
    assert sort.counters.value.tolist() == [1e9, 7.0]


def test_rows_in_any_order_and_further_columns(tmp_path):
    ordered = read_dataset(write(tmp_path))
    header = "platform_id,workload,n,repeat,time_s,time_kind,mood"
    mixed = read_dataset(write(tmp_path, header=header, runs=[f"{RUNS[index]},good" for index in (1, 3, 0, 2)]))
    assert [one.name for one in mixed.workloads] == [one.name for one in ordered.workloads]
    assert sorted(mixed.profiles[0].runs.time_s) == sorted(ordered.profiles[0].runs.time_s)


def test_disturbed_runs(tmp_path):
    header = "platform_id,workload,n,repeat,time_s,time_kind,disturbed"
    rows = [f"{row},{flag}" for row, flag in zip(RUNS, ("1", "0", "", ""), strict=True)]
    sort, fft = (record.runs for record in read_dataset(write(tmp_path, header=header, runs=rows)).profiles)
    assert {flag for flag in sort.disturbed.tolist() if flag in (0, 1)} == {0, 1}
    assert fft.disturbed is None
    with pytest.raises(DatasetError, match="disturbed is 2, more than 1"):
        read_dataset(write(tmp_path, header=header, runs=[f"{RUNS[0]},2"]))


VARIED = "platform_id,workload,n,repeat,time_s,time_kind,size,clock_mhz"
OWN_SIZE = [f"{row},," for row in RUNS]


def test_other_sizes_and_clocks(tmp_path):
    more = ["p1,sort/merge,1,1,4.0,absolute,2e3,", "p1,sort/merge,1,1,5.0,absolute,,1200", "p1,fft@2,1,2,3,relative,,"]
    measurements = read_dataset(write(tmp_path, header=VARIED, runs=[*OWN_SIZE, *more], counters=COUNTERS))
    merge, fft = (record.runs for record in measurements.profiles)
    np.testing.assert_array_equal(merge.size, [np.nan, np.nan, np.nan, 2000, np.nan])
    np.testing.assert_array_equal(merge.clock_mhz, [np.nan] * 4 + [1200])
    assert merge.own.time_s.tolist() == [2.0, 0.6, 0.7]
    assert (fft.size, fft.clock_mhz) == (None, None)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("p1,sort/merge,2,1,1,absolute,0,", "size is 0, less than 1e-09"),
        ("p1,sort/merge,2,1,1,absolute,,-1", "clock_mhz is -1, less than 1"),
        ("p1,sort/merge,2,1,1,absolute,much,", "size is 'much', not a number"),
        ("p1,sort/new,2,1,1,absolute,5,", "'sort/new' has only runs with a size or clock_mhz here"),
        ("p1,sort/merge,4,1,0.5,absolute,,", "is on an earlier line"),
    ],
)
def test_wrong_variations(tmp_path, row, reason):
    with pytest.raises(DatasetError, match=reason) as caught:
        read_dataset(write(tmp_path, header=VARIED, runs=[*OWN_SIZE, row]))
    assert (caught.value.member, caught.value.line) == ("runs.csv", 6)


def test_counters_are_of_the_workloads_own_size(tmp_path):
    runs = [*OWN_SIZE, "p1,sort/merge,2,1,4.0,absolute,7,"]
    with pytest.raises(DatasetError, match="there is no such run"):
        read_dataset(write(tmp_path, header=VARIED, runs=runs, counters=["p1,sort/merge,2,1,INSTR,1"]))


def test_packed_runs_are_the_same_and_progress_names_the_files(tmp_path):
    seen = []
    plain = read_dataset(write(tmp_path, counters=COUNTERS), seen.append)
    assert seen == ["dataset.json", "platforms.csv", "runs.csv", "counters.csv"]
    content = (tmp_path / "runs.csv").read_bytes()
    (tmp_path / "runs.csv").unlink()
    (tmp_path / "runs.csv.gz").write_bytes(gzip.compress(content))
    np.testing.assert_array_equal(read_dataset(tmp_path).profiles[0].runs.time_s, plain.profiles[0].runs.time_s)


def test_blank_lines_keep_the_line_numbers(tmp_path):
    write(tmp_path, runs=["", RUNS[0], "", "p1,sort/merge,4,1,zero,absolute", ""])
    with pytest.raises(DatasetError) as caught:
        read_dataset(tmp_path)
    assert (caught.value.member, caught.value.line) == ("runs.csv", 5)


def test_threads_unknown_gives_n_max_from_the_runs(tmp_path):
    (platform,) = read_dataset(write(tmp_path, platforms=[{"threads": "", "physical_cores": ""}])).platforms
    assert (platform.threads, platform.n_max) == (None, 4)


def test_times_are_read_to_the_last_digit(tmp_path):
    times = ["0.1", "683609000000.125", "1.7976931348623157e17", "5e-18", "0.30000000000000004"]
    runs = [f"p1,w,{index + 1},1,{time},relative" for index, time in enumerate(times)]
    assert read_dataset(write(tmp_path, runs=runs)).profiles[0].runs.time_s.tolist() == [float(time) for time in times]


@pytest.mark.parametrize(("text", "value"), [("True", True), ("true", True), ("False", False), ("", None)])
def test_virtualised(tmp_path, text, value):
    assert read_dataset(write(tmp_path, platforms=[{"virtualised": text}])).platforms[0].virtualised is value


def run(index, row):
    return [*RUNS[:index], row, *RUNS[index + 1 :]]


@pytest.mark.parametrize(
    ("changes", "member", "line", "reason"),
    [
        ({"description": DESCRIPTION | {"schema": "mpet-dataset/2"}}, "dataset.json", None, "mpet-dataset/2"),
        ({"description": [1]}, "dataset.json", None, "not a JSON object"),
        ({"description": {"schema": "mpet-dataset/1", "source": "", "note": ""}}, "dataset.json", None, "licence"),
        ({"header": "platform_id,workload,n,repeat,seconds,time_kind"}, "runs.csv", 1, "'time_s' is missing"),
        ({"runs": []}, "runs.csv", None, "no rows"),
        ({"runs": run(1, "p2,sort/merge,4,1,0.6,absolute")}, "runs.csv", 3, "'p2' is not in platforms.csv"),
        ({"runs": run(1, "p1,,4,1,0.6,absolute")}, "runs.csv", 3, "workload is empty"),
        ({"runs": run(2, "p1,sort/merge,4,2,0,absolute")}, "runs.csv", 4, "time_s is 0, less than 1e-18"),
        ({"runs": run(2, "p1,sort/merge,4,2,,absolute")}, "runs.csv", 4, "time_s is empty"),
        ({"runs": run(2, "p1,sort/merge,4,2,fast,absolute")}, "runs.csv", 4, "'fast', not a number"),
        ({"runs": run(2, "p1,sort/merge,4,2,nan,absolute")}, "runs.csv", 4, "'nan', not a number"),
        ({"runs": run(2, "p1,sort/merge,4,2,inf,absolute")}, "runs.csv", 4, "not finite"),
        ({"runs": run(0, "p1,sort/merge,0,1,2.0,absolute")}, "runs.csv", 2, "n is 0, less than 1"),
        ({"runs": run(0, "p1,sort/merge,,1,2.0,absolute")}, "runs.csv", 2, "n is empty"),
        ({"runs": run(0, "p1,sort/merge,1.5,1,2.0,absolute")}, "runs.csv", 2, "n is 1.5, not a whole number"),
        ({"runs": run(0, "p1,sort/merge,9,1,2.0,absolute")}, "runs.csv", 2, "n is 9, the platform has 8 threads"),
        ({"runs": run(2, RUNS[1])}, "runs.csv", 4, "is on an earlier line"),
        ({"runs": run(2, RUNS[1].replace("p1,", "p1 ,"))}, "runs.csv", 4, "is on an earlier line"),
        ({"runs": run(3, "p1,fft@2,1,1,3.25,warp")}, "runs.csv", 5, "time_kind is 'warp'"),
        ({"runs": run(1, "p1,sort/merge,4,1,0.6,relative")}, "runs.csv", 3, "time_kind of 'sort/merge'"),
        ({"runs": run(0, "p1,sort/merge,1,1,2.0,absolute,more")}, "runs.csv", None, ""),
        ({"runs": run(1, "p1,sort/merge,4,1,0.6,absolute,more")}, "runs.csv", None, ""),
        ({"runs": run(1, "p1,sort/merge,4,1")}, "runs.csv", 3, "time_s is empty"),
        ({"platforms": [{}, {}]}, "platforms.csv", 3, "platform_id is on an earlier line"),
        ({"platforms": [{"platform_id": ""}]}, "platforms.csv", 2, "platform_id is empty"),
        ({"platforms": [{"cpu_model": " "}]}, "platforms.csv", 2, "cpu_model is empty"),
        ({"platforms": [{"sockets": "0"}]}, "platforms.csv", 2, "sockets is 0, less than 1"),
        ({"platforms": [{"name": "x" * 201}]}, "platforms.csv", 2, "name is longer than 200 characters"),
        ({"platforms": [{"base_mhz": "1e9"}]}, "platforms.csv", 2, "base_mhz is 1e9, more than 100000"),
        ({"runs": run(1, "p1,sort/merge,4,1,1e8,absolute")}, "runs.csv", 3, "time_s is 1e8, more than 1e+07"),
        ({"platforms": [{"physical_cores": "9"}]}, "platforms.csv", 2, "physical_cores 9 is more than threads 8"),
        ({"platforms": [{"n_nu": "4"}]}, "platforms.csv", 2, "n_nu 4 is not less than n_ht 4"),
        ({"platforms": [{"n_ht": "9"}]}, "platforms.csv", 2, "n_ht 9 is more than threads 8"),
        ({"platforms": [{"device_class": "toaster"}]}, "platforms.csv", 2, "device_class is 'toaster'"),
        ({"platforms": [{"virtualised": "maybe"}]}, "platforms.csv", 2, "virtualised is 'maybe'"),
        ({"platforms": [{"base_mhz": "-1"}]}, "platforms.csv", 2, "base_mhz is -1, less than 1 and not 0"),
        ({"counters": ["p9,sort/merge,1,1,INSTR,1"]}, "counters.csv", 2, "'p9' is not in platforms.csv"),
        ({"counters": ["p1,sort/quick,1,1,INSTR,1"]}, "counters.csv", 2, "'sort/quick' is not in the runs"),
        ({"counters": ["p1,fft@2,4,1,INSTR,1"]}, "counters.csv", 2, "there is no such run"),
        ({"counters": [COUNTERS[0], COUNTERS[0]]}, "counters.csv", 3, "is on an earlier line"),
        ({"counters": ["p1,sort/merge,1,1,INSTR,"]}, "counters.csv", 2, "value is empty"),
        ({"counters": ["p1,sort/merge,1,1,,1"]}, "counters.csv", 2, "counter is empty"),
    ],
)
def test_what_is_refused(tmp_path, changes, member, line, reason):
    with pytest.raises(DatasetError) as caught:
        read_dataset(write(tmp_path, **changes))
    error = caught.value
    assert error.member == member
    assert reason in error.reason
    if line is not None:
        assert error.line == line
        assert str(error).startswith(f"{member}, line {line}: ")


def test_missing_files_and_columns_and_a_file_twice_are_refused(tmp_path):
    def refused(reason, folder=tmp_path):
        with pytest.raises(DatasetError, match=reason) as caught:
            read_dataset(folder)
        return caught.value.member

    refused("is not a folder", tmp_path / "nowhere")
    for member in ("dataset.json", "platforms.csv", "runs.csv"):
        (write(tmp_path) / member).unlink()
        assert refused("is missing") == member
    (write(tmp_path) / "runs.csv.gz").write_bytes(b"")
    refused("exists twice")
    (tmp_path / "runs.csv.gz").unlink()
    platforms = tmp_path / "platforms.csv"
    platforms.write_text(platforms.read_text().replace("threads", "cpus", 1))
    refused("column 'threads' is missing")


CUT_SHORT = gzip.compress(b"x" * 10_000, mtime=0)[:-20]
BROKEN = [("runs.csv.gz", content) for content in (b"", b"\xff\xfe\x00", b"not gzip at all", CUT_SHORT)]
BROKEN += [("dataset.json", content) for content in (b"", b"{", b"\xff", b"[" * 100_000)]


@pytest.mark.parametrize(("member", "content"), BROKEN)
def test_broken_files_are_refused(tmp_path, member, content):
    write(tmp_path)
    (tmp_path / member.removesuffix(".gz")).unlink()
    (tmp_path / member).write_bytes(content)
    with pytest.raises(DatasetError, match="is not valid") as caught:
        read_dataset(tmp_path)
    assert caught.value.member == member


@pytest.mark.parametrize("value", ["-1", "1e-310", "1.797e308", "inf", "-inf", "nan", "-NaN"])
def test_impossible_counter_values_are_left_out_with_a_warning(tmp_path, value):
    rows = [COUNTERS[0], f"p1,sort/merge,4,2,BR,{value}"]
    measurements = read_dataset(write(tmp_path, counters=rows))
    assert measurements.profiles[0].counters.counter == ("INSTR",)
    assert measurements.warnings == [
        "counters.csv: 1 values that are not finite or outside their bounds were left out, the first on line 3"
    ]


def test_sha256_is_of_names_and_bytes(tmp_path):
    first = dataset_sha256(write(tmp_path))
    assert dataset_sha256(write(tmp_path)) == first
    (tmp_path / "README").write_text("not part of it")
    assert dataset_sha256(tmp_path) == first
    assert dataset_sha256(write(tmp_path, runs=RUNS[:3])) != first


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("gbm", (6, 29, 59, 1058)),
        ("rrze-likwid", (2, 16, 32, 5409)),
        ("sparecores-div16", (380, 1, 380, 8437)),
        ("sparecores-gb6", (179, 16, 2864, 22736)),
        ("sparecores-llama", (186, 51, 7630, 46744)),
        ("sparecores-stressng", (357, 84, 29901, 58483)),
    ],
)
def test_public_datasets(shared_data, name, counts):
    """Platforms, workloads, profiles and runs, as the folder's own README has them."""
    measurements = read_dataset(shared_data / name)
    runs = sum(len(profile.runs) for profile in measurements.profiles)
    assert counts == (*map(len, (measurements.platforms, measurements.workloads, measurements.profiles)), runs)
    assert number_outside(measurements) is None
    assert measurements.warnings == []
