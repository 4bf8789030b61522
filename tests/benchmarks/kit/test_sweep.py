"""From `make` to a tarball that the server's reader accepts."""

import csv
import io
import json
import os
import re
import subprocess
import tarfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.archive import read_archive
from benchmarks.kit_archive import kit_tarball, kit_version
from profiles.identity.spelling import workload_identity
from profiles.measurements import PARTS, Measurements
from tests.benchmarks.kit.kit_build import KIT, SHORT_WORKLOADS, WARNINGS, output, records
from tests.benchmarks.kit.uploading import run, served_kit

pytestmark = pytest.mark.kit

COUNTERS = {
    "INSTR", "CYCLES", "BR", "BR-M", "L1-LD", "L1-LDM", "L1-ST", "L1-STM", "LLC-LD", "LLC-LDM", "LLC-ST", "LLC-STM",
}  # fmt: skip


def sweep(native: Path, results: Path, *options: str, environment: dict[str, str] | None = None) -> Path:
    command = [native / "mpet-sweep", "--bin", native, "--results", results, "--scale", "tiny", "--repeats", "2"]
    return Path(output(*command, *options, environment=environment).strip())


def read(tarball: Path) -> Measurements:
    with tarball.open("rb") as file:
        return read_archive(file)


def table(tarball: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(member(tarball, name))))


def member(tarball: Path, name: str) -> str:
    with tarfile.open(tarball) as archive:
        extracted = archive.extractfile(name)
        assert extracted is not None
        return extracted.read().decode()


def test_a_sweep_gives_a_tarball_that_the_reader_accepts(native, tmp_path):
    tarball = sweep(native, tmp_path, "--name", "test host/1")
    assert tarball.parent == tmp_path
    assert tarball.name.startswith("mpet-test-host-1-")
    measurements = read(tarball)
    platform = measurements.platforms[0]
    assert measurements.origin == "measured"
    assert (platform.name, platform.n_max) == ("test host/1", len(platform.placement or ()))
    listing = output(native / "mpet-bench-clean", "--list")
    assert [w.name for w in measurements.workloads] == [line.split("\t")[0] for line in listing.splitlines()]
    for record in measurements.profiles:
        workload, runs = measurements.workloads[record.workload], record.runs
        counts = {1} if workload.strategy == "sequential" else {1, platform.n_max}
        assert counts <= set(runs.n.tolist()) and (workload.strategy != "sequential" or set(runs.n.tolist()) == counts)
        assert workload.runtime == "mpal" and workload.input and workload.description
        for n in counts:
            for in_pass in (runs.is_profile_pass, ~runs.is_profile_pass):
                assert sorted(runs.repeat[(runs.n == n) & in_pass]) == [1, 2]


def test_the_files_hold_integers_and_say_how_they_came_about(native, tmp_path):
    tarball = sweep(native, tmp_path, "--workloads", "hog fib", "--threads", "1")
    rows = table(tarball, "runs.csv")
    assert {row["workload"] for row in rows} == {"fib", "hog/gradient", "hog/histogram", "hog/normalise"}
    assert list(rows[0])[5:12] == [f"{part}_ns" for part in PARTS]
    assert all(field.isdigit() for row in rows for key, field in row.items() if key.endswith("_ns") and field)
    counters = table(tarball, "counters.csv")
    assert {row["counter"] for row in counters} == COUNTERS
    assert all((row["value"] != "") == (row["status"] in {"ok", "multiplexed"}) for row in counters)
    environment = json.loads(
        member(tarball, "environment.json"), parse_float=lambda text: pytest.fail(f"a float: {text}")
    )
    assert (environment["scale"], environment["repeats"], environment["threads"]) == ("tiny", 2, [1])
    roofline = environment["roofline"]
    assert [entry["n"] for entry in roofline["peak_flops"]] == [1]
    assert all(value > 0 for part in roofline.values() for entry in part for value in list(entry.values())[-1:])
    assert "fib" not in member(tarball, "log.txt") or "left out" not in member(tarball, "log.txt")
    manifest = json.loads(member(tarball, "manifest.json"))
    assert manifest["generator"] == {"name": "mpet-kit", "version": (KIT / "VERSION").read_text().strip()}


