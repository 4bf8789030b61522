"""`mpet sweep` and `mpet try`: programs of others, in other languages, from the terminal to their page."""

import csv
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from mpet import cli
from mpet.errors import KitFailed, MpetError, Unreachable, UsageError
from mpet.sweep import (
    SHORTEST_JUDGED_S,
    Machine,
    Run,
    Sweep,
    is_there,
    merge,
    newest_kit_results,
    pack,
    read_machine,
    read_tarball,
    sweep_tarball,
    wait_at_most,
)

from accounts.models import ApiToken
from benchmarks.models import Quarantine, Upload
from research.try_workloads import SHIPPED
from tests.benchmarks.kit.kit_build import AS_OTHER_TESTS, need
from tests.benchmarks.uploads import tarball
from tests.paths import KIT

SLEEPS = "import sys, time; time.sleep(0.2 / int(sys.argv[1]))"
MACHINE = Machine({"name": "here", "cpu_model": "x", "threads": 2}, [0, 1], [1, 2], "measured")
OPENMP = """#include <stdio.h>
int main(void) {
    double sum = 0;
    for (int k = 0; k < 10; k++) {
#pragma omp parallel for reduction(+ : sum)
        for (long i = 0; i < 2000000; i++) sum += i % 7;
    }
    printf("%g\\n", sum);
    return 0;
}
"""


def swept(command, counts=(1, 2), **options):
    said = []
    rows = Sweep([sys.executable, "-c", *command], options.pop("environment", {}), **options).measure(
        MACHINE, counts, said.append
    )
    return rows, said


def test_the_number_of_threads_is_put_into_arguments_and_variables():
    rows, said = swept([SLEEPS, "{n}"], repeats=2)
    assert [row[:2] for row in rows] == [[1, 1], [1, 2], [2, 1], [2, 2]]
    assert [line.split(":")[0] for line in said] == ["n = 1", "n = 2"]
    checks = "import os, sys; sys.exit(0 if os.environ['MINE'] == os.environ['OMP_NUM_THREADS'] == sys.argv[1] else 9)"
    swept([checks, "{n}"], environment={"MINE": "{n}"}, repeats=1)


def test_each_run_has_the_first_n_processors(monkeypatch):
    program = "import os, sys; sys.exit(0 if len(os.sched_getaffinity(0)) == int(sys.argv[1]) else 9)"
    swept([program, "{n}"], repeats=1)


def test_a_program_that_fails_is_named_with_its_last_lines_and_what_accepts_it():
    fails = ["import sys; print('no such input'); sys.exit(3)"]
    with pytest.raises(Exception, match="ended with status 3 at n = 1; if") as failed:
        swept(fails)
    assert failed.value.exit_code == 7
    assert "--accept-exit 3" in str(failed.value) and "no such input" in str(failed.value)
    assert len(swept(fails, accepted=(0, 3), repeats=1)[0]) == 2


def test_a_run_that_takes_too_long_ends():
    with pytest.raises(Exception, match=r"ran longer than 0\.2 s at n = 1; see --longest"):
        swept(["import time; time.sleep(9)"], longest_s=0.2)


def test_the_end_of_a_run_is_not_polled(monkeypatch):
    """`Popen.wait` with a timeout sleeps up to 50 ms between looks, which would be part of the measured time."""
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("polled"))
    assert len(swept([SLEEPS, "{n}"], repeats=1)[0]) == 2


def test_an_interruption_ends_the_program(monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"])
    wait = process.wait

    def interrupted(timeout=None):
        monkeypatch.setattr(process, "wait", wait)
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        wait_at_most(process, 600.0)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ((2,), "n = 1 is missing"),
        ((1, 3), r"--n: 3 is not a thread count from 1 to 2, the number of usable processors$"),
    ],
)
def test_what_cannot_be_measured_is_wrong_usage(counts, reason):
    with pytest.raises(UsageError, match=reason):
        swept([SLEEPS, "{n}"], counts)
    with pytest.raises(UsageError, match="program not found"):
        is_there("./nowhere")


