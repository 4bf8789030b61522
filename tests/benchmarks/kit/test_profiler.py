"""mpet-profile on unmodified programs: what it delivers, what it calls things, what it refuses."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.kit.kit_build import need
from tests.benchmarks.kit.profiled import (
    COMPILERS,
    REST,
    RUNTIMES,
    build_profiler,
    compile_program,
    eventually,
    profile,
)
from tests.paths import KIT

pytestmark = pytest.mark.kit

ONCE = ("--n", "1", "--repeats", "1", "--min-share", "0")

# program -> a region of it, its strategy
UNMODIFIED = {
    "nest.c": {"smooth:19": "dynamic_loop", "multiply:8": "domain_decomposition"},
    "recursive.cpp": {"main:30": "task_graph"},
    "locks.c": {"main:11": "domain_decomposition"},
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("source", UNMODIFIED)
def test_a_program_as_it_is_becomes_a_delivery_that_is_accepted(source, compiler, tmp_path):
    program = compile_program(source, compiler, tmp_path)
    done = profile([program, "7"], tmp_path, "--n", "1,2", "--repeats", "2", "--min-share", "0.1%")
    assert done.status == 0, done.said
    measurements = done.measurements
    assert measurements.origin == "measured"
    assert measurements.platforms[0].name == "test machine"
    assert compiler in measurements.platforms[0].compiler.lower()
    strategies = {workload.section: workload.strategy for workload in measurements.workloads}
    assert strategies == UNMODIFIED[source] | {REST: "sequential"}
    for workload in measurements.workloads:
        assert workload.name == f"{program.name}/{workload.section}"
        assert (workload.application, workload.input) == (program.name, "7")
        assert workload.runtime == RUNTIMES[compiler]
    for runs in done.regions().values():
        assert sorted(zip(runs.n, runs.is_profile_pass, runs.repeat, strict=True)) == [
            (n, is_profile, repeat) for n in (1, 2) for is_profile in (False, True) for repeat in (1, 2)
        ]
        sums = runs.parts_ns[runs.is_profile_pass].sum(axis=1)
        assert np.array_equal(sums, (runs.n * runs.time_ns)[runs.is_profile_pass])


def check_names_with_offsets(names: list[str], program: str) -> None:
    """Two regions, in the functions that the compiler has left of the source's three."""
    assert len(names) == 2
    functions = {f"{program}/{function}" for function in ("main", "multiply", "smooth")}
    assert {name.split("+0x")[0] for name in names} <= functions


@pytest.mark.parametrize("compiler", COMPILERS)
def test_without_debug_information_a_region_is_called_function_and_offset(compiler, tmp_path):
    program = compile_program("nest.c", compiler, tmp_path, "-g0")
    done = profile([program], tmp_path, *ONCE)
    check_names_with_offsets(done.names(), program.name)

    subprocess.run(["strip", program], check=True)
    stripped = profile([program], tmp_path, *ONCE)
    assert {name.split("+0x")[0] for name in stripped.names()} == {f"{program.name}/{program.name}"}
    assert len(stripped.names()) == 2


