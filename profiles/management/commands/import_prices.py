"""The command that imports prices."""

import argparse
import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from profiles.cloudspecs import CloudspecsError, read_cloudspecs
from profiles.prices import PRICE_COLUMNS, PriceTableError, import_prices, store_prices

CSV, CLOUDSPECS = "csv", "cloudspecs"


class Command(BaseCommand):
    help = "Import prices of public platforms, all or nothing. The same file twice changes nothing."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        columns = ",".join(PRICE_COLUMNS)
        parser.add_argument("file", metavar="FILE", type=Path, help=f"a CSV table with the columns {columns}")
        parser.add_argument(
            "--as",
            dest="form",
            choices=(CSV, CLOUDSPECS),
            default=CSV,
            help="cloudspecs: FILE is the DuckDB file of github.com/TUM-DIS/cloudspecs",
        )
        parser.add_argument(
            "--date",
            type=datetime.date.fromisoformat,
            help="of which the prices of cloudspecs are, as 2026-01-31; default: the day on which FILE was written",
        )

    def handle(self, *, file: Path, form: str, date: datetime.date | None, **options: Any) -> None:
        if form == CSV and date is not None:
            raise CommandError("--date is for --as cloudspecs: a CSV table has a date in each line")
        try:
            if form == CLOUDSPECS:
                day = date or datetime.date.fromtimestamp(file.stat().st_mtime)
                prices, unknown = read_cloudspecs(file, day)
                new, changed = store_prices(tqdm(prices, desc="prices", unit="price", leave=False))
                self.stdout.write(f"prices of {day}, in USD; {unknown} instances are no machine that is stored")
            else:
                lines = file.read_text(encoding="utf-8-sig").splitlines(keepends=True)
                new, changed = import_prices(tqdm(lines, desc="prices", unit="line", leave=False))
        except PriceTableError as error:
            raise CommandError(f"{file} was not imported:\n{error}") from error
        except (CloudspecsError, OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} was not imported: {error}") from error
        self.stdout.write(f"{new} prices are new, {changed} say something else now")
