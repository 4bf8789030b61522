"""Subjects of evaluation commands (a dataset folder in memory or stored profiles), and the base class of commands that
write one table, computed on this host or on a cluster, into one file."""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from predictor.accuracy.evaluations import NothingStored, Subject, read_stored_subject
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.core.database import Database
from predictor.core.tabulated import database_from_measurements
from profiles.dump.files import DUMP_FORMS, DumpRow, member_name, write_table
from profiles.dump.tables import DumpTable
from profiles.jobs.executors import Executor
from profiles.management.options import add_executor_options, chosen_executor
from profiles.measurements import Measurements
from profiles.measurements.datasets import DatasetError, read_dataset


def read_folder(folder: Path, stderr: Any) -> Measurements:
    """Return the measurements of a dataset folder. Write its warnings to `stderr`."""
    try:
        measurements = read_dataset(folder)
    except DatasetError as error:
        raise CommandError(f"{folder}: {error}") from error
    for warning in measurements.warnings:
        stderr.write(f"warning: {warning}")
    return measurements


def dataset_subject(folder: Path, stderr: Any) -> Subject:
    """Return a dataset folder as a separate database in memory."""
    measurements = read_folder(folder, stderr)

    def progress(profiles: Any) -> Any:
        return tqdm(profiles, desc="fit", unit="profile", leave=False)

    database = database_from_measurements(measurements, progress)
    return Subject(database, measurements.origin, measurements=measurements)


def database_subject(origin: str | None, stderr: Any) -> Subject:
    """Return the stored profiles of the given origin.

    Without an origin, return the measured profiles, or the simulated ones if no workload was measured on two platforms.
    Origins are never mixed.
    """
    try:
        subject = read_stored_subject(origin)
    except NothingStored as error:
        raise CommandError(str(error)) from error
    if subject.origin == "simulated":
        reason = "" if origin else ": no workload was measured on two platforms"
        stderr.write(f"using simulated profiles{reason}")
    return subject


class WholeTableCommand(BaseCommand):
    """A command that writes `table`. Subclasses implement `parts_of_rows`, and each part is written as soon as it is
    ready."""

    table: DumpTable

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("directory", metavar="DIR", type=Path, help="existing folder in which the file is written")
        data = parser.add_mutually_exclusive_group()
        data.add_argument(
            "--dataset",
            metavar="FOLDER",
            type=Path,
            help="dataset folder to read into memory instead of using the database",
        )
        data.add_argument(
            "--origin", choices=PREDICTION_ORIGINS, help="origin of the stored profiles; default as in evaluate"
        )
        parser.add_argument(
            "--format", choices=DUMP_FORMS, default="parquet", help="format of the file (default: parquet)"
        )
        add_executor_options(parser)

    def handle(self, **options: Any) -> None:
        start, folder, dataset = time.perf_counter(), options["directory"], options["dataset"]
        if not folder.is_dir():
            raise CommandError(f"{folder}: no such folder")
        subject = dataset_subject(dataset, self.stderr) if dataset else database_subject(options["origin"], self.stderr)
        name = member_name(self.table, options["format"])
        with chosen_executor(options) as executor, tempfile.TemporaryDirectory(dir=folder) as part:
            try:
                total, parts = self.parts_of_rows(subject.database, executor, options)
                rows = (row for rows in tqdm(parts, total=total, desc=self.table.name, leave=False) for row in rows)
                count = write_table({options["format"]: Path(part)}, self.table, rows)
            except ValueError as error:
                raise CommandError(str(error)) from error
            (Path(part) / name).replace(folder / name)
        self.stdout.write(f"{count} rows in {folder / name}, {time.perf_counter() - start:.1f} s")

    def parts_of_rows(
        self, database: Database, executor: Executor, options: dict[str, Any]
    ) -> tuple[int, Iterator[Iterator[DumpRow]]]:
        """Return the number of parts and an iterator over the rows of each. Raise ValueError for invalid options."""
        raise NotImplementedError
