"""What commands evaluate: a dataset folder in memory, or what is stored."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from predictor.accuracy.evaluations import NothingStored, Subject, read_stored_subject
from predictor.core.tabulated import database_from_measurements
from profiles.datasets import DatasetError, read_dataset
from profiles.measurements import Measurements


def read_folder(folder: Path, stderr: Any) -> Measurements:
    """The measurements of a dataset folder; its warnings go to `stderr`."""
    try:
        measurements = read_dataset(folder)
    except DatasetError as error:
        raise CommandError(f"{folder}: {error}") from error
    for warning in measurements.warnings:
        stderr.write(f"warning: {warning}")
    return measurements


def dataset_subject(folder: Path, stderr: Any) -> Subject:
    """A dataset folder as a database of its own, in memory."""
    measurements = read_folder(folder, stderr)

    def progress(profiles: Any) -> Any:
        return tqdm(profiles, desc="fit", unit="profile", leave=False)

    database = database_from_measurements(measurements, progress)
    return Subject(database, measurements.origin, measurements=measurements)


def database_subject(origin: str | None, stderr: Any) -> Subject:
    """The stored profiles of that origin; without an origin the measured ones, or the simulated ones where those are
    too few: never both."""
    try:
        subject = read_stored_subject(origin)
    except NothingStored as error:
        raise CommandError(str(error)) from error
    if subject.origin == "simulated":
        reason = "as asked" if origin else "no workload was measured on two platforms"
        stderr.write(f"{reason}: these are the simulated profiles")
    return subject
