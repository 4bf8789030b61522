"""The kit's own C++ tests, as they are and under tools that see what tests do not."""

import os
import platform
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.benchmarks.kit.kit_build import BUILDS, KIT, make, need, output

pytestmark = pytest.mark.kit

TESTS = sorted(path.stem for path in (KIT / "tests").glob("test_*.cpp"))
SHORT = {"fib", "hog", "edge_pipeline", "sgm"}


@pytest.mark.alone
def test_the_kit_passes_its_own_tests():
    """`make test`: accounts, middleware, the clean build, counters, files, and attribution with known answers."""
    said = make("test", build="native", OPTIMISE="-O1")
    passed = re.findall(r"^passed (\w+)$", said, re.MULTILINE)
    sources = "".join((KIT / "tests" / f"{test}.cpp").read_text() for test in TESTS)
    written = re.findall(r"^TEST\((\w+)\)", sources, re.MULTILINE)
    assert "skipped: attribution" in said or passed == written


@pytest.mark.lab
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_sanitizers_find_nothing(sanitizer):
    folder = BUILDS / sanitizer.replace(",", "-")
    flags = f"-fsanitize={sanitizer} -fno-sanitize-recover=all"
    program = folder / "test-test_middleware"
    make(str(program), build=folder, OPTIMISE=f"-O0 -g {flags}")
    # ThreadSanitizer does not know the address layouts of new kernels; without randomisation it need not.
    prefix = ["setarch", platform.machine(), "-R"] if sanitizer == "thread" else []
    need(*prefix[:1])
    said = output(*prefix, program, environment={"TSAN_OPTIONS": "halt_on_error=1"})
    assert "passed tasks_spawn_tasks" in said


@pytest.mark.lab
def test_valgrind_finds_nothing_with_one_thread(native):
    need("valgrind")
    valgrind = ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full"]
    for application in sorted(SHORT):
        options = ("--application", application, "--scale", "tiny", "--repeats", "1")
        output(*valgrind, native / "mpet-bench-profile", *options)
    tests = [native / f"test-{name}" for name in ("test_accounting", "test_files")]
    make(*map(str, tests), build="native", OPTIMISE="-O1")
    for test in tests:
        output(*valgrind, test)


@pytest.mark.lab
@pytest.mark.parametrize("folder", ["overhead", "tests"])
def test_clang_finds_nothing_to_warn_about(folder):
    """In what test_clang.py does not build."""
    need("clang++")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", KIT / "include"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(lambda source: output("clang++", *flags, source), sorted((KIT / folder).glob("*.cpp"))):
            pass


def test_the_shared_headers_are_also_c(tmp_path):
    """mpet-profile's libraries use the clock and the accounts from C."""
    need("gcc")
    source = tmp_path / "both.c"
    source.write_text(
        '#include "mpet/accounting.h"\n#include "mpet/clock.h"\n'
        "int main(void) { struct mpet_account a; mpet_clock_start(); mpet_account_open(&a, mpet_now(), MPET_USE);\n"
        "  mpet_charge_at(&a, MPET_LOCK, mpet_now() + 1); return mpet_account_total(&a) > 0 ? 0 : 1; }\n"
    )
    program = tmp_path / "both"
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", KIT / "include"]
    output("gcc", *flags, source, "-o", program)
    output(program)
    output(program, environment={"MPET_CLOCK": "monotonic"})