@pytest.mark.parametrize("compiler", COMPILERS)
def test_addr2line_is_not_needed(compiler, tmp_path):
    program = compile_program("nest.c", compiler, tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("tar", "gzip"):
        (tools / tool).symlink_to(shutil.which(tool))
    done = profile([program], tmp_path, *ONCE, environment={"PATH": str(tools)})
    check_names_with_offsets(done.names(), program.name)


def test_regions_below_the_share_are_left_out_and_named(tmp_path):
    program = compile_program("kernels.c", "gcc", tmp_path)
    done = profile([program, "all", "1000"], tmp_path, "--n", "1", "--repeats", "1", "--min-share", "99%")
    assert done.status == NOT_PROFILABLE
    assert done.measurements is None
    (told,) = [line for line in done.said.splitlines() if "left out" in line]
    assert "each with less than 99.0 % of the program's time on one thread (--min-share 0 keeps all)" in told
    assert f"{program.name}/equal:" in told

    def check():
        """The pyramid takes two of the seven parts of equal size that the kernels' work has."""
        kept = profile([program, "all"], tmp_path, "--n", "1", "--repeats", "3", "--min-share", "20%")
        assert [section.split(":")[0] for section in kept.regions()] == ["pyramid"]
        assert f"{program.name}/tasks:" in kept.log

    eventually(check)


@pytest.mark.parametrize("knows_inlined_functions", [True, False])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_region_in_an_inlined_function_is_one_workload(compiler, knows_inlined_functions, tmp_path):
    """Also where the debug information is read by a program that names the functions around it."""
    program = compile_program("inlined.c", compiler, tmp_path)
    environment = {}
    if not knows_inlined_functions:
        real = shutil.which("addr2line")
        stand_ins = {"llvm-symbolizer": "exit 1", "addr2line": f'shift 2; exec {real} -a "$@"'}  # without -i
        for name, script in stand_ins.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    done = profile([program], tmp_path, *ONCE, environment=environment)
    (name,) = done.names()
    assert name.endswith(":7")
    assert not knows_inlined_functions or name == f"{program.name}/kernel:7"


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_program_that_fixes_its_number_of_threads_is_told_so(compiler, tmp_path):
    program = compile_program("fixed.c", compiler, tmp_path)
    done = profile([program], tmp_path, "--n", "1,2", "--repeats", "1")
    assert done.status == NOT_PROFILABLE
    assert "fixes its own number of threads (2 where 1 was asked for)" in done.said
    assert "OMP_NUM_THREADS sets it" in done.said
    assert done.measurements is None


def test_code_of_old_gcc_is_recorded_too(tmp_path):
    program = compile_program("old_interface.c", "gcc", tmp_path)
    done = profile([program], tmp_path, "--n", "1,2", "--repeats", "1")
    assert done.names() == [f"{program.name}/body:12"]
    (runs,) = done.regions().values()
    use_ns = runs.parts_ns[runs.is_profile_pass, 0]
    assert np.all(use_ns > 0.3 * (runs.n * runs.time_ns)[runs.is_profile_pass])


def test_every_run_reads_the_same_standard_input(tmp_path):
    source = tmp_path / "reads.c"
    source.write_text(
        '#include <stdio.h>\nint main(void) {\n    int n = 0, sum = 0;\n    if (scanf("%d", &n) != 1) return 3;\n'
        "#pragma omp parallel for reduction(+ : sum)\n    for (int i = 0; i < n; i++) sum += i;\n"
        "    return sum < 0;\n}\n"
    )
    subprocess.run(["gcc", "-g", "-fopenmp", source, "-o", tmp_path / "reads"], check=True)
    (tmp_path / "input").write_text("1000\n")
    with (tmp_path / "input").open() as standard_input:
        command = [build_profiler() / "mpet-profile", "--n", "1", "--repeats", "2", "--min-share", "0", "./reads"]
        done = subprocess.run(command, cwd=tmp_path, stdin=standard_input, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 region of reads in mpet-" in done.stdout


def test_disturbed_runs_are_done_again_and_named(tmp_path):
    """Beside a program that never rests; what is profiled mostly sleeps, so that the test needs no processor itself."""
    source = tmp_path / "naps.c"
    source.write_text(NAPPING)
    subprocess.run(["gcc", "-g", "-fopenmp", source, "-o", tmp_path / "naps"], check=True)
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
        try:
            done = profile([tmp_path / "naps"], tmp_path, *ONCE)
        finally:
            busy.kill()
    assert done.status == 0, done.said
    for said in (done.said, done.log):
        again, kept = said.split("runs were disturbed every time")
        for text, count in ((again, "2 runs"), (kept, "1 run")):
            assert f"clean pass, n = 1: {count}\n" in text and f"profile pass, n = 1: {count}\n" in text
    (runs,) = done.regions().values()
    assert sorted(zip(runs.is_profile_pass, runs.repeat, strict=True)) == [(False, 1), (True, 1)]
    assert runs.disturbed.tolist() == [1, 1]


def test_ends_with_ten_lines_that_tell_where_the_time_goes(tmp_path):
    """Of the kernels' regions shares of the time on one thread, times and the best n, in the order of time."""
    program = compile_program("kernels.c", "gcc", tmp_path)
    done = profile([program, "all", "1000"], tmp_path, "--n", "1,2", "--repeats", "1", "--min-share", "0")
    assert done.status == 0, done.said
    lines = done.said.splitlines()
    (head,) = [number for number, line in enumerate(lines) if line.endswith("largest loss, on most threads  region")]
    (end,) = [number for number, line in enumerate(lines) if line.endswith("profile.tar.gz")]
    table = lines[head + 1 : end]
    assert len(table) + 1 <= 10 and table[-1].endswith("  serial rest")
    sections = done.sections()
    shares, times = [], []
    for line in table:
        fields = line.split()
        section = " ".join(fields[-2:]) if line.endswith(REST) else fields[-1]
        runs = sections[section]
        is_clean = ~runs.is_profile_pass
        clean = dict(zip(runs.n[is_clean].tolist(), runs.time_s[is_clean].tolist(), strict=True))
        shares.append(float(fields[0]))
        times.append(float(fields[2]))
        assert float(fields[2]) == pytest.approx(clean[1], rel=1e-3) and fields[3] == "s"
        best = min(clean, key=clean.get)
        assert int(fields[4]) == best
        assert float(fields[5]) == pytest.approx(clean[1] / clean[best], abs=0.006)
    assert sum(shares) == pytest.approx(100, abs=0.1 * len(shares))
    assert times[:-1] == sorted(times[:-1], reverse=True)


def test_the_table_names_the_largest_loss(tmp_path):
    """A lock that is held throughout costs half of two threads' time."""

    def check():
        program = compile_program("kernels.c", "gcc", tmp_path)
        done = profile([program, "locked"], tmp_path, "--n", "1,2", "--repeats", "3", "--min-share", "20%")
        (line,) = [line for line in done.said.splitlines() if line.split()[-1].startswith("locked:")]
        loss, share = line.split()[6:8]
        assert loss == "lock"
        assert float(share) == pytest.approx(50, abs=10)

    eventually(check)


# ---- refusals: each says what to do


NOT_PROFILABLE = 4  # what mpet try takes as: time the program as a whole


def refusal(command: list[str | Path], folder: Path, *options: str, status: int = NOT_PROFILABLE) -> str:
    done = profile(command, folder, "--n", "1", "--repeats", "1", *options)
    assert done.status == status, done.said
    assert done.measurements is None
    return done.said


def test_refuses_a_statically_linked_program(tmp_path):
    program = compile_program("fixed.c", "gcc", tmp_path, "-static")
    assert "statically linked" in refusal([program], tmp_path)
    assert "without -static" in refusal([program], tmp_path)


def test_refuses_a_setuid_program(tmp_path):
    program = compile_program("fixed.c", "gcc", tmp_path)
    program.chmod(0o4755)
    assert "setuid" in refusal([program], tmp_path)
    assert "Profile a copy" in refusal([program], tmp_path)


def test_refuses_a_script(tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\nexec ./program\n")
    script.chmod(0o755)
    assert "is a script. Name the program that it starts" in refusal([script], tmp_path)


def test_refuses_what_is_no_program(tmp_path):
    (tmp_path / "text").write_text("text")
    assert "is not an executable file" in refusal([tmp_path / "text"], tmp_path, status=1)
    (tmp_path / "text").chmod(0o755)
    assert "is not an ELF program" in refusal([tmp_path / "text"], tmp_path)
    assert "program not found" in refusal([tmp_path / "nothing"], tmp_path, status=1)


def test_a_recording_on_a_full_disk_is_no_sign_of_a_program_that_cannot_be_profiled(tmp_path):
    """The program itself may write no byte to a file, as on a full disk."""
    source = b"""#include <signal.h>
#include <sys/resource.h>
int main(void) {
#pragma omp parallel
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
    return 0;
}"""
    subprocess.run(["gcc", "-fopenmp", "-x", "c", "-", "-o", tmp_path / "full"], input=source, check=True)
    said = refusal([tmp_path / "full"], tmp_path, status=1)
    assert "is incomplete. Is there free space in" in said


def test_an_incomplete_tarball_is_removed(tmp_path):
    program = compile_program("locks.c", "gcc", tmp_path)
    (tmp_path / "tar").write_text("#!/bin/sh\necho half > $2\nexit 2\n")
    (tmp_path / "tar").chmod(0o755)
    done = profile([program], tmp_path, *ONCE, environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.status == 1 and "tar failed" in done.said and done.measurements is None


def test_refuses_a_program_without_openmp(tmp_path):
    source = b"int main(void) { return 0; }"
    subprocess.run(["gcc", "-x", "c", "-", "-o", tmp_path / "serial"], input=source, check=True)
    said = refusal([tmp_path / "serial"], tmp_path)
    assert "does not use OpenMP" in said
    assert "-fopenmp" in said


def test_refuses_code_of_gcc_on_libomp(tmp_path):
    """Known to give wrong results there (docs/mpet-profile.md), so no profile of it can be right."""
    program = compile_program("fixed.c", "clang", tmp_path)
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    library = next(line.split()[2] for line in loaded.splitlines() if "libomp" in line)
    subprocess.run(["gcc", "-fopenmp", "-c", "-xc", "-", "-o", tmp_path / "a.o"], input=LOOP, check=True)
    subprocess.run(["gcc", tmp_path / "a.o", "-o", tmp_path / "mixed", library], check=True)
    said = refusal([tmp_path / "mixed"], tmp_path)
    assert "has code of GCC but runs on libomp" in said
    assert "Build all of it with one compiler" in said


def test_refuses_a_program_that_fails_and_shows_its_last_lines(tmp_path):
    subprocess.run(["gcc", "-fopenmp", "-x", "c", "-", "-o", tmp_path / "fails"], input=FAILING, check=True)
    said = refusal([tmp_path / "fails"], tmp_path, status=1)
    assert "ended with status 3 in the clean pass, n = 1, repeat 1" in said
    assert "    no such grid" in said


def test_refuses_a_program_that_executes_no_region(tmp_path):
    program = compile_program("kernels.c", "gcc", tmp_path)
    assert "executed no parallel region" in refusal([program, "none"], tmp_path)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--n", "1,x"], "'x' is not a whole number above 0"),
        (["--n", "100000"], "100000 threads exceed the"),
        (["--min-share", "2"], "neither a percentage"),
        (["--runtime", "tbb"], "--runtime must be libgomp or libomp"),
        (["--speed", "9"], "unknown option --speed"),
    ],
)
def test_refuses_bad_options(options, reason, tmp_path):
    program = compile_program("fixed.c", "gcc", tmp_path)
    assert reason in refusal([program], tmp_path, *options, status=1 if "threads exceed" in reason else 2)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("missing/r.tar.gz", "cannot write missing/r.tar.gz: missing/: No such file or directory"),
        ("there", "cannot write there: it is a folder"),
    ],
)
def test_refuses_an_output_that_cannot_be_written_before_the_program_is_started(output, reason, tmp_path):
    program = compile_program("fixed.c", "gcc", tmp_path)
    (tmp_path / "there").mkdir()
    said = refusal([program], tmp_path, "--output", output, status=1)
    assert said == f"mpet-profile: {reason}\n"