def test_disturbed_runs_are_made_again_and_the_least_disturbed_are_kept(monkeypatch):
    made = [Run(1.0, True, 0.4), Run(0.5, False, 0.4), Run(2.0, True, 0.4), Run(0.6, False, 0.4)]
    left = iter(made)
    monkeypatch.setattr(Sweep, "_run", lambda self, n, machine: next(left))
    rows = Sweep(["x"], {}, repeats=2).measure(MACHINE, [1], lambda line: None)
    assert [(row[2], row[3]) for row in rows] == [(0.5, False), (0.6, False)]
    always = iter([Run(3.0, True, 0.4), Run(1.0, True, 0.4), Run(2.0, True, 0.4)])
    monkeypatch.setattr(Sweep, "_run", lambda self, n, machine: next(always))
    assert [row[2] for row in Sweep(["x"], {}, repeats=1).measure(MACHINE, [1], lambda line: None)] == [1.0]
    # Where every run was disturbed, the next number of threads has no more runs than repeats.
    busy = iter([Run(3.0, True, 0.4), Run(1.0, True, 0.4), Run(2.0, True, 0.4), Run(4.0, True, 0.4)])
    monkeypatch.setattr(Sweep, "_run", lambda self, n, machine: next(busy))
    rows = Sweep(["x"], {}, repeats=1).measure(MACHINE, [1, 2], lambda line: None)
    assert [(row[0], row[2]) for row in rows] == [(1, 1.0), (2, 4.0)]


def test_a_short_run_is_not_judged():
    rows, _ = swept(["pass"], counts=(1,), repeats=1)
    assert rows[0][3] is None or rows[0][2] > SHORTEST_JUDGED_S


def test_what_processors_did_not_work_is_imbalance(tmp_path):
    """A loop on one thread leaves the second processor idle; what sleeps leaves both."""
    loops = "import time; begin = time.process_time()\nwhile time.process_time() < begin + 0.3: pass"
    rows, _ = swept([loops], repeats=1)
    slept, _ = swept([SLEEPS, "{n}"], repeats=1)
    assert all(0.3 <= row[4] <= row[2] for row in rows) and all(row[4] < 0.5 * row[2] for row in slept)
    path = sweep_tarball(MACHINE, Sweep(["x"], {}), rows, "loops", tmp_path / "l.tar.gz")
    clean, profile = ([row for row in table(path, "runs.csv") if row["pass"] == kind] for kind in ("clean", "profile"))
    assert [row["time_ns"] for row in clean] == [row["time_ns"] for row in profile]
    for row, n in zip(profile, (1, 2), strict=True):
        time_ns, use_ns, imbalance_ns = (int(row[name]) for name in ("time_ns", "use_ns", "imbalance_ns"))
        assert use_ns + imbalance_ns == n * time_ns and use_ns >= 300_000_000
    # More than there is, by the kernel's rounding, is all there is.
    path = sweep_tarball(MACHINE, Sweep(["x"], {}), [[2, 1, 1.0, False, 2.001]], "full", tmp_path / "f.tar.gz")
    assert [table(path, "runs.csv")[1][name] for name in ("use_ns", "imbalance_ns")] == ["2000000000", "0"]


def table(tarball, member):
    return list(csv.DictReader(io.StringIO(read_tarball(tarball)[member].decode())))


def test_results_of_kit_and_program_are_one_tarball(tmp_path):
    measured = Sweep(["x", "-j", "{n}"], {})
    runs = [[1, 1, 2.0, None, 1.5], [2, 1, 1.5, True, 3.1]]
    program = sweep_tarball(MACHINE, measured, runs, "prog", tmp_path / "p.tar.gz")
    kit = pack(
        {
            "platform.json": b'{"name": "here"}',
            "workloads.json": b'[{"name": "hog"}]',
            "runs.csv": b"workload,n,repeat,pass,time_ns,size\nhog,1,1,clean,5,7\n",
            "counters.csv": b"workload,n,repeat,counter,value,status\nhog,1,1,CYCLES,3,ok\n",
            "environment.json": b"{}",
        },
        tmp_path / "k.tar.gz",
        "measured",
    )
    both = merge(kit, program, tmp_path / "both.tar.gz")
    rows = table(both, "runs.csv")
    # The program comes first, because the first profile of an upload leads to its page.
    assert [one["name"] for one in json.loads(read_tarball(both)["workloads.json"])] == ["prog/program", "hog"]
    assert [row["workload"] for row in rows] == [*["prog/program"] * 4, "hog"]
    assert [row["size"] for row in rows] == ["", "", "", "", "7"]
    assert [row["time_ns"] for row in rows] == [*["2000000000"] * 2, *["1500000000"] * 2, "5"]
    assert table(both, "counters.csv")[0]["value"] == "3"
    assert json.loads(read_tarball(both)["platform.json"]) == MACHINE.platform
    manifest = json.loads(read_tarball(both)["manifest.json"])
    assert set(manifest["files"]) == {"platform.json", "workloads.json", "runs.csv", "counters.csv"}


