"""Command that imports a dataset folder or a public dump."""

import argparse
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from profiles.dump.files import DumpError
from profiles.dump.package import PACKAGE_FILE
from profiles.dump.restore import restore_dump
from profiles.ingest.service import IngestError, IngestResult, ingest
from profiles.management.options import add_owner_arguments, owner_of
from profiles.measurements import Measurements
from profiles.measurements.datasets import DatasetError, dataset_sha256, read_dataset
from profiles.models import Source


class Command(BaseCommand):
    help = (
        "Import a dataset folder (mpet-dataset/1) in one transaction, or a public dump (mpet-dump/1) "
        "source by source. A folder that was imported before is skipped."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("directory", metavar="DIR", type=Path, help="folder with dataset.json or datapackage.json")
        add_owner_arguments(parser)

    def handle(self, *, directory: Path, private: bool, owner: str | None, **options: Any) -> None:
        user = owner_of(owner, private)
        start = time.perf_counter()
        if (directory / PACKAGE_FILE).is_file():
            self.restore(directory, is_private=private or user is not None)
            return
        try:
            measurements, result = self.import_folder(directory, user, private)
        except (DatasetError, IngestError) as error:
            raise CommandError(f"{directory} was not imported: {error}") from error
        self.report(measurements, result, time.perf_counter() - start)

    def restore(self, directory: Path, *, is_private: bool) -> None:
        if is_private:
            raise CommandError("a dump is public and has no owner: omit --private and --owner")
        try:
            with tqdm(desc="restore", unit="profile", leave=False) as bar:
                restored = restore_dump(directory, bar.update)
        except DumpError as error:
            raise CommandError(f"{directory} was imported only in part: {error}") from error
        others = "".join(f", {many} {name}" for name, many in restored.further.items())
        self.stdout.write(
            f"revision {restored.revision}: {restored.sources} sources with {restored.profiles} profiles{others}; "
            f"{restored.existing} sources existed already"
        )

    def import_folder(self, directory: Path, owner: Any, private: bool) -> tuple[Measurements, IngestResult]:
        with tqdm(total=4, desc="read", unit="file", leave=False) as bar:

            def reading(member: str) -> None:
                bar.set_postfix_str(member)
                bar.update()

            measurements = read_dataset(directory, reading)
        with tqdm(total=len(measurements.profiles), desc="store", unit="profile", leave=False) as bar:
            result = ingest(
                measurements,
                kind=Source.Kind.DATASET,
                label=directory.resolve().name,
                sha256=dataset_sha256(directory),
                owner=owner,
                private=private,
                progress=bar.update,
            )
        return measurements, result

    def report(self, measurements: Measurements, result: IngestResult, seconds: float) -> None:
        for warning in result.warnings:
            self.stderr.write(f"warning: {warning}")
        if not result.existing:
            runs = sum(len(profile.runs) for profile in measurements.profiles)
            readings = sum(len(profile.counters) for profile in measurements.profiles if profile.counters)
            self.stdout.write(
                f"{result.source.label}: {len(measurements.platforms)} platforms, {len(measurements.workloads)} "
                f"workloads, {len(result.profiles)} profiles, {runs} runs, {readings} counter readings "
                f"in {seconds:.1f} s"
            )
        self.stdout.write(f"licence: {measurements.licence}")
        self.stdout.write(f"source: {measurements.source}")