def test_an_interrupted_sweep_goes_on_where_it_stopped(native, tmp_path):
    """Killed after its first job; the second sweep keeps that job's output and adds the others."""
    command = [native / "mpet-sweep", "--bin", native, "--results", tmp_path]
    command += ["--name", "x", "--scale", "tiny", "--no-roofline"]
    jobs = tmp_path / "unfinished-x-tiny" / "jobs"
    with subprocess.Popen([str(word) for word in command], stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(list(jobs.glob("*.tsv"))) < 3:
            time.sleep(0.001)
        process.kill()
    kept = {path: path.read_text() for path in jobs.glob("*.tsv")}
    assert kept
    tarball = Path(output(*command).strip())
    finished = tarball.parent / tarball.name.removesuffix(".tar.gz")
    for path, content in kept.items():
        assert (finished / "jobs" / path.name).read_text() == content
    assert not jobs.exists()


def test_an_unfinished_sweep_with_other_settings_is_kept_apart(native, tmp_path):
    folder = tmp_path / "unfinished-x-tiny"
    (folder / "jobs").mkdir(parents=True)
    (folder / "settings.txt").write_text("another version")
    (folder / "jobs" / "fib.n1.clean.tsv").write_text("not to be used")
    sweep(native, tmp_path, "--name", "x", "--workloads", "fib", "--no-roofline")
    assert len(list(tmp_path.glob("unfinished-x-tiny-*/jobs/fib.n1.clean.tsv"))) == 1


def test_a_sweep_over_sizes_has_the_nominal_one_and_others(native, tmp_path):
    """Every size at every n in both passes; each has a result of its own, the same for every n."""
    tarball = sweep(native, tmp_path, "--sizes")
    measurements = read(tarball)
    assert {"matmul_naive", "matmul_blocked", "fib", "mergesort", "sparselu", "strassen"} == {
        workload.name for workload in measurements.workloads
    }
    for record in measurements.profiles:
        workload, runs = measurements.workloads[record.workload], record.runs
        assert workload.size_unit and workload.size is not None
        size = np.nan_to_num(runs.size)  # 0 = the nominal one
        assert len(set(size)) == 3 and size.max() < workload.size
        repeats = Counter(zip(size.tolist(), runs.n.tolist(), runs.is_profile_pass.tolist(), strict=True))
        assert len(repeats) == 3 * len(set(runs.n.tolist())) * 2 and set(repeats.values()) == {2}
    rows = table(tarball, "runs.csv")
    results = {(row["workload"], row["size"], row["output_checksum"]) for row in rows}
    assert len(results) == 3 * len(measurements.workloads)


def test_tasks_and_waits_are_counted(native, tmp_path):
    """fib waits once in each call down to its cut-off, for two tasks; on any number of threads, at any size."""

    def waits(number: int) -> int:
        return 0 if number < 10 else 1 + waits(number - 1) + waits(number - 2)

    tarball = sweep(native, tmp_path, "--sizes", "--workloads", "fib matmul_naive")
    rows = table(tarball, "runs.csv")
    expected = {"2584": waits(18), "987": waits(16), "233": waits(13)}
    for row in rows:
        counted = row["pass"] == "profile" and row["workload"] == "fib"
        want = (str(2 * expected[row["size"]]), str(expected[row["size"]])) if counted else ("", "")
        assert (row["tasks"], row["waits"]) == want


def test_emulated_machines_say_so(native, tmp_path):
    tarball = sweep(native, tmp_path, "--workloads", "fib", "--no-roofline", environment={"MPET_ORIGIN": "emulated"})
    assert read(tarball).origin == "emulated"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--workloads", "fib nothing"], "unknown workload 'nothing'"),
        (["--threads", "1,100000"], "--threads: 100000 is more than the [0-9]+ available processors"),
        (["--threads", "1,x"], "--threads: 'x' is not a whole number above 0"),
        (["--repeats", "x"], "--repeats: 'x' is not a whole number above 0"),
        (["--repeats", "0"], "--repeats: '0' is not a whole number above 0"),
        (["--scale", "huge"], "--scale must be tiny, quick or full"),
        (["--sizes", "--workloads", "fib hog"], "hog has only one size"),
    ],
)
def test_what_cannot_be_measured_is_named(native, tmp_path, options, complaint):
    with pytest.raises(AssertionError, match=complaint):
        sweep(native, tmp_path, "--no-roofline", *options)


