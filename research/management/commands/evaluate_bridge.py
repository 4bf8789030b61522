"""`python -m research evaluate_bridge`: compare sets of shared workloads by the errors of predictions that use them."""

import argparse
import datetime
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mpet_site.web.plain_json import nan_to_null
from predictor.core.methods import METHODS
from predictor.management.subjects import database_subject, dataset_subject
from predictor.management.tables import formatted_number, text_table
from research.accuracy.studies import round_numbers
from research.bridge import REPORTED, Fleet, measure_bridges, measure_programs
from research.two_steps import measure_programs_in_two_steps, measure_two_steps


class Command(BaseCommand):
    help = (
        "Hide whole suites of a fleet, predict them from one machine (R = 1) through a few shared workloads, and "
        "compare sets of shared workloads. Shows how accurately a user's program can be predicted. In percent."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--dataset", metavar="DIR", type=Path, help="a dataset folder, in memory (default: database)"
        )
        parser.add_argument(
            "--sample",
            metavar="N",
            type=int,
            default=300,
            help="number of hidden pairs per suite, or of programs (default: 300)",
        )
        parser.add_argument(
            "--programs",
            action="store_true",
            help="instead of suites, hide all other programs, on the machines that also ran suites",
        )
        parser.add_argument(
            "--two-steps",
            action="store_true",
            help="predict from a machine that shares no workload with the targets",
        )
        parser.add_argument(
            "--references",
            metavar="R",
            type=int,
            default=1,
            help="with --programs, the number of machines on which a program is known (default: 1)",
        )
        parser.add_argument("--json", metavar="OUT", type=Path, help="write sets and statistics to this file")

    def handle(self, **options: Any) -> None:
        dataset = options["dataset"]
        subject = dataset_subject(dataset, self.stderr) if dataset else database_subject(None, self.stderr)
        try:
            if options["programs"] and options["two_steps"]:
                found = measure_programs_in_two_steps(subject.database)
            elif options["programs"]:
                found = measure_programs(subject.database, options["sample"], options["references"])
            elif options["two_steps"]:
                found = measure_two_steps(Fleet.of(subject.database), options["sample"])
            else:
                found = measure_bridges(Fleet.of(subject.database), options["sample"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            source = f"--dataset ../shared/data/{dataset.name}" if dataset else "(the database)"
            kinds = [f"--{name} " for name in ("programs", "two-steps") if options[name.replace("-", "_")]]
            kinds += [f"--references {options['references']} "] if options["references"] > 1 else []
            asked = f"{''.join(kinds)}--sample {options['sample']}"
            stored = {
                "command": f"python -m research evaluate_bridge {source} {asked}",
                "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
                "methods": {name: METHODS[name].version for name in REPORTED},
                **round_numbers(nan_to_null(found)),
            }
            options["json"].write_text(json.dumps(stored, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        rows = [
            [name.replace(" ", "_"), suite, method]
            + [formatted_number(of_method["full"][key], 3) for key in ("mean", "median", "refused")]
            + [formatted_number(of_method[key] and 100 * of_method[key], 3) for key in ("coverage", "interval_width")]
            for name, of_set in found["sets"].items()
            for suite, methods in of_set["hidden"].items()
            for method, of_method in methods.items()
        ]
        head = ["bridge", "hidden", "method", "mean", "median", "refused", "coverage", "width"]
        self.stdout.write("\n".join(text_table(head, rows, words=3)))
        for name, of_set in found["sets"].items():
            if name.startswith("best"):
                self.stdout.write(f"{name}: {' '.join(of_set['workloads'])}")
        hidden = ", ".join(dict.fromkeys(suite for of_set in found["sets"].values() for suite in of_set["hidden"]))
        self.stdout.write(f"{found['machines']} machines; hidden: {hidden}; {found['pairs']} pairs of each")
