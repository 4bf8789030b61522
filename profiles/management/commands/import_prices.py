"""The command that imports prices."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from profiles.prices import PRICE_COLUMNS, PriceTableError, import_prices


class Command(BaseCommand):
    help = "Import prices of public platforms from a CSV table, all or nothing. The same table twice changes nothing."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE.csv", type=Path, help=f"with the columns {','.join(PRICE_COLUMNS)}")

    def handle(self, *, file: Path, **options: Any) -> None:
        try:
            lines = file.read_text(encoding="utf-8-sig").splitlines(keepends=True)
            new, changed = import_prices(tqdm(lines, desc="prices", unit="line", leave=False))
        except PriceTableError as error:
            raise CommandError(f"{file} was not imported:\n{error}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} was not imported: {error}") from error
        self.stdout.write(f"{new} prices are new, {changed} say something else now")
