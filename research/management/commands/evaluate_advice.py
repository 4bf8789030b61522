"""`python -m research evaluate_advice`: measure how often the advised thread count is right."""

import argparse
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from predictor.core.evaluate import Protocol
from predictor.management.subjects import database_subject, dataset_subject
from research.advice import advice_statistics, advised_pairs


class Command(BaseCommand):
    help = "Hide measured curves, advise a thread count for each, and compare it with the measured times. In percent."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--dataset", metavar="DIR", type=Path, help="a dataset folder, in memory (default: database)"
        )
        parser.add_argument("--sample", metavar="N", type=int, help="only N random profiles")
        parser.add_argument("--seed", metavar="S", type=int, default=0, help="seed of the sample (default: 0)")
        parser.add_argument(
            "--references", metavar="R", type=int, help="the workload is known on R random machines only"
        )
        parser.add_argument("--json", metavar="OUT", type=Path, help="write the statistics to this file")

    def handle(self, **options: Any) -> None:
        dataset = options["dataset"]
        subject = dataset_subject(dataset, self.stderr) if dataset else database_subject(None, self.stderr)
        protocol = Protocol(sample=options["sample"], seed=options["seed"], references=options["references"])
        pairs = list(tqdm(advised_pairs(subject.database, protocol), desc="advise", unit="pair"))
        if not pairs:
            raise CommandError("no profile with at least three thread counts could be advised")
        statistics = advice_statistics(pairs)
        for name, value in statistics.items():
            if name != "chances":
                self.stdout.write(f"{name.replace('_', ' '):<26}{value:8.1f}")
        for said, right, count in statistics["chances"]:  # type: ignore[attr-defined]
            self.stdout.write(f"predicted {said:5.1f}   correct {right:5.1f}   of {count}")
        if options["json"]:
            options["json"].write_text(json.dumps(statistics, indent=2) + "\n")
