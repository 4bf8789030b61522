"""`python -m research accuracy_tables`: write the pages of docs/accuracy/ from stored results."""

import argparse
import csv
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from predictor.accuracy.published import ERRORS_DRAW
from research.accuracy.pages import accuracy_documents
from research.accuracy.studies import (
    SHARED_DATA,
    WHOLE_REPOSITORY,
    Study,
    errors_percent,
    published_studies,
    read_stored_results,
    result_document,
    write_result,
)


class Command(BaseCommand):
    help = (
        "Write the tables of docs/accuracy/ from the stored results of evaluations (research/accuracy/results/*.json), "
        "or run these evaluations again. No database is used."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing; fail if a page would change")
        parser.add_argument(
            "--run",
            metavar="STUDY",
            nargs="*",
            help="first run these studies again, such as gbm.pair (default: all, about an hour)",
        )
        parser.add_argument("--list", action="store_true", help="list the studies and their commands")
        parser.add_argument(
            "--data",
            metavar="DIR",
            type=Path,
            default=settings.BASE_DIR / SHARED_DATA,
            help=f"folder with the datasets (default: {SHARED_DATA})",
        )
        parser.add_argument(
            "--repository",
            metavar="DIR",
            type=Path,
            help="state folder of a database that contains the whole repository (`fetch_data sparecores`); "
            f"without it, the study of the {WHOLE_REPOSITORY} is skipped",
        )
        parser.add_argument("--jobs", metavar="N", type=int, default=1, help="processes per evaluation (default: 1)")

    def handle(self, **options: Any) -> None:
        if options["list"]:
            for study in published_studies():
                self.stdout.write(f"{study.name}: {study.command} {' '.join(study.arguments())}")
            return
        if options["run"] is not None:
            for study in chosen_studies(options["run"]):
                if study.dataset == WHOLE_REPOSITORY and not options["repository"]:
                    self.stdout.write(f"{study.name}: skipped, because --repository is not given")
                    continue
                seconds = measure_study(study, options["data"], options["jobs"], options["repository"])
                self.stdout.write(f"{study.name}: {seconds:.0f} s")
        self.write(check=options["check"])

    def write(self, *, check: bool) -> None:
        pages = accuracy_documents(read_stored_results())
        stale = [page for page, text in pages.items() if not page.is_file() or page.read_text("utf-8") != text]
        if check and stale:
            names = ", ".join(str(page.relative_to(settings.BASE_DIR)) for page in stale)
            raise CommandError(f"outdated, run `python -m research accuracy_tables`: {names}")
        for page in stale:
            page.write_text(pages[page], encoding="utf-8")
        self.stdout.write(f"{len(pages)} pages, {len(stale)} written")


def chosen_studies(names: list[str]) -> list[Study]:
    by_name = {study.name: study for study in published_studies()}
    if unknown := [name for name in names if name not in by_name]:
        raise CommandError(f"unknown study {', '.join(unknown)}; see --list")
    return [by_name[name] for name in names] if names else list(by_name.values())


def measure_study(study: Study, data: Path, jobs: int, repository: Path | None = None) -> float:
    """Run an evaluation, store its result and return its duration in seconds.

    A study of a database uses a temporary one. Only the database of the `repository` exists already.
    """
    with tempfile.TemporaryDirectory() as folder:
        state = str(repository) if study.dataset == WHOLE_REPOSITORY else folder
        if study.preparation and study.dataset != WHOLE_REPOSITORY:
            run_command(["migrate", "--verbosity", "0"], state)
            run_command([path for argument in study.preparation for path in expand_pattern(argument)], state)
        report, table, started = Path(folder) / "report.json", Path(folder) / "errors.csv", time.perf_counter()
        files = ["--json", str(report), "--csv", str(table)]
        run_command([study.command, *study.arguments(str(data)), "--jobs", str(jobs), *files], state)
        seconds = time.perf_counter() - started
        result = json.loads(report.read_text(encoding="utf-8"))
        if study.draw == ERRORS_DRAW:
            with table.open(newline="", encoding="utf-8") as file:
                result["errors_percent"] = errors_percent(csv.DictReader(file))
    write_result(study, result_document(study, result, seconds, datetime.datetime.now(tz=datetime.UTC).date()))
    return seconds


def run_command(arguments: list[str], state: str) -> None:
    """Run a command of this project with the database of the folder `state`."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    done = subprocess.run(  # noqa: S603 (our own arguments)
        [sys.executable, "-m", "research", *arguments],
        cwd=settings.BASE_DIR,
        env=environment | {"MPET_STATE_DIR": state},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise CommandError(f"failed with status {done.returncode}: python -m research {' '.join(arguments)}")


def expand_pattern(argument: str) -> list[str]:
    return sorted(map(str, settings.BASE_DIR.glob(argument))) if "*" in argument else [argument]
