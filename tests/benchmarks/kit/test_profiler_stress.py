"""The libraries may slow a program down; they must not change what it does. stress.cpp uses every construct."""

import os
import shutil
import subprocess

import pytest

from tests.benchmarks.kit.profiled import (
    COMPILERS,
    KIT,
    LIBRARIES,
    PROGRAMS,
    build_profiler,
    compile_program,
    eventually,
    run_preloaded,
)
from tests.conftest import skip_or_fail

pytestmark = pytest.mark.kit

ALONE = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}


@pytest.fixture(scope="module", params=list(COMPILERS))
def stress(request, tmp_path_factory):
    """The program, the library for its compiler, and what the program prints without it."""
    program = compile_program("stress.cpp", request.param, tmp_path_factory.mktemp("stress"))
    alone = subprocess.run([program], capture_output=True, text=True, check=True, env=ALONE)
    return program, build_profiler() / LIBRARIES[request.param], alone.stdout


def regions_of(recording: str) -> list[list[str]]:
    lines = recording.splitlines()
    assert lines[-1] == "end"
    return [line.split("\t") for line in lines if line.startswith("region")]


def check_sums(recording: str) -> None:
    regions = regions_of(recording)
    assert len(regions) > 10
    for _, _, _, threads, _, time_ns, *parts, _constructs, _file in regions:
        assert sum(map(int, parts)) == int(threads) * int(time_ns)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("cancellation", ["false", "true"])
def test_output_is_unchanged_and_the_parts_add_up(stress, threads, cancellation, tmp_path):
    program, library, expected = stress
    for _ in range(2):
        output, recording = run_preloaded(program, library, tmp_path, threads, OMP_CANCELLATION=cancellation)
        assert output == expected
        check_sums(recording)


def test_output_is_unchanged_in_the_clean_pass(stress, tmp_path):
    program, library, expected = stress
    clean = library.with_name(library.stem + "_clean.so")
    output, recording = run_preloaded(program, clean, tmp_path, 2)
    assert output == expected
    assert len(regions_of(recording)) > 10


def test_reduction_by_a_tree_of_threads(tmp_path):
    """libomp reduces so on many threads; the wait in it has to be taken for a barrier."""
    program = compile_program("stress.cpp", "clang", tmp_path)
    alone = subprocess.run([program], capture_output=True, text=True, check=True, env=ALONE)
    output, recording = run_preloaded(
        program, build_profiler() / LIBRARIES["clang"], tmp_path, 4, KMP_FORCE_REDUCTION="tree"
    )
    assert output == alone.stdout
    check_sums(recording)


def test_nested_regions_count_in_the_outer_one(stress, tmp_path):
    program, library, _ = stress

    def check():
        _, recording = run_preloaded(program, library, tmp_path, 2)
        (nested,) = [region for region in regions_of(recording) if int(region[13]) & 16]
        threads, time_ns, use_ns = int(nested[3]), int(nested[5]), int(nested[6])
        assert threads == 2
        assert use_ns > 0.3 * threads * time_ns

    eventually(check)


def test_another_process_is_not_recorded(stress, tmp_path):
    """What the program starts has the library too, and must not write over the program's own recording."""
    program, library, expected = stress
    preload = {"LD_PRELOAD": str(library), "MPET_PROFILE_PID": "1", "MPET_PROFILE_OUT": str(tmp_path / "recording")}
    done = subprocess.run([program], capture_output=True, text=True, check=True, env=ALONE | preload)
    assert done.stdout == expected
    assert not (tmp_path / "recording").exists()


@pytest.mark.lab
@pytest.mark.parametrize("compiler", COMPILERS)
def test_address_sanitizer_finds_nothing(compiler, tmp_path):
    source = {"gcc": "gomp.cpp", "clang": "ompt.cpp"}[compiler]
    library = tmp_path / LIBRARIES[compiler]
    flags = ["-std=c++17", "-O0", "-fPIC", "-shared", "-fno-rtti", "-fsanitize=address,undefined"]
    build = ["g++", *flags, f"-I{KIT / 'include'}", KIT / "profiler" / source, "-o", library, "-ldl", "-lpthread"]
    subprocess.run(build, check=True)
    program = compile_program("stress.cpp", compiler, tmp_path)
    alone = subprocess.run([program], capture_output=True, text=True, check=True, env=ALONE)
    where = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    output, recording = run_preloaded(
        program, library, tmp_path, 2, preload_first=where.stdout.strip(), ASAN_OPTIONS="detect_leaks=0"
    )
    assert output == alone.stdout
    check_sums(recording)


@pytest.mark.lab
@pytest.mark.parametrize(
    ("target", "emulator"), [("aarch64-linux-gnu", "qemu-aarch64"), ("arm-linux-gnueabihf", "qemu-arm")]
)
def test_output_is_unchanged_on_other_architectures(target, emulator, tmp_path):
    """Other calling conventions, and on the second one 32-bit words."""
    if shutil.which(f"{target}-g++") is None or shutil.which(emulator) is None:
        skip_or_fail(f"no {target}-g++ or {emulator}")
    program, library, recording = (tmp_path / name for name in ("stress", "libmpet_gomp.so", "recording"))
    flags = ["-std=c++17", "-O1", f"-I{KIT / 'include'}"]
    source = KIT / "profiler" / "gomp.cpp"
    subprocess.run(
        [f"{target}-g++", *flags, "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", source, "-o", library], check=True
    )
    subprocess.run([f"{target}-g++", *flags, "-fopenmp", PROGRAMS / "stress.cpp", "-o", program], check=True)
    emulated = [emulator, "-L", f"/usr/{target}", "-E", "OMP_NUM_THREADS=3"]
    alone = subprocess.run([*emulated, program], capture_output=True, text=True, check=True)
    profiled = subprocess.run(
        ["sh", "-c", 'MPET_PROFILE_PID=$$ exec "$@"', "sh", *emulated, "-E", f"LD_PRELOAD={library}", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MPET_PROFILE_OUT": str(recording)},
    )
    assert profiled.stdout == alone.stdout
    check_sums(recording.read_text())


@pytest.mark.lab
@pytest.mark.parametrize("compiler", COMPILERS)
def test_valgrind_finds_nothing_on_one_thread(compiler, tmp_path):
    if shutil.which("valgrind") is None:
        skip_or_fail("no valgrind")
    program = compile_program("stress.cpp", compiler, tmp_path, "-gdwarf-4")  # as new as valgrind reads
    wrapper = tmp_path / "under-valgrind"
    errors = tmp_path / "errors"
    wrapper.write_text(f"#!/bin/sh\nexec valgrind -q --log-file={errors} --error-exitcode=9 {program}\n")
    wrapper.chmod(0o755)
    _, recording = run_preloaded(wrapper, build_profiler() / LIBRARIES[compiler], tmp_path, 1)
    assert errors.read_text() == ""
    check_sums(recording)
