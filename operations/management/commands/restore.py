"""The command that replaces the data of this installation by a backup."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from operations.backups.archive import BackupError
from operations.backups.service import restore_backup


class Command(BaseCommand):
    help = "Replace this installation's database, uploaded files and secret key with those of a backup."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="file written by `backup`")
        parser.add_argument(
            "--replace", action="store_true", help="restore even if this installation contains data, which is lost"
        )

    def handle(self, *, file: Path, replace: bool, **options: Any) -> None:
        try:
            with tqdm(desc="check", unit="B", unit_scale=True, total=file.stat().st_size, leave=False) as bar:
                manifest = restore_backup(file, replace=replace, on_read=bar.update)
        except BackupError as error:
            raise CommandError(f"{file} was not restored, and nothing was changed: {error}") from error
        except OSError as error:
            raise CommandError(f"{file} was not restored: {error}") from error
        self.stdout.write(f"{file}: restored, as of {manifest.created}. Restart servers and workers now.")
