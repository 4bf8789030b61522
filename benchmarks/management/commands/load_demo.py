"""Command that stores the measurements of the demo's simulated machines."""

import argparse
import hashlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet
from django.utils.text import slugify
from tqdm import tqdm

from benchmarks.archive import read_archive
from benchmarks.simulator import HARDWARE, simulate_tarball
from benchmarks.simulator.hardware import Hardware
from benchmarks.simulator.simulation import GENERATOR
from profiles.ingest.service import ingest
from profiles.ingest.withdrawal import withdraw
from profiles.jobs.executors import Processes
from profiles.models import Profile, Source

DEFAULT_SEED = 1
STORED_TARBALLS = Path(__file__).parents[2] / "simulator" / "demo"  # of DEFAULT_SEED


class Command(BaseCommand):
    help = "Simulate the demo: 15 machines with 26 workloads each. If the demo exists, nothing is done."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--seed", metavar="S", type=seed_number, default=DEFAULT_SEED, help="random seed of the noise (default: 1)"
        )
        parser.add_argument(
            "--output", metavar="DIR", type=Path, help="write the tarballs to this folder; no database is used"
        )
        parser.add_argument("--force", action="store_true", help="remove an existing demo and create it again")
        parser.add_argument(
            "--jobs", metavar="N", type=int, default=-1, help="number of processes; -1 = one per core (default: -1)"
        )

    def handle(self, *, seed: int, output: Path | None, force: bool, jobs: int, **options: Any) -> None:
        if output is not None:
            self.write(output, seed, jobs)
            return
        if force:
            withdraw(demo_sources())
        missing = self.missing(seed)
        for hardware, packed in demo_tarballs(missing, seed, jobs):
            ingest(
                read_archive(io.BytesIO(packed)),
                kind=Source.Kind.SIMULATOR,
                label=demo_label(hardware, seed),
                sha256=hashlib.sha256(packed).hexdigest(),
                owner=None,
                private=False,
            )
        profiles = Profile.objects.filter(source__in=demo_sources()).count()
        state = "loaded" if missing else "already loaded"
        self.stdout.write(f"demo {state}: {profiles} simulated profiles on {len(HARDWARE)} machines, seed {seed}")

    def write(self, folder: Path, seed: int, jobs: int) -> None:
        if not folder.is_dir():
            raise CommandError(f"{folder}: no such folder")
        for hardware, packed in simulate_tarballs(HARDWARE, seed, jobs):
            (folder / tarball_name(hardware)).write_bytes(packed)
        self.stdout.write(f"{len(HARDWARE)} tarballs in {folder}, seed {seed}")

    def missing(self, seed: int) -> list[Hardware]:
        """Return the machines that are not stored yet. Raises CommandError if another demo is stored, because both
        would contain the same machines."""
        stored = set(demo_sources().values_list("label", "generator"))
        wanted = {(demo_label(hardware, seed), GENERATOR) for hardware in HARDWARE}
        if stored - wanted:
            raise CommandError("a demo of another seed or version is stored; --force replaces it")
        return [hardware for hardware in HARDWARE if (demo_label(hardware, seed), GENERATOR) not in stored]


def seed_number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 0")
    return int(text)


def demo_label(hardware: Hardware, seed: int) -> str:
    return f"{hardware.record().name}, seed {seed}"


def demo_sources() -> QuerySet[Source]:
    return Source.objects.filter(kind=Source.Kind.SIMULATOR, owner=None)


def tarball_name(hardware: Hardware) -> str:
    return f"mpet-simulated-{slugify(hardware.name)}.tar.gz"


def demo_tarballs(machines: Sequence[Hardware], seed: int, jobs: int) -> Iterator[tuple[Hardware, bytes]]:
    """Yield each machine with its tarball: the stored one if the seed is the default and all are there, else a
    simulated one."""
    stored = [STORED_TARBALLS / tarball_name(hardware) for hardware in machines]
    if seed == DEFAULT_SEED and all(path.exists() for path in stored):
        for hardware, path in zip(machines, tqdm(stored, desc="load", unit="machine"), strict=True):
            yield hardware, path.read_bytes()
    else:
        yield from simulate_tarballs(machines, seed, jobs)


def simulate_tarballs(machines: Sequence[Hardware], seed: int, jobs: int) -> Iterator[tuple[Hardware, bytes]]:
    """Yield each machine with its tarball, in the given order, as soon as it is simulated. HARDWARE lists the costly
    machines first."""
    if not machines:
        return
    processes = Processes(min(Processes(jobs).count, len(machines)))
    packed = processes.map(simulate_tarball, seed, machines)
    with tqdm(zip(machines, packed, strict=True), desc="simulate", unit="machine", total=len(machines)) as bar:
        yield from bar
