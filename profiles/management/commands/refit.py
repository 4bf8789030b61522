"""The command that derives curves and features anew."""

import argparse
import time
from typing import Any

from django.core.management.base import BaseCommand
from tqdm import tqdm

from profiles.derivation import profiles_to_refit, refit


class Command(BaseCommand):
    help = "Rebuild curves, features and fits of all profiles from their runs, after a change of the method."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--stale", action="store_true", help="only those made by another version of the method")

    def handle(self, *, stale: bool, **options: Any) -> None:
        start = time.perf_counter()
        with tqdm(total=profiles_to_refit(only_stale=stale).count(), desc="refit", unit="profile", leave=False) as bar:
            count = refit(only_stale=stale, progress=bar.update)
        self.stdout.write(f"{count} profiles in {time.perf_counter() - start:.1f} s")
