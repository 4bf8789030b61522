"""The libraries may slow a program down; they must not change what it does. stress.cpp uses every construct."""

import shutil
import subprocess

import pytest

from tests.benchmarks.kit.profiled import COMPILERS, KIT, LIBRARIES, build_profiler, compile_program, run_preloaded
from tests.conftest import skip_or_fail

pytestmark = pytest.mark.kit


@pytest.fixture(scope="module", params=list(COMPILERS))
def stress(request, tmp_path_factory):
    """The program, the library for its compiler, and what the program prints without it."""
    program = compile_program("stress.cpp", request.param, tmp_path_factory.mktemp("stress"))
    alone = subprocess.run([program], capture_output=True, text=True, check=True, env={"OMP_NUM_THREADS": "2"})
    return program, build_profiler() / LIBRARIES[request.param], alone.stdout


def regions_of(recording: str) -> list[list[str]]:
    lines = recording.splitlines()
    assert lines[-1] == "end"
    return [line.split("\t") for line in lines if line.startswith("region")]


def check_sums(recording: str) -> None:
    regions = regions_of(recording)
    assert len(regions) > 10
    for _, _, _, threads, _, time_ns, *parts, _, _ in regions:
        assert sum(map(int, parts)) == int(threads) * int(time_ns)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("cancellation", ["false", "true"])
def test_output_is_unchanged_and_the_parts_add_up(stress, threads, cancellation, tmp_path):
    program, library, expected = stress
    for _ in range(3):
        output, recording = run_preloaded(
            program, library, tmp_path, threads, OMP_CANCELLATION=cancellation, OMP_WAIT_POLICY="passive"
        )
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
    alone = subprocess.run([program], capture_output=True, text=True, check=True, env={"OMP_NUM_THREADS": "2"})
    output, recording = run_preloaded(
        program, build_profiler() / LIBRARIES["clang"], tmp_path, 4, KMP_FORCE_REDUCTION="tree"
    )
    assert output == alone.stdout
    check_sums(recording)


def test_nested_regions_count_in_the_outer_one(stress, tmp_path):
    program, library, _ = stress
    _, recording = run_preloaded(program, library, tmp_path, 2)
    nested = [region for region in regions_of(recording) if int(region[13]) & 16]
    assert len(nested) == 1
    assert nested[0][3] == "2"
    use_ns, time_ns = int(nested[0][6]), int(nested[0][5])
    assert use_ns > 0.3 * 2 * time_ns


def test_another_process_is_not_recorded(stress, tmp_path):
    """What the program starts has the library too, and must not write over the program's own recording."""
    program, library, expected = stress
    done = subprocess.run(
        [program],
        capture_output=True,
        text=True,
        check=True,
        env={
            "OMP_NUM_THREADS": "2",
            "LD_PRELOAD": str(library),
            "MPET_PROFILE_PID": "1",
            "MPET_PROFILE_OUT": str(tmp_path / "recording"),
        },
    )
    assert done.stdout == expected
    assert not (tmp_path / "recording").exists()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_address_sanitizer_finds_nothing(compiler, tmp_path):
    source = {"gcc": "gomp.cpp", "clang": "ompt.cpp"}[compiler]
    library = tmp_path / LIBRARIES[compiler]
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-fno-rtti", "-fsanitize=address,undefined"]
    build = ["g++", *flags, f"-I{KIT / 'include'}", KIT / "profiler" / source, "-o", library, "-ldl", "-lpthread"]
    subprocess.run(build, check=True)
    program = compile_program("stress.cpp", compiler, tmp_path)
    alone = subprocess.run([program], capture_output=True, text=True, check=True, env={"OMP_NUM_THREADS": "2"})
    where = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    output, recording = run_preloaded(
        program, library, tmp_path, 2, preload_first=where.stdout.strip(), ASAN_OPTIONS="detect_leaks=0"
    )
    assert output == alone.stdout
    check_sums(recording)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_valgrind_finds_nothing_on_one_thread(compiler, tmp_path):
    if shutil.which("valgrind") is None:
        skip_or_fail("no valgrind")
    program = compile_program("nest.c", compiler, tmp_path, "-gdwarf-4")  # as new as valgrind reads
    wrapper = tmp_path / "under-valgrind"
    errors = tmp_path / "errors"
    wrapper.write_text(f"#!/bin/sh\nexec valgrind -q --log-file={errors} --error-exitcode=9 {program}\n")
    wrapper.chmod(0o755)
    _, recording = run_preloaded(wrapper, build_profiler() / LIBRARIES[compiler], tmp_path, 1)
    assert errors.read_text() == ""
    assert len(regions_of(recording)) == 2
