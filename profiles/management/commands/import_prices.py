"""Command that imports prices."""

import argparse
import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from profiles.models import Price
from profiles.prices.cloudspecs import read_cloudspecs
from profiles.prices.sparecores import read_sparecores
from profiles.prices.tables import PRICE_COLUMNS, PriceFileError, PriceTableError, import_prices, store_prices

CSV, CLOUDSPECS, SPARECORES = "csv", "cloudspecs", "sparecores"


class Command(BaseCommand):
    help = (
        "Import prices of public platforms. If one row is invalid, nothing is imported. Importing a "
        "file again changes nothing."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        columns = ",".join(PRICE_COLUMNS)
        parser.add_argument(
            "files",
            metavar="FILE",
            nargs="+",
            type=Path,
            help=f"CSV table with the columns {columns}; several files only with --as sparecores",
        )
        parser.add_argument(
            "--as",
            dest="form",
            choices=(CSV, CLOUDSPECS, SPARECORES),
            default=CSV,
            help="format of FILE (default: csv). cloudspecs: the DuckDB file of github.com/TUM-DIS/cloudspecs; "
            "sparecores: responses of the Spare Cores API to /server_prices, one page per FILE, or its "
            "SQLite file",
        )
        parser.add_argument(
            "--date",
            type=datetime.date.fromisoformat,
            help="date of the cloudspecs prices, such as 2026-01-31 (default: modification date of FILE)",
        )

    def handle(self, *, files: list[Path], form: str, date: datetime.date | None, **options: Any) -> None:
        if form != CLOUDSPECS and date is not None:
            raise CommandError("--date needs --as cloudspecs: the other formats have a date for each price")
        if form != SPARECORES and len(files) > 1:
            raise CommandError("several files need --as sparecores")
        named = ", ".join(str(file) for file in files)
        try:
            if form == SPARECORES:
                new, changed = store_prices(self.prices_of_sparecores(files))
            elif form == CLOUDSPECS:
                day = date or datetime.date.fromtimestamp(files[0].stat().st_mtime)
                prices, unknown = read_cloudspecs(files[0], day)
                new, changed = store_prices(tqdm(prices, desc="prices", unit="price", leave=False))
                self.stdout.write(f"prices of {day}, in USD; {unknown} instances match no stored machine")
            else:
                lines = files[0].read_text(encoding="utf-8-sig").splitlines(keepends=True)
                new, changed = import_prices(tqdm(lines, desc="prices", unit="line", leave=False))
        except PriceTableError as error:
            raise CommandError(f"{named} was not imported:\n{error}") from error
        except OSError as error:
            raise CommandError(f"{named} was not imported: {error.strerror or error}") from error
        except (PriceFileError, UnicodeDecodeError) as error:
            raise CommandError(f"{named} was not imported: {error}") from error
        self.stdout.write(f"{new} prices are new, {changed} changed")

    def prices_of_sparecores(self, files: list[Path]) -> Iterable[Price]:
        read = read_sparecores(files)
        for licence in read.licences:
            self.stdout.write(f"licence of {licence}")
        regions = ", ".join(f"{cloud} in {region}" for cloud, region in sorted(read.regions.items()))
        self.stdout.write(f"prices of {regions or 'no cloud'}; {read.unknown} servers match no stored machine")
        return tqdm(read.prices, desc="prices", unit="price", leave=False)
