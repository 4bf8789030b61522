"""mpet-profile's libraries under ThreadSanitizer.

The OpenMP runtimes are not built with it, so what they order would look unordered. Their place is taken by small ones
that are (stand_in/), and the library finds those behind itself as it finds libgomp.
"""

import platform
import subprocess
from pathlib import Path

import pytest

from tests.benchmarks.kit.kit_build import need, output
from tests.benchmarks.kit.profiled import KIT

pytestmark = [pytest.mark.kit, pytest.mark.lab]

STAND_INS = Path(__file__).resolve().parent / "stand_in"
COMPILE = ["g++", "-std=c++17", "-O0", "-g", "-fsanitize=thread", "-Wall", "-Wextra", "-Werror"]
SHARED = ["-fPIC", "-shared"]
LIBRARY = [*SHARED, "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", f"-I{KIT / 'include'}"]


def build(*commands: list[str | Path]) -> None:
    """At the same time."""
    need("g++")
    running = [
        subprocess.Popen([str(word) for word in [*COMPILE, *command]], stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    for process in running:
        _, said = process.communicate()
        assert process.returncode == 0, said


def run(program: Path, recording: Path, library: Path | None, **environment: str) -> str:
    """What it prints; fails at the first race. ThreadSanitizer does not know the address layouts of new kernels."""
    need("setarch")
    command = ["sh", "-c", 'MPET_PROFILE_PID=$$ exec setarch "$0" -R "$@"', platform.machine(), program]
    preload = {"LD_PRELOAD": str(library)} if library else {}
    settings = {"MPET_PROFILE_OUT": str(recording), "TSAN_OPTIONS": "halt_on_error=1 exitcode=66"}
    return output(*command, environment=settings | preload | environment)


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory) -> Path:
    """A folder with `races`, a program of GCC on the stand-in for its runtime, and the libraries to preload."""
    folder = tmp_path_factory.mktemp("stand_in")
    sources = {"gomp": KIT / "profiler" / "gomp.cpp", "ompt": KIT / "profiler" / "ompt.cpp"}
    build(
        [*SHARED, f"-I{KIT}", STAND_INS / "gomp.cpp", "-o", folder / "libstand_in.so"],
        *([*LIBRARY, source, "-o", folder / f"{name}.so", "-ldl"] for name, source in sources.items()),
        *(
            [*LIBRARY, "-DMPET_PROBES=0", source, "-o", folder / f"{name}_clean.so", "-ldl"]
            for name, source in sources.items()
        ),
        ["-fopenmp", "-c", STAND_INS / "races.cpp", "-o", folder / "races.o"],
    )
    build([folder / "races.o", "-o", folder / "races", f"-L{folder}", "-lstand_in", f"-Wl,-rpath,{folder}"])
    return folder


def check_recording(recording: Path, regions: int, has_parts: bool) -> None:
    first, *rows, last = [line.split("\t") for line in recording.read_text().splitlines()]
    assert (first[0], last, len(rows)) == ("program", ["end"], regions)
    for _, _, _, threads, executions, time_ns, *parts, _constructs, _file in rows:
        assert int(executions) > 0
        assert sum(map(int, parts)) == (int(threads) * int(time_ns) if has_parts else 0)


@pytest.mark.parametrize("library", ["gomp", "gomp_clean", "ompt", "ompt_clean"])
def test_the_libraries_have_no_races(stand_in, library, tmp_path):
    """Loops, sections, barriers, tasks, locks and nested regions, of three masters at the same time."""
    for _ in range(3):
        said = run(stand_in / "races", tmp_path / "recording", stand_in / f"{library}.so", OMP_NUM_THREADS="3").split()
        assert len(said) == 5 and set(said[:3]) == {said[4]}
        check_recording(tmp_path / "recording", 6, not library.endswith("_clean"))


def test_the_stand_in_has_no_races_itself(stand_in, tmp_path):
    said = run(stand_in / "races", tmp_path / "recording", None, OMP_NUM_THREADS="4").split()
    assert set(said[:3]) == {said[4]}
    assert not list(tmp_path.iterdir())
