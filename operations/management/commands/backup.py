"""The command that writes a backup of this installation to one file."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from operations.backups.archive import BackupError
from operations.backups.service import create_backup


class Command(BaseCommand):
    help = "Back up the database, the uploaded files and the secret key to one file. The server may keep running."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", type=Path, help="path of the backup; an existing file is overwritten"
        )

    def handle(self, *, file: Path, **options: Any) -> None:
        try:
            with tqdm(desc="backup", unit="file", leave=False) as bar:
                manifest = create_backup(file, lambda _: bar.update())
        except (BackupError, OSError) as error:
            raise CommandError(f"no backup was made: {error}") from error
        self.stdout.write(f"{file}: {file.stat().st_size} bytes")
        for name in manifest.missing:
            self.stderr.write(f"warning: {name} is not in the backup, because this installation has none")