def test_results_of_the_kit_are_this_machines_by_its_hardware_and_not_by_its_name(tmp_path):
    here = {"name": "here", "fingerprint": "f" * 64}
    (tmp_path / "results").mkdir()

    def measured(platform, scale, age, workloads=("hog", "shared_histogram")):
        members = {"platform.json": json.dumps(platform), "environment.json": json.dumps({"scale": scale})}
        members["workloads.json"] = json.dumps([{"name": name} for name in workloads])
        path = tmp_path / "results" / f"mpet-{age}.tar.gz"
        pack({name: text.encode() for name, text in members.items()}, path, "measured")
        os.utime(path, (1000 - age, 1000 - age))
        return path

    measured(here, "tiny", 1)
    measured(here, "quick", 1.5, ["hog"])  # `mpet measure --workloads hog`
    other = measured(here | {"fingerprint": "0" * 64}, "quick", 2)
    assert newest_kit_results(tmp_path, here) is None
    renamed = measured(here | {"name": "laptop"}, "quick", 3)
    measured(here, "full", 4)
    assert newest_kit_results(tmp_path, here) == renamed
    assert newest_kit_results(tmp_path, {"name": "here"}) == other  # without a fingerprint the name has to do


def test_a_tarball_that_cannot_be_written_is_removed(tmp_path):
    path = tmp_path / "results.tar.gz"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(MpetError, match=rf"{path} cannot be written: "):
            pack({"log.txt": b"text"}, path, "measured")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not path.exists()


def test_two_processes_build_one_after_the_other(tmp_path):
    """Otherwise one of them starts a program that the other is still writing."""
    topology = "mkdir building && sleep 0.5 && mkdir -p build && cp topology $@ && rmdir building"
    (tmp_path / "Makefile").write_text(f"build/mpet-topology:\n\t@{topology}\n")
    (tmp_path / "topology").write_text(
        '#!/bin/sh\ncase "$1" in --placement) echo 0;; --threads) echo 1;;\n'
        "--origin) echo measured;; *) echo {};; esac\n"
    )
    (tmp_path / "topology").chmod(0o755)
    with ThreadPoolExecutor() as pool:
        machines = list(pool.map(lambda name: read_machine(tmp_path, name, print), [None, None]))
    assert [machine.origin for machine in machines] == ["measured"] * 2


