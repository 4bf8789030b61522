"""mpet-profile names regions as their source does: C++, Fortran, Cython, and what clang puts elsewhere."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.benchmarks.kit.profiled import COMPILERS, PROGRAMS, build_profiler, compile_program, profile
from tests.conftest import skip_or_fail

pytestmark = pytest.mark.kit

ADVICE = "compile with -g too"

FLANG = """
#define REGION(name, symbol) void name(void) __asm__(symbol); \\
    __attribute__((noinline)) void name(void) { int sum = 0; \\
    _Pragma("omp parallel for reduction(+ : sum)") for (int i = 0; i < 9; i++) sum += i; if (sum < 9) for (;;); }
REGION(one, "_QMheatPstep")
REGION(two, "_QMheatFstepPinner")
REGION(three, "_QPsmooth")
REGION(four, "_QQmain")
REGION(five, "_Queue")
int main(void) { one(); two(); three(); four(); five(); return 0; }
"""


def measured(program: Path, folder: Path) -> tuple[set[str], str]:
    """The sections, and what was said."""
    done = profile([program], folder, "--n", "1", "--repeats", "1", "--min-share", "0")
    assert done.status == 0, done.said
    return set(done.regions()), done.said


def test_fortran_procedures_have_the_names_of_their_source(tmp_path):
    if shutil.which("gfortran") is None:
        skip_or_fail("no gfortran")
    program = tmp_path / "heat"
    command = ["gfortran", "-O2", "-g", "-fopenmp", PROGRAMS / "heat.f90", "-o", program]
    subprocess.run(command, check=True, cwd=tmp_path)
    sections, said = measured(program, tmp_path)
    assert sections == {"heat::step:7", "smooth:17", "main:32", "inner:40"}
    assert ADVICE not in said


def test_names_of_flang_are_read(tmp_path):
    """Its mangling; a C name that begins alike stays as it is."""
    command = ["gcc", "-O1", "-fopenmp", "-xc", "-", "-o", tmp_path / "flang"]
    subprocess.run(command, input=FLANG, text=True, check=True)
    sections, _ = measured(tmp_path / "flang", tmp_path)
    names = {section.split("+0x")[0] for section in sections}
    assert names == {"heat::step", "heat::step::inner", "smooth", "main", "_Queue"}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("flags", "separator"), [([], ":"), (["-g0"], "+0x")])
def test_functions_of_cython_are_named_as_in_python(compiler, flags, separator, tmp_path):
    sections, _ = measured(compile_program("cython.c", compiler, tmp_path, *flags), tmp_path)
    assert {section.split(separator)[0] for section in sections} == {
        "sklearn.cluster._k_means_lloyd.update_chunk",
        "sklearn.cluster._k_means_common._inertia_dense",
        "sklearn.cluster._k_means_lloyd.lloyd_iter",
        "mine.Tree.grow",
        "mine.grow_tree",
        "mine.sum_of",
        "smooth_",
    }


@pytest.mark.parametrize("flags", [[], ["-O0"]])
def test_a_body_that_clang_puts_elsewhere_belongs_to_its_function(flags, tmp_path):
    """.omp_outlined..1, .omp_task_entry. and __omp_offloading_fe00_3c0020_on_the_host_l21 before."""
    sections, _ = measured(compile_program("outlined.c", "clang", tmp_path, *flags), tmp_path)
    assert sections == {"in_a_task:10", "on_the_host:20"}


def test_advice_about_debug_information_comes_once(tmp_path):
    with_it, without = (compile_program("nest.c", "gcc", tmp_path, flag, output=flag[1:]) for flag in ("-g", "-g0"))
    assert ADVICE not in measured(with_it, tmp_path)[1]
    said = measured(without, tmp_path)[1]
    assert said.count(ADVICE) == 1
    assert f"no source line is known for 2 regions; {ADVICE}" in said


def test_where_the_reading_program_is_missing_it_is_named(tmp_path):
    program = compile_program("nest.c", "gcc", tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("tar", "gzip"):
        (tools / tool).symlink_to(shutil.which(tool))
    build_profiler()
    options = ("--n", "1", "--repeats", "1", "--min-share", "0")
    done = profile([program], tmp_path, *options, environment={"PATH": str(tools)})
    assert "install addr2line (binutils) or llvm-symbolizer" in done.said
    assert ADVICE not in done.said
