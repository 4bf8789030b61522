"""Benchmark of `mpet try` and `mpet sweep` on third-party programs, against a temporary server.

    apt-get install DEBIAN            # what `python -m lab.programs.campaign --packages debian` prints
    python -m venv /tmp/outside && /tmp/outside/bin/pip install PYPI      # ... --packages pypi
    python -m lab.programs.campaign --python /tmp/outside/bin/python

prints two Markdown tables. `--only NAME` measures one program. The first program is uploaded together with the kit's
results of this machine, which takes a minute or two. The first table is that of docs/outside-programs-reference.md. The
second table, of docs/accuracy/outside-programs.md, compares the predictions for `TARGET` with the times that were
measured there (`elsewhere.csv`).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from django.utils.text import slugify

from lab.hostile.servers import installation, served
from lab.programs.inputs import checksum, make_inputs

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "benchmarks" / "client" / "src"
REST = "/serial rest"
sys.path.insert(0, str(CLIENT))

from mpet import Client, MpetError  # noqa: E402
from mpet.changes import MeasuredRegion  # noqa: E402

PYTHON = "{python}"  # placeholder for the interpreter that has the packages of PyPI
TARGET = "KVM guest, 16 vCPUs of an Intel Xeon, 300 MB L3"  # a platform of benchmarks/reference
# The times of the same packages and inputs on TARGET, where each run was pinned to n processors as in `mpet sweep`.
ELSEWHERE = Path(__file__).with_name("elsewhere.csv")
COUNTS = (1, 2, 4, 8, 16)  # thread counts of ELSEWHERE


@dataclass(frozen=True)
class Program:
    """A program with its command and its package. `mpet try` measures OpenMP programs, and `mpet sweep` all others.

    `{n}` in a command stands for the number of threads, as in `mpet sweep`.
    """

    name: str
    language: str
    threads: str  # threading library
    package: str  # "debian:NAME" or "pypi:NAME"
    command: str
    options: tuple[str, ...] = field(default=())
    prepare: str = ""

    @property
    def how(self) -> str:
        return "try" if self.threads == "OpenMP" else "sweep"


PROGRAMS = (
    Program("FastTree", "C", "OpenMP", "debian:fasttree", "fasttreeMP -nt alignment.fasta"),
    Program("GraphicsMagick", "C", "OpenMP", "debian:graphicsmagick", "gm convert picture.ppm -median 3 null:"),
    Program("Clustal Omega", "C++", "OpenMP", "debian:clustalo", "clustalo -i proteins.fasta --force -o /dev/null"),
    Program("xtb", "Fortran", "OpenMP", "debian:xtb", "xtb drop.xyz --gfn 2"),
    Program("DFT-D4", "Fortran", "OpenMP", "pypi:dftd4", f"{PYTHON} dispersion.py lake.xyz"),
    Program("Zstandard", "C", "pthreads", "debian:zstd", "zstd -q -12 -T{n} -c text.txt"),
    Program("x264", "C", "pthreads", "debian:x264", "x264 --threads {n} -o /dev/null video.y4m"),
    Program("Stockfish", "C++", "std::thread", "debian:stockfish", "/usr/games/stockfish bench 16 {n} 9"),
    Program(
        *("POV-Ray", "C++", "boost::thread", "debian:povray"),
        "povray +Iscene.pov +W240 +H180 +WT{n} -D +O/dev/null",
    ),
    Program("7-Zip", "C++", "pthreads", "debian:7zip", "7zz a -txz -mx=3 -mmt{n} -so packed text.txt"),
    Program(
        *("Bowtie 2", "C++", "std::thread", "debian:bowtie2"),
        "bowtie2-align-s -p {n} -x genome -U reads.fastq -S /dev/null",
        prepare="bowtie2-build -q genome.fasta genome",
    ),
    Program(
        *("rav1e", "Rust", "Rayon", "debian:rav1e"),
        "rav1e --threads {n} --tiles 4 --speed 10 --limit 8 -y -o /dev/null video.y4m",
    ),
    Program("Polars", "Rust", "Rayon", "pypi:polars", f"{PYTHON} groups.py", ("--env", "POLARS_MAX_THREADS={n}")),
    Program("SeqKit", "Go", "goroutines", "debian:seqkit", "seqkit -j {n} locate -i -d -p ACGTNNNACGT reads.fastq"),
    Program("Hugo", "Go", "goroutines", "debian:hugo", "hugo --quiet -s site -d hugo-out"),
    Program(
        *("esbuild", "Go", "goroutines", "debian:esbuild"),
        "esbuild --bundle --minify --outfile=bundle.out sources/main.js",
    ),
    Program(
        *("Trimmomatic", "Java", "java.lang.Thread", "debian:trimmomatic"),
        "TrimmomaticSE -phred33 -threads {n} reads.fastq /dev/null SLIDINGWINDOW:4:20",
    ),
    Program(
        *("BBDuk", "Java", "java.lang.Thread", "debian:bbmap"),
        "bbduk.sh -Xmx1g threads={n} in=reads.fastq ref=genome.fasta k=27 reads=8000 out=null",
    ),
    Program("Pylint", "Python", "multiprocessing", "debian:pylint", "pylint -j {n} --exit-zero sources"),
    Program("Flake8", "Python", "multiprocessing", "debian:flake8", "flake8 -j {n} sources"),
    Program(
        *("Cutadapt", "Python", "multiprocessing", "debian:cutadapt"),
        "cutadapt -j {n} -a ACGTACGTAC -o /dev/null reads.fastq",
    ),
    Program("scikit-learn", "Python", "joblib", "pypi:scikit-learn", f"{PYTHON} forest.py {{n}}"),
    Program("Numba", "Python", "Numba's workers", "pypi:numba", f"{PYTHON} integral.py {{n}}"),
)


@dataclass
class Outcome:
    """The result of measuring one program: one row of the table."""

    ended: str
    wall_s: float
    regions: str = ""
    times: dict[int, float] = field(default_factory=dict)  # median t(n) of the whole program
    predicted: dict[int, tuple[float, float, float]] = field(default_factory=dict)  # n -> time, low, high on TARGET


class Campaign:
    """A series of calls of the command-line client with one account on one server, run in the folder of the inputs."""

    def __init__(self, server: str, token: str, folder: Path, arguments: argparse.Namespace) -> None:
        self.client = Client(server, token)
        self.folder, self.python = folder, arguments.python
        self.counts, self.repeats = arguments.n, arguments.repeats
        self.environment = os.environ | {
            "PYTHONPATH": str(CLIENT),
            "MPET_SERVER": server,
            "MPET_TOKEN": token,
            "MPET_CACHE_DIR": str(folder / "cache"),
            "MPET_CONFIG_DIR": str(folder / "config"),
        }

    def measure(self, program: Program) -> Outcome:
        words = [self.python if word == PYTHON else word for word in program.command.split()]
        if shutil.which(words[0]) is None:
            return Outcome("not installed", 0.0)
        if program.prepare:
            subprocess.run(program.prepare.split(), cwd=self.folder, stdout=subprocess.DEVNULL, check=True)
        options = ["--json", "--n", self.counts, "--application", slugify(program.name), *program.options]
        if program.how == "sweep":
            options += ["--repeats", self.repeats]
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "mpet.cli", program.how, *options, "--", *words],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        wall_s = time.monotonic() - start
        if done.returncode:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            reason = next((line for line in lines if line.startswith("mpet: ")), lines[-1] if lines else "no output")
            sys.stderr.write(f"{program.name}: {done.stderr[-3000:]}\n")
            return Outcome(f"status {done.returncode}: {reason[:120]}", wall_s)
        outcome = Outcome("page", wall_s)
        answer = json.loads(done.stdout)
        regions = [
            region
            for region in self.client.regions(self.client.upload_report(answer["upload"]))
            if region.name.startswith(f"{slugify(program.name)}/")
        ]
        outcome.times = times_of_whole(regions)
        is_whole = program.how == "sweep" or "timed as a whole" in done.stderr
        outcome.regions = "the whole" if is_whole else str(sum(not one.name.endswith(REST) for one in regions))
        try:
            for n in COUNTS:
                rows = self.client.rank_page(answer["url"], n=n).rows
                row = next((row for row in rows if row["platform"] == slugify(TARGET)), None)
                if row:
                    outcome.predicted[n] = row["time_s"], row["low_s"], row["high_s"]
        except MpetError as error:
            outcome.ended = f"page without predictions: {error}".splitlines()[0]
        return outcome


def times_of_whole(regions: list[MeasuredRegion]) -> dict[int, float]:
    """Return t(n) of a program as the sum of its regions' medians, without each n at which a region is missing."""
    counts = set.intersection(*(set(region.times) for region in regions)) if regions else set()
    return {n: sum(statistics.median(region.times[n]) for region in regions) for n in sorted(counts)}


