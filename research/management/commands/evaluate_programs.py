"""`python -m research evaluate_programs`: measure how often the intervals of whole programs are right, by rule."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from mpet_site.web.plain_json import nan_to_null
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.core.database import Database
from predictor.core.methods import METHODS
from predictor.core.steps import single_thread
from predictor.management.subjects import database_subject, dataset_subject
from predictor.management.tables import formatted_number, text_table
from predictor.predictions.question import DEFAULT_METHOD
from research.programs import (
    ProgramDraw,
    ProgramStatistics,
    draw_programs,
    evaluate_program,
    program_statistics,
)

HALVES = {"first": 0, "second": 1}


class Command(BaseCommand):
    help = "Measure how often the interval of a whole program contains its time, for randomly composed programs."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        data = parser.add_mutually_exclusive_group()
        data.add_argument("--dataset", metavar="DIR", type=Path, help="a dataset folder, in memory")
        data.add_argument(
            "--origin", choices=PREDICTION_ORIGINS, help="origin of the stored profiles (default: measured)"
        )
        parser.add_argument("--application", action="store_true", help="compose sections of one application only")
        parser.add_argument(
            "--references", choices=["one", "all"], default="one", help="machines where the program is known"
        )
        parser.add_argument("--half", choices=HALVES, help="predict only every second platform with profiles")
        parser.add_argument("--draws", metavar="N", type=int, default=300, help="number of programs (default: 300)")
        parser.add_argument("--seed", metavar="S", type=int, default=0, help="seed of the draws (default: 0)")
        parser.add_argument("--json", metavar="OUT", type=Path, help="write the statistics to this file")

    def handle(self, **options: Any) -> None:
        folder = options["dataset"]
        subject = dataset_subject(folder, self.stderr) if folder else database_subject(options["origin"], self.stderr)
        statistics = statistics_of(subject.database, options)
        if options["json"]:
            options["json"].write_text(json.dumps(nan_to_null(asdict(statistics)), indent=1, allow_nan=False))
        self.stdout.write(
            f"{statistics.programs} programs, {statistics.refused} refused; mean error "
            f"{formatted_number(statistics.error)} %; correlation of the errors of two parts "
            f"{formatted_number(statistics.correlation)}; the intervals of parts contain "
            f"{formatted_number(statistics.parts_coverage)} %"
        )
        rows = [
            [rule, formatted_number(values.coverage), formatted_number(values.factor)]
            for rule, values in statistics.rules.items()
        ]
        self.stdout.write("\n".join(text_table(["rule", "coverage", "factor"], rows, words=1)))


def statistics_of(database: Database, options: dict[str, Any]) -> ProgramStatistics:
    targets = np.unique(database.platform_index).tolist()
    if options["half"]:
        targets = targets[HALVES[options["half"]] :: 2]
    draw = ProgramDraw(tuple(targets), options["references"] == "one", options["application"])
    programs = draw_programs(database, draw, options["draws"], options["seed"]) if targets else iter(())
    method = METHODS[DEFAULT_METHOD]
    with single_thread():
        outcomes = [
            evaluate_program(database, program, method)
            for program in tqdm(programs, desc="predict", unit="program", leave=False, total=options["draws"])
        ]
    predicted = [outcome for outcome in outcomes if outcome is not None]
    if not predicted:
        raise CommandError("no program can be composed: too few workloads were measured on two platforms")
    return program_statistics(predicted, len(outcomes) - len(predicted))
