"""Command that imports results tarballs."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from benchmarks.archive import ArchiveProblem
from benchmarks.models import Upload
from benchmarks.processing import process
from benchmarks.services import keep_tarball
from profiles.management.options import add_owner_arguments, owner_of


class Command(BaseCommand):
    help = (
        "Import results tarballs (mpet-results/1), each in one transaction. Files that were imported "
        "before are skipped."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="tarball written by the benchmark kit")
        add_owner_arguments(parser)

    def handle(self, *, files: list[Path], private: bool, owner: str | None, **options: Any) -> None:
        user = owner_of(owner, private)
        visibility = Upload.Visibility.PRIVATE if private else Upload.Visibility.PUBLIC
        refused = 0
        for path in tqdm(files, desc="import", unit="file", leave=False):
            refused += not self.import_file(path, user, visibility)
        if refused:
            raise CommandError(f"{refused} of {len(files)} refused")

    def import_file(self, path: Path, owner: Any, visibility: str) -> bool:
        try:
            with path.open("rb") as file:
                upload = process(keep_tarball(file, owner, visibility, path.name))
        except OSError as error:
            self.stdout.write(f"{path}: refused\n  error: {error.strerror}")
            return False
        accepted = upload.status == Upload.Status.ACCEPTED
        count = upload.source.profiles.count() if upload.source else 0
        self.stdout.write(
            f"{path}: {f'{count} profiles, {upload.visibility}' if accepted else upload.get_status_display().lower()}"
        )
        for problem in upload.report.get("errors", []):
            self.stdout.write(f"  error: {ArchiveProblem(problem['member'], problem['line'], problem['reason'])}")
        for warning in upload.report.get("warnings", []):
            self.stdout.write(f"  warning: {warning}")
        return accepted
