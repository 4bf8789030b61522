"""Command that writes the public dump."""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from profiles.dump.export import ExportError, export_dump
from profiles.dump.files import DUMP_FORMS, DumpRow


class Command(BaseCommand):
    help = "Export all public data as one file per table with datapackage.json. import_dataset imports it."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "directory", metavar="DIR", type=Path, help="output folder, which must be empty or not exist yet"
        )
        parser.add_argument(
            "--format", choices=DUMP_FORMS, default="parquet", help="format of the files (default: parquet)"
        )

    def handle(self, *, directory: Path, format: str, **options: Any) -> None:
        start = time.perf_counter()

        def progress(name: str, rows: Iterator[DumpRow]) -> Iterator[DumpRow]:
            return iter(tqdm(rows, desc=name, unit="row", leave=False))

        try:
            exported = export_dump({format: directory}, progress)
        except (ExportError, OSError) as error:
            raise CommandError(f"nothing was exported: {error}") from error
        counts = ", ".join(f"{many} {name}" for name, many in exported.rows.items())
        self.stdout.write(f"revision {exported.revision}: {counts} in {time.perf_counter() - start:.1f} s")
