"""Options that several commands have: `--jobs` and `--scheduler` for the executor, `--private` and `--owner` for
imports."""

import argparse
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from profiles.jobs.executors import Executor, Processes, ProcessesWherePaying


def add_executor_options(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs",
        metavar="N",
        type=number_of_jobs,
        help="number of processes on this host; -1 = one per core (default: one, and one per core as soon "
        "as that is faster)",
    )
    where.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of the Dask cluster to compute on, such as tcp://host:8786"
    )


def number_of_jobs(text: str) -> int:
    if text != "-1" and (not text.isascii() or not text.isdigit() or int(text) == 0):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of processes nor -1")
    return int(text)


def chosen_executor(options: dict[str, Any]) -> Executor:
    """Return the executor of the command, which the caller has to close. Raises CommandError for an unusable
    cluster."""
    address, jobs = options["scheduler"], options["jobs"]
    if address is None:
        if jobs is None:
            return ProcessesWherePaying(local_processes)
        return Executor() if jobs == 1 else local_processes(jobs)
    try:
        from profiles.jobs.clusters import ClusterUnusable, remote_cluster  # noqa: PLC0415  Dask is optional
    except ModuleNotFoundError as error:
        raise CommandError("--scheduler needs Dask: pip install -r requirements-dask.txt") from error
    try:
        return remote_cluster(address)
    except ClusterUnusable as error:
        raise CommandError(f"--scheduler: {error}") from error


def local_processes(count: int) -> Executor:
    """Return an executor with this number of processes on this host.

    If Dask is installed, it is a Dask cluster, which survives the death of a worker. Otherwise it uses joblib's
    processes.
    """
    processes = Processes(count)
    try:
        from profiles.jobs.clusters import local_cluster  # noqa: PLC0415  Dask is optional and slow to import
    except ModuleNotFoundError:
        return processes
    return local_cluster(processes.count)


def add_owner_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--private", action="store_true", help="make the data readable, and usable for predictions, by its owner only"
    )
    parser.add_argument("--owner", metavar="USERNAME", help="user who owns the measurements")


def owner_of(username: str | None, private: bool) -> Any:
    """Return the user with this name, or None without a name.

    Raises CommandError if there is no such user, or if private data has no owner.
    """
    if username is None:
        if private:
            raise CommandError("--private needs an owner: give --owner USERNAME")
        return None
    user = get_user_model().objects.filter(username=username).first()
    if user is None:
        raise CommandError(f"there is no user {username!r}")
    return user