def with_stand_in(native, folder, name, case):
    """The programs of the build, of which one does first what the shell's `case` says of its arguments."""
    folder.mkdir()
    for program in {"mpet-sweep", "mpet-pack", "mpet-bench-clean", "mpet-bench-profile"} - {name}:
        (folder / program).symlink_to(native / program)
    wrapper = folder / name
    wrapper.write_text(f'#!/bin/sh\ncase "$*" in {case} esac\nexec "{native}/{name}" "$@"\n')
    wrapper.chmod(0o755)
    return folder


def test_a_workload_that_fails_is_left_out_and_the_rest_is_kept(native, tmp_path):
    """A stand-in for the profile build that knows all applications but one."""
    programs = with_stand_in(native, tmp_path / "bin", "mpet-bench-profile", "*nqueens*) exit 9;;")
    tarball = sweep(programs, tmp_path / "results", "--workloads", "fib nqueens", "--no-roofline")
    assert [w.name for w in read(tarball).workloads] == ["fib"]
    assert "nqueens is left out of the results" in member(tarball, "log.txt")


def test_the_time_that_is_left_never_rises(native, tmp_path):
    """A stand-in for the clean build that takes two seconds more for the second of four applications."""
    programs = with_stand_in(native, tmp_path / "bin", "mpet-bench-clean", "*hog*) sleep 2;;")
    words = ["--results", tmp_path, "--scale", "tiny", "--threads", "1", "--workloads", "fib hog kmeans nqueens"]
    command = [programs / "mpet-sweep", "--bin", programs, "--no-roofline", *words]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    left = [60 * int(minutes) + int(seconds) for minutes, seconds in re.findall(r"about (\d+):(\d+) left", said)]
    assert len(left) == 3 and left == sorted(left, reverse=True)


def test_disturbed_repeats_are_done_again_and_reported(native):
    """Two threads on one processor: each waits while the other one runs, as it would beside another program."""
    cpu = min(os.sched_getaffinity(0))
    options = ["--application", "nbody", "--scale", "quick", "--n", "2", "--cpus", f"{cpu},{cpu}", "--repeats", "1"]
    command = [native / "mpet-bench-clean", *options]
    listing = output(*command)
    loads = records(listing, "load")
    assert len(loads) == 3
    assert sorted(load[-1] for load in loads) == ["kept-disturbed", "repeated", "repeated"]
    assert len(records(listing, "run")) == 1
    # As a quick sweep asks: of five at most, as long as each lost less to others than those before it.
    loads = records(output(*command, "--attempts", "5", "--while-narrowing"), "load")
    lost = [int(waited) + int(stolen) for _, waited, stolen, *_ in loads]
    helped = [later < min(lost[: place + 1]) for place, later in enumerate(lost[1:])]
    assert helped[:-1] == [True] * (len(helped) - 1)
    assert len(loads) == 5 or not helped[-1]


def test_the_tarball_says_which_repeats_were_disturbed(native, tmp_path):
    """The sweep is packed again, from jobs one of which says that its second repeat was kept although disturbed."""
    options = ("--name", "x", "--workloads", "hog", "--threads", "1", "--no-roofline")
    tarball = sweep(native, tmp_path, *options)
    unfinished = tarball.with_name("unfinished-x-tiny")
    tarball.with_name(tarball.name.removesuffix(".tar.gz")).rename(unfinished)
    for job in (unfinished / "jobs").glob("*.tsv"):
        content = job.read_text().replace("kept-disturbed", "kept")
        if job.name == "hog.n1.clean.tsv":
            first, second, rest = content.partition("load\t2\t")
            content = first + second + rest.replace("\tkept\n", "\tkept-disturbed\n", 1)
        job.write_text(content)
    tarball = sweep(native, tmp_path, *options)
    rows = table(tarball, "runs.csv")
    assert {(row["workload"], row["pass"], row["repeat"]) for row in rows if row["disturbed"] == "1"} == {
        (f"hog/{section}", "clean", "2") for section in ("gradient", "histogram", "normalise")
    }
    assert {row["disturbed"] for row in rows} == {"0", "1"}
    environment = json.loads(member(tarball, "environment.json"))
    assert (environment["repeats_disturbed"], environment["repeats_kept"]) == (1, 4)


