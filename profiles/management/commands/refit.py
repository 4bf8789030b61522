"""Command that recomputes curves and features."""

import argparse
import time
from typing import Any

from django.core.management.base import BaseCommand
from tqdm import tqdm

from profiles.ingest.derivation import refit
from profiles.management.options import add_executor_options, chosen_executor


class Command(BaseCommand):
    help = "Recompute curves, features and fits of all profiles from their runs after a change of the method."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--stale", action="store_true", help="recompute only profiles derived by another version of the method"
        )
        add_executor_options(parser)

    def handle(self, *, stale: bool, **options: Any) -> None:
        start = time.perf_counter()
        with chosen_executor(options) as executor, tqdm(desc="refit", unit="profile", leave=False) as bar:
            count = refit(only_stale=stale, progress=bar.update, executor=executor, begun=bar.reset)
        self.stdout.write(f"{count} profiles in {time.perf_counter() - start:.1f} s")
