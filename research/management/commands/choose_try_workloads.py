"""`python -m research choose_try_workloads`: choose twelve of the kit's workloads for `mpet try`."""

import argparse
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from predictor.core.steps import single_thread
from predictor.management.subjects import database_subject
from predictor.management.tables import formatted_number, text_table
from research.try_workloads import TryStudy, compare_sets

COLUMNS = ("mean", "least", "most", "beyond_shipped", "standard_error", "sets")


class Command(BaseCommand):
    help = (
        "Choose the workloads that predict other programs best on one half of the demo's machines, and report their "
        "errors on the other half, compared with those of mpet try and random sets. Errors are in percent."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--size", metavar="N", type=int, default=12, help="number of workloads (default: 12)")
        parser.add_argument("--random", metavar="N", type=int, default=20, help="number of random sets (default: 20)")
        parser.add_argument(
            "--seed", metavar="S", type=int, default=1, help="seed of the halves and random sets (default: 1)"
        )
        parser.add_argument("--json", metavar="OUT", type=Path, help="write sets and errors to this file")

    def handle(self, *, size: int, random: int, seed: int, **options: Any) -> None:
        study = TryStudy(database_subject("simulated", self.stderr).database)
        try:
            with single_thread(), tqdm(desc="predict", unit="profile", leave=False) as bar:
                study.progress = bar.update
                found = compare_sets(study, size, random, seed)
        except ValueError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            options["json"].write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        rows = [
            [half["chosen_on"], name, *(formatted_number(statistics[key], 3) for key in COLUMNS)]
            for half in found["halves"]
            for name, statistics in half["sets"].items()
        ]
        self.stdout.write("\n".join(text_table(["chosen_on", "measured", *COLUMNS], rows, words=2)))
        for half in found["halves"]:
            self.stdout.write(f"chosen on {half['chosen_on']}, in this order: {' '.join(half['chosen'])}")
