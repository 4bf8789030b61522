"""`python -m research evaluate_parallelisation`: measure the errors of curves predicted from t(1) and a strategy."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from mpet_site.web.plain_json import nan_to_null
from predictor.core.methods import METHODS
from predictor.core.scenarios import ScenarioFacts
from predictor.core.steps import single_thread
from predictor.management.subjects import database_subject
from predictor.management.tables import formatted_number, text_table
from predictor.predictions.question import DEFAULT_METHOD
from predictor.snapshot.building import read_measures_at_one
from research.parallelisation import ParallelisationErrors, evaluate_parallelisation

PARALLELISATION_STATISTICS = ("mean", "median", "p80", "count", "refused", "coverage")


class Command(BaseCommand):
    help = "Measure the error of t(n) predicted from a workload's t(1) and strategy only. In percent, for n > 1."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--origin", choices=["measured", "simulated"], help="origin of the profiles (default: measured)"
        )
        parser.add_argument(
            "--siblings", action="store_true", help="use sections of the same application as benchmarks"
        )
        parser.add_argument("--json", metavar="OUT", type=Path, help="write the statistics to this file")

    def handle(self, **options: Any) -> None:
        subject = database_subject(options["origin"], self.stderr)
        snapshot = subject.snapshot
        if snapshot is None:
            raise CommandError("no profile is stored")
        methods = [METHODS[DEFAULT_METHOD], METHODS["mpet2020"]]
        facts = ScenarioFacts(counted=lambda: read_measures_at_one(snapshot))
        with single_thread():
            predictions = evaluate_parallelisation(subject.database, methods, facts, siblings=options["siblings"])
            results = list(tqdm(predictions, desc="predict", unit="profile", leave=False))
        if not results:
            raise CommandError("no parallel profile has a known strategy")
        by_method = parallelisation_statistics(results)
        report = {"origin": subject.origin, "profiles": len(results), "methods": by_method}
        if options["json"]:
            options["json"].write_text(json.dumps(nan_to_null(report), indent=1, allow_nan=False))
        rows = [
            [name, *(formatted_number(values[key]) for key in PARALLELISATION_STATISTICS)]
            for name, values in by_method.items()
        ]
        self.stdout.write("\n".join(text_table(["method", *PARALLELISATION_STATISTICS], rows, words=1)))


def parallelisation_statistics(results: Sequence[ParallelisationErrors]) -> dict[str, dict[str, float | None]]:
    """Return the statistics by method or law. Errors are over the profiles that no method or law refused.

    Coverage is in percent of the measured times.
    """
    common = [result for result in results if None not in result.errors.values()]
    by_method: dict[str, dict[str, float | None]] = {}
    for name in results[0].errors:
        errors = 100 * np.array([result.errors[name] for result in common], dtype=float)
        inside = (
            np.array([result.inside[name] for result in common if name in result.inside]).reshape(-1, 2).sum(axis=0)
        )
        some = len(errors) > 0
        by_method[name] = {
            "mean": float(errors.mean()) if some else None,
            "median": float(np.median(errors)) if some else None,
            "p80": float(np.percentile(errors, 80)) if some else None,
            "count": len(errors),
            "refused": sum(result.errors[name] is None for result in results),
            "coverage": 100 * float(inside[0] / inside[1]) if inside[1] else None,
        }
    return by_method