@pytest.mark.parametrize(("error", "status"), [(Unreachable("gone"), 6), (KeyboardInterrupt(), 130)])
def test_results_of_a_trial_that_are_not_sent_are_kept(error, status, monkeypatch, tmp_path, capsys):
    def measure(kit, command, path, options, said):
        said(f"2 regions of true in {path.resolve()}")
        path.write_bytes(b"results")

    def upload(self, path, **options):
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "read_machine", lambda *given: MACHINE)
    monkeypatch.setattr(cli.benchmark_kit, "unpack_kit", lambda content: tmp_path)
    monkeypatch.setattr(cli.benchmark_kit, "profile", measure)
    answers = {"kit": lambda self: b"", "require_upload_scope": lambda self: None, "knows_machine": lambda *given: True}
    for name, answer in {**answers, "upload": upload}.items():
        monkeypatch.setattr(cli.Client, name, answer)
    monkeypatch.setattr("sys.argv", ["mpet", "--server", "http://127.0.0.1:9", "--token", "x", "try", "true"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert ended.value.code == status, said
    (kept,) = tmp_path.glob("mpet-true-*.tar.gz")
    assert kept.read_bytes() == b"results"
    assert f"the results are kept in {kept.name}; to send them again: mpet upload {kept.name}" in said
    assert "2 regions of true\n" in said, "the temporary file is not named"


@pytest.mark.parametrize("words", [("sweep", "true"), ("profile", "true"), ("measure",)], ids=lambda words: words[0])
def test_without_a_token_nothing_is_measured_in_vain(words, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPET_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(cli.benchmark_kit, "unpack_kit", lambda content: pytest.fail("measures"))
    monkeypatch.setattr("sys.argv", ["mpet", "--server", "http://127.0.0.1:9", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 5
    expected = "mpet: the results cannot be uploaded without a token; use mpet login, --token or --no-upload"
    assert " ".join(capsys.readouterr().err.split()) == expected


@pytest.mark.django_db(transaction=True)
def test_without_the_scope_nothing_is_measured_in_vain(mpet, alice, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    secret = ApiToken.issue(alice, "predict")[1]
    ApiToken.issue(alice, "upload")
    (tmp_path / "results.tar.gz").write_bytes(tarball())
    refused = "mpet: The token's scope is 'predict'; this request needs 'upload'. (mpet login, or --token)\n"
    assert mpet("upload", "results.tar.gz", token=secret) == (5, "", refused)

    def unpack(content):
        raise KitFailed("measured")

    monkeypatch.setattr(cli.benchmark_kit, "unpack_kit", unpack)
    for words in (("measure",), ("profile", "true"), ("sweep", "true"), ("try", "true")):
        assert mpet(*words, token=secret) == (5, "", refused)
        assert mpet(*words) == (7, "", "mpet: measured\n")  # this token has the scope
    for words in (("measure", "--no-upload"), ("try", "--anonymous", "true")):
        assert mpet(*words, token=secret) == (7, "", "mpet: measured\n")
    invalid = "mpet: This token is unknown, has expired or was revoked. (mpet login, or --token)\n"
    assert mpet("measure", token="mpet_wrong") == (5, "", invalid)


@pytest.fixture
def few_workloads(monkeypatch):
    """The kit's own measurement, as short as it can be."""
    need("make", "g++")
    monkeypatch.setattr(cli, "TRIAL_WORKLOADS", "shared_histogram")
    for name, value in AS_OTHER_TESTS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def program(tmp_path):
    need("gcc")
    source = tmp_path / "program.c"
    source.write_text(OPENMP)
    subprocess.run(["gcc", "-O1", "-g", "-fopenmp", source, "-o", tmp_path / "program"], check=True)
    return tmp_path / "program"


@pytest.mark.lab
@pytest.mark.kit
@pytest.mark.django_db(transaction=True)
def test_a_program_in_any_language_is_swept_sent_and_shown(mpet, client, few_workloads, tmp_path):
    script = tmp_path / "sleeper"
    script.write_text(f"#!{sys.executable}\n{SLEEPS}\n")
    script.chmod(0o755)
    options = ("--n", "1,2", "--repeats", "1", "--output", tmp_path / "r.tar.gz", "--json")
    status, text, said = mpet("sweep", *options, "--", script, "{n}")
    assert status == 0, said
    answer = json.loads(text)
    assert set(answer) == {"upload", "program", "url"}
    upload = Upload.objects.get(uid=answer["upload"])
    assert upload.status == "accepted"
    assert client.get(answer["url"]).status_code in (200, 404)  # a private one is its owner's
    profile = upload.source.profiles.get()
    assert "sleeper" in profile.workload.name and profile.decomposed
    # The same script is no OpenMP program: `try` times it as a whole, too, and sends the kit's results with it.
    status, text, said = mpet("try", "--anonymous", "--json", "--n", "1,2", "--", script, "{n}", token=None)
    assert status == 0, said
    assert "timed as a whole" in said
    page = client.get(json.loads(text)["url"])
    assert page.status_code == 200 and b"sleeper" in page.content
    status, _, said = mpet("try", "--anonymous", "--n", "1", "--", script, "{n}", token=None)
    assert status == 0, said
    words = " ".join(said.split())
    expires = Quarantine.objects.order_by("pk").last().expires_at
    assert "Anyone with this link can see the results." in words
    assert f"They are deleted on {expires:%Y-%m-%d} unless you claim them there with an account." in words


@pytest.mark.lab
@pytest.mark.kit
@pytest.mark.django_db(transaction=True)
def test_an_openmp_program_ends_in_its_page(mpet, alice, client, few_workloads, program):
    status, text, said = mpet("try", "--json", "--", program)
    assert status == 0, said
    answer = json.loads(text)
    client.force_login(alice)
    page = client.get(answer["url"])
    assert page.status_code == 200 and b"program" in page.content
    platforms = {profile.platform_id for upload in Upload.objects.all() for profile in upload.source.profiles.all()}
    assert len(platforms) == 1  # kit and program are of one machine
    # A second time the server knows the machine, also by another name: the kit's results are not sent again.
    words = ("--json", "--n", "1", "--application", "again", "--name", "renamed")
    status, text, said = mpet("try", *words, "--", program)
    assert status == 0, said
    newest = Upload.objects.order_by("pk").last()
    assert {profile.workload.application for profile in newest.source.profiles.all()} == {"again"}


def test_what_try_measures_of_the_kit_is_in_the_kit_and_is_built(tmp_path):
    """By the names that the kit's programs have, which are not those of its files."""
    need("make", "g++")
    registered = "".join(path.read_text() for path in (KIT / "workloads").glob("*.cpp"))
    wanted = cli.TRIAL_WORKLOADS.split()
    assert len(set(wanted)) == 12
    assert tuple(wanted) == SHIPPED, "the study of the choice compares with these"
    assert [name for name in wanted if f'"{name}"' not in registered] == []
    command = ["make", "-n", "-C", KIT, "quick", f"WORKLOADS={cli.TRIAL_WORKLOADS}", f"BUILD={tmp_path}", "PAPI=0"]
    planned = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert "workloads/matmul.cpp, clean" in planned and "workloads/mandelbrot.cpp, clean" in planned