@pytest.mark.lab
def test_quick_works_from_the_tarball_that_users_get(native, tmp_path):
    """Unpacked somewhere else, with make alone; the programs are taken from the build above to save time."""
    (tmp_path / f"mpet-kit-{kit_version()}.tar.gz").write_bytes(kit_tarball())
    variables = [f"BUILD={native}", "OPTIMISE=-O1", f"WARNINGS={WARNINGS}", "NAME=unpacked"]
    variables += [f"WORKLOADS={SHORT_WORKLOADS}", "REPEATS=1", "--assume-old=programs"]
    script = 'cd "$0" && tar xf mpet-kit-*.tar.gz && make -C mpet-kit* quick "$@"'
    said = output("sh", "-c", script, tmp_path, *variables)
    folder = tmp_path / "mpet-kit"
    assert "make upload" in said
    (tarball,) = (folder / "results").glob("mpet-unpacked-*.tar.gz")
    assert {w.name for w in read(tarball).workloads} == set(SHORT_WORKLOADS.split())


@pytest.mark.lab
def test_a_quick_sweep_measures_the_workloads_of_a_full_one(native, tmp_path):
    """The same names, versions and inputs, which are what the server knows a workload by."""
    known = {}
    for scale in ("quick", "full"):
        command = [native / "mpet-sweep", "--bin", native, "--results", tmp_path / scale, "--scale", scale]
        tarball = output(*command, "--workloads", SHORT_WORKLOADS, "--threads", "1", "--repeats", "1", "--no-roofline")
        known[scale] = {workload_identity(workload) for workload in read(Path(tarball.strip())).workloads}
    assert len(known["quick"]) == 2
    assert known["quick"] == known["full"]


def dry_run(folder, *words):
    return output("make", "-n", "-C", folder, *words)


def test_a_kit_knows_the_server_that_served_it(tmp_path):
    folder = served_kit("https://mpet.example/", tmp_path)
    assert "(to https://mpet.example)" in dry_run(folder, "farewell", "PAPI=0")
    assert 'URL="https://mpet.example"' in dry_run(folder, "upload", "TOKEN=a", "PAPI=0")
    assert 'URL="http://here/"' in dry_run(folder, "upload", "TOKEN=a", "URL=http://here/", "PAPI=0")
    assert 'LICENCE="CC BY 4.0"' in dry_run(folder, "upload", "TOKEN=a", "LICENCE=CC BY 4.0", "PAPI=0")
    (folder / "SERVER").unlink()
    assert "URL=https://..." in dry_run(folder, "farewell", "PAPI=0")


def test_only_named_workloads_are_built(tmp_path):
    folder = served_kit("", tmp_path)
    for words, built in (("hog/gradient", {"fib", "hog"}), ("", None)):
        said = dry_run(folder, "built", f"WORKLOADS={words}", "PAPI=0")
        compiled = set(re.findall(r"compiling workloads/(.*?)\.cpp", said))
        assert compiled == (built or {path.stem for path in (folder / "workloads").glob("*.cpp")})


def test_an_unknown_workload_is_refused_before_anything_is_compiled(tmp_path):
    folder = served_kit("", tmp_path)
    for target in ("all", "quick", "sizes", "programs"):
        said = run("make", "-n", "-C", folder, target, "WORKLOADS=hog nonsense", "PAPI=0")
        assert said.status == 2
        assert "*** unknown workload 'nonsense'; make list shows all." in said.err
        assert "compiling" not in said.out


@pytest.mark.lab
def test_programs_are_linked_anew_for_other_workloads(tmp_path):
    folder = served_kit("", tmp_path)
    variables = ("OPTIMISE=-O0", "PAPI=0", "PRELUDE=", "--assume-old=build/clean/prelude.made")  # which takes longest
    listed = []
    for words in ("fib", "fib nqueens", "fib"):
        output("make", "-C", folder, "build/mpet-bench-clean", f"WORKLOADS={words}", *variables)
        listed.append(output(folder / "build" / "mpet-bench-clean", "--list"))
    assert "nqueens" not in listed[0] and "nqueens" in listed[1] and "nqueens" not in listed[2]