NAPPING = """#include <unistd.h>
int main(void) {
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 9; i++) sum += i;
    usleep(350000);
    return sum != 36;
}
"""

LOOP = b"""int main(void) { int sum = 0;
#pragma omp parallel for reduction(+ : sum)
for (int i = 0; i < 9; i++) sum += i;
return sum != 36; }"""

FAILING = b"""#include <stdio.h>
int main(void) {
#pragma omp parallel
{ }
puts("no such grid"); return 3; }"""


def test_what_the_kit_shares_with_the_profiler_is_compiled_once(tmp_path):
    need("make", "g++")

    def made(*words: str) -> str:
        command = ["make", *words, f"BUILD={tmp_path}", "PAPI=0"]
        return subprocess.run(command, cwd=KIT, capture_output=True, text=True, check=True).stdout

    planned = made("-n", "-f", "profiler/profiler.mk", "profiler")
    names = ("topology/files", "topology/topology", "pack/main")
    assert {name: planned.count(f"-c {name}.cpp ") for name in names} == dict.fromkeys(names, 1)
    made("-f", "profiler/profiler.mk", f"{tmp_path}/tool/topology/files.o")
    planned = made("-n", "built")
    assert "compiling topology/topology.cpp" in planned
    assert "compiling topology/files.cpp" not in planned