def version_of(package: str, python: str) -> str:
    """Return name, installed version and registry of a package, such as `fasttree 2.1.11-2 (Debian)`."""
    registry, _, name = package.partition(":")
    if registry == "debian":
        command = ["dpkg-query", "--show", "--showformat", "${Version}", name]
    else:
        command = [python, "-c", f"import importlib.metadata as m; print(m.version({name!r}), end='')"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{name} {found.stdout or '?'} ({registry.replace('pypi', 'PyPI').replace('debian', 'Debian')})"


def table_row(program: Program, version: str, outcome: Outcome) -> str:
    times = [f"{outcome.times[n]:.3g} s" if n in outcome.times else "" for n in (1, 2)]
    cells = [program.name, program.language, program.threads, version, f"`mpet {program.how}`", *times]
    cells += [outcome.regions, f"{outcome.wall_s:.0f} s", outcome.ended]
    return f"| {' | '.join(cells)} |"


HEADER = (
    "| program | language | threads | package | by | t(1) | t(2) | regions | took | ended |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def measured_elsewhere(path: Path = ELSEWHERE) -> dict[str, dict[int, float]]:
    """Return the median t(n) on TARGET for each program."""
    runs: dict[str, dict[int, list[float]]] = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            runs.setdefault(row["program"], {}).setdefault(int(row["n"]), []).append(float(row["time_s"]))
    return {program: {n: statistics.median(times) for n, times in of.items()} for program, of in runs.items()}


def compared(outcomes: dict[str, Outcome], elsewhere: dict[str, dict[int, float]]) -> Iterator[str]:
    """Yield the table of predicted and measured times on TARGET: one row per program, then the errors at each n.

    The errors are those of `mpet` and of two simpler predictions from the t(1) that `mpet` predicts: Amdahl's law with
    the serial fraction from the two times measured here, and ideal scaling. Programs that lack a time are left out.
    """
    heads = " | ".join(f"n = {n}" for n in COUNTS)
    yield f"| program | {heads} |"
    yield "|---" * (1 + len(COUNTS)) + "|"
    errors: dict[str, dict[int, list[float]]] = {"`mpet`": {}, "Amdahl's law": {}, "ideal": {}}
    inside: dict[int, list[bool]] = {}
    for name, outcome in outcomes.items():
        measured, cells = elsewhere.get(slugify(name), {}), []
        if 1 not in outcome.predicted or not {1, 2} <= {*outcome.times}:
            continue
        first_s = outcome.predicted[1][0]
        serial = min(max(2.0 * outcome.times[2] / outcome.times[1] - 1.0, 0.0), 1.0)
        for n, (time_s, low_s, high_s) in sorted(outcome.predicted.items()):
            if n not in measured:
                continue
            is_inside = low_s <= measured[n] <= high_s
            cells.append(f"{time_s:.3g} ({low_s:.2g} to {high_s:.2g}), {measured[n]:.3g}{'' if is_inside else ' *'}")
            inside.setdefault(n, []).append(is_inside)
            by_laws = time_s, first_s * (serial + (1.0 - serial) / n), first_s / n
            for of_method, said_s in zip(errors.values(), by_laws, strict=True):
                of_method.setdefault(n, []).append(abs(said_s / measured[n] - 1.0))
        if cells:
            yield f"| {name} | {' | '.join(cells)} |"
    for method, of_method in errors.items():
        cells = [f"{100 * np.mean(of_n):.0f} / {100 * np.median(of_n):.0f} %" for of_n in of_method.values()]
        yield f"| {method}: mean / median error | {' | '.join(cells)} |"
    yield f"| inside | {' | '.join(f'{sum(of_n)} of {len(of_n)}' for of_n in inside.values())} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the packages of PyPI")
    parser.add_argument("--n", default="1,2", help="thread counts")
    parser.add_argument("--repeats", default="3", help="runs per thread count of mpet sweep")
    parser.add_argument("--only", action="append", help="name of a program (repeatable)")
    parser.add_argument("--by", choices=("try", "sweep"), help="only the programs measured by this command")
    parser.add_argument("--packages", choices=("debian", "pypi"), help="print the names of the packages and exit")
    arguments = parser.parse_args()
    if arguments.packages:
        print(*sorted(p.package.split(":")[1] for p in PROGRAMS if p.package.startswith(arguments.packages)))
        return
    chosen = [
        program
        for program in PROGRAMS
        if (not arguments.only or program.name in arguments.only) and program.how == (arguments.by or program.how)
    ]
    with (
        tempfile.TemporaryDirectory(prefix="mpet-programs-") as name,
        installation("sqlite", demo=False, reference=True) as made,
    ):
        folder = Path(name)
        make_inputs(folder)
        print(f"inputs {checksum(folder):08x}", file=sys.stderr)
        token = made.manage("api_token", "ada").splitlines()[0]
        with served(made) as server:
            campaign = Campaign(server, token, folder, arguments)
            outcomes: dict[str, Outcome] = {}
            print(HEADER, flush=True)
            for program in chosen:
                outcomes[program.name] = campaign.measure(program)
                version = version_of(program.package, arguments.python)
                print(table_row(program, version, outcomes[program.name]), flush=True)
    print("\n", *compared(outcomes, measured_elsewhere()), sep="\n")


if __name__ == "__main__":
    main()
