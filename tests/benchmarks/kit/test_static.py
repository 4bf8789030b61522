"""The static kit's programs have the machine code of those that are compiled where they run: the same compiler, told of
a processor of the family, makes the same of the workload that depends most on how the code is tuned."""

import subprocess

import pytest

from tests.benchmarks.kit.kit_build import KIT, need

COMPILER = "x86_64-linux-gnu-g++"


def static_flags(variable, build):
    rule = f"shown: ; @echo '$({variable})'"
    command = ["make", "-s", "-C", KIT, f"--eval={rule}", f"BUILD={build}", "PAPI=0", "shown"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return text.removeprefix("OPTIMISE=").strip('"').split()


AVX512 = "-mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl"


def assembly(*flags):
    command = [COMPILER, *flags, "-std=c++17", "-ffp-contract=off", "-pthread", "-Iinclude", "-DMPET_PROBES=0"]
    command += ['-DMPET_KIT_VERSION="1"', '-DMPET_COMPILER_FLAGS=""', "-S", "workloads/sgm.cpp", "-o", "-"]
    return subprocess.run(command, cwd=KIT, capture_output=True, check=True).stdout


@pytest.mark.kit
@pytest.mark.lab
@pytest.mark.parametrize(
    ("processor", "variable"),
    [
        ("skylake", "STATIC_x86_64"),
        ("icelake-server", "OPTIMISE_v4"),
        ("znver3", "OPTIMISE_zen"),
        # What -march=native is for g++ 12 on an EPYC with AVX-512, which has no name of its own there.
        (f"znver3 {AVX512}", "OPTIMISE_zen4"),
    ],
)
def test_a_static_program_has_the_code_of_one_that_was_compiled_for_the_processor(processor, variable, tmp_path):
    need("make", COMPILER)
    flags = static_flags(variable, tmp_path)
    assert flags[0] == "-O3"
    if variable != "STATIC_x86_64":
        assert flags[-1] in (KIT / "sweep/main.cpp").read_text(), "what results say they were compiled with"
    assert assembly(*flags) == assembly("-O3", *f"-march={processor}".split())
