"""`python -m research evaluate_what_if`: compare hypothetical machines with larger ones that exist."""

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from predictor.core.methods import METHODS
from predictor.core.steps import single_thread
from predictor.management.subjects import database_subject, dataset_subject
from predictor.management.tables import text_table
from predictor.predictions.question import DEFAULT_METHOD
from research.what_if import evaluate_what_if

FACTORS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, np.inf)  # bounds of the rows: n divided by the threads of the machine


class Command(BaseCommand):
    help = "Measure the error for a machine with more threads, by a larger machine of the same CPU model. In percent."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--dataset", metavar="DIR", type=Path, help="a dataset folder, in memory (default: database)"
        )
        parser.add_argument("--method", choices=sorted(METHODS), default=DEFAULT_METHOD)
        parser.add_argument(
            "--sample", type=int, default=200, help="number of pairs of machines (default: %(default)s)"
        )
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--alone", action="store_true", help="hide all other machines of the CPU model")

    def handle(self, **options: Any) -> None:
        dataset = options["dataset"]
        subject = dataset_subject(dataset, self.stderr) if dataset else database_subject(None, self.stderr)
        method, sample = METHODS[options["method"]], options["sample"]
        with single_thread():
            pairs = evaluate_what_if(
                subject.database, method, sample=sample, seed=options["seed"], alone=options["alone"]
            )
            results = list(tqdm(pairs, desc="predict", unit="pair", total=sample, leave=False))
        if not results:
            raise CommandError("no machine has a larger one of the same CPU model with measurements at more threads")
        factor, measured_s, time_s, inside = (
            np.concatenate([getattr(result, name) for result in results])
            for name in ("factor", "measured_s", "time_s", "is_inside")
        )
        errors, rows = 100 * np.abs(time_s / measured_s - 1), []
        for low, high in pairwise(FACTORS):
            some = (low < factor) & (factor <= high)
            if some.any():
                title = f"over {low:g}" if high == np.inf else f"{low:g} to {high:g}"
                numbers = errors[some].mean(), np.median(errors[some]), 100 * inside[some].mean()
                rows.append([title, str(some.sum()), *(f"{number:.1f}" for number in numbers)])
        refused = sum(not len(result.time_s) for result in results)
        header = ["n / threads", "times", "mean", "median", "inside"]
        self.stdout.write("\n".join(text_table(header, rows, words=1)))
        self.stdout.write(f"{len(results)} pairs of machines, {refused} refused")
