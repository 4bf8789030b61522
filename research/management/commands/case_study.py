"""`python -m research case_study`: predict stages of HOG and SGM on another machine, by MPET and by plain estimates."""

import argparse
import csv
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError

from mpet_site.web.plain_json import nan_to_null
from predictor.core.database import Database
from predictor.core.tabulated import database_from_measurements
from predictor.management.tables import formatted_number, text_table
from profiles.figures.base import mark_origin
from profiles.measurements import CounterTable, Measurements
from profiles.scaling.roofline import read_roofline
from research.case_study import CaseFacts, StageCost, StagePrediction, case_predictions, join_deliveries
from research.case_study_figures import deviation_chart, mean_cost_and_error, ways_of, worth_chart
from research.figure_files import write_figures
from research.scaling.reports import read_kits

COST_COLUMNS = ("workload", "instructions", "first_level_misses", "last_level_misses", "seconds")
FIRST_LEVEL_COUNTERS, LAST_LEVEL_COUNTERS = ("L1-LDM", "L1-STM"), ("LLC-LDM", "LLC-STM")


class Command(BaseCommand):
    help = (
        "The paper's case study: predict every stage of HOG and SGM on one machine from another with MPET, a speed "
        "ratio, clock scaling, the roofline and instruction counts. Errors are in percent. No database is used."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--kit",
            metavar="TARBALL",
            type=Path,
            action="append",
            required=True,
            help="results of the kit, one file per machine",
        )
        parser.add_argument(
            "--reference", metavar="NAME", action="append", help="machine where the stages are known (default: all)"
        )
        parser.add_argument("--target", metavar="NAME", action="append", help="machine to predict (default: all)")
        parser.add_argument(
            "--costs",
            metavar="CSV",
            type=Path,
            help=f"instruction counts: {', '.join(COST_COLUMNS)} (default: the reference's counters)",
        )
        parser.add_argument(
            "--stages-known",
            action="store_true",
            help="the target's other stages are known, as in the paper (default: no stage is known)",
        )
        parser.add_argument(
            "--all-references",
            action="store_true",
            help="a stage is known on all machines but the target (default: on the reference only)",
        )
        parser.add_argument("--output", metavar="DIR", type=Path, help="write CSV, JSON and figures to this folder")

    def handle(self, **options: Any) -> None:
        output = options["output"]
        if output is not None and not output.is_dir():
            raise CommandError(f"{output}: there is no such folder")
        deliveries = read_kits(options["kit"])
        try:
            joined = join_deliveries(deliveries)
        except ValueError as error:
            raise CommandError(str(error)) from error
        database = database_from_measurements(joined)
        costs = None if options["costs"] is None else read_costs(options["costs"])
        predictions: list[StagePrediction] = []
        for reference, target in chosen_pairs(database, options["reference"], options["target"]):
            facts = facts_of(deliveries, database.platforms[reference], costs)
            predictions += case_predictions(
                database,
                reference,
                target,
                facts,
                hide_programs=not options["stages_known"],
                all_references=options["all_references"],
            )
        if not predictions:
            raise CommandError("no stage of HOG or SGM was measured on two of these machines")
        self.stdout.write("\n".join(case_summary(predictions)))
        if output is not None:
            write_case_study(output, predictions, joined.origin)


def chosen_pairs(
    database: Database, references: Sequence[str] | None, targets: Sequence[str] | None
) -> list[tuple[int, int]]:
    """Return the pairs (reference, target) of different platforms. Raise CommandError if a name is unknown."""
    names = database.platforms
    for name in (*(references or ()), *(targets or ())):
        if name not in names:
            raise CommandError(f"unknown machine {name!r}; known: {', '.join(names)}")
    chosen = [[names.index(name) for name in wanted or names] for wanted in (references, targets)]
    return [(reference, target) for reference, target in itertools.product(*chosen) if reference != target]


def facts_of(deliveries: Sequence[Measurements], reference: str, costs: Mapping[str, StageCost] | None) -> CaseFacts:
    """Return the rooflines and bounds of the deliveries, and the costs.

    If no costs are given, they are those that the reference's own counters measured.
    """
    rooflines = {
        platform.name: roofline
        for delivery in deliveries
        if (roofline := read_roofline(delivery.environment)) is not None
        for platform in delivery.platforms
    }
    bounds = {record.name: record.bound for delivery in deliveries for record in delivery.workloads if record.bound}
    return CaseFacts(rooflines, bounds, counted_costs(deliveries, reference) if costs is None else costs)


def counted_costs(deliveries: Sequence[Measurements], reference: str) -> dict[str, StageCost]:
    """Return the counter readings of the reference on one thread, by workload.

    Workloads without all counters are left out.
    """
    costs = {}
    for delivery in deliveries:
        for profile in delivery.profiles:
            if delivery.platforms[profile.platform].name == reference and profile.counters is not None:
                counted = [
                    sum(median_reading(profile.counters, name) for name in names)
                    for names in (("INSTR",), FIRST_LEVEL_COUNTERS, LAST_LEVEL_COUNTERS)
                ]
                if np.isfinite(counted).all():
                    costs[delivery.workloads[profile.workload].name] = StageCost(*counted)
    return costs


def median_reading(counters: CounterTable, name: str) -> float:
    """Return the median of a counter's readings on one thread, or NaN if there are none."""
    wanted = (np.array(counters.counter) == name) & (counters.n == 1) & np.isfinite(counters.value)
    return float(np.median(counters.value[wanted])) if wanted.any() else float("nan")


def read_costs(path: Path) -> dict[str, StageCost]:
    """Return the costs by workload from a CSV file with COST_COLUMNS."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"{path}: {error}") from error
    costs = {}
    for line, row in enumerate(rows, start=2):
        try:
            values = [float(row[column]) for column in COST_COLUMNS[1:]]
        except (KeyError, TypeError, ValueError) as error:
            raise CommandError(f"{path}, line {line}: expected {', '.join(COST_COLUMNS)} ({error})") from error
        if not np.isfinite(values).all() or min(values) < 0:
            raise CommandError(f"{path}, line {line}: a number is negative or not finite")
        costs[row["workload"]] = StageCost(*values)
    return costs


def case_summary(predictions: Sequence[StagePrediction]) -> list[str]:
    """Return the lines for the terminal: deviations for each pair of machines, and errors over all pairs by way."""
    pairs = list(dict.fromkeys((one.reference, one.target) for one in predictions))
    lines = []
    for reference, target in pairs:
        of_pair = [one for one in predictions if (one.reference, one.target) == (reference, target)]
        ways = ways_of(of_pair)
        by_stage = {(one.stage, one.way): one.deviation for one in of_pair}
        stages = list(dict.fromkeys(one.stage for one in of_pair))
        rows = [
            [stage.replace(" ", "_"), *(formatted_cell(by_stage.get((stage, way))) for way in ways)] for stage in stages
        ]
        lines += [f"{target}, predicted from {reference}: deviation in percent"]
        lines += [*text_table(["stage", *ways], rows, words=1), ""]
    rows = [
        [way, *(formatted_number(value, 3) for value in mean_cost_and_error(predictions, way)[1:])]
        for way in ways_of(predictions)
    ]
    return [
        *lines,
        f"Errors over {len(pairs)} pairs of machines",
        *text_table(["way", "mean", "median"], rows, words=1),
    ]


def formatted_cell(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f}"


def write_case_study(folder: Path, predictions: Sequence[StagePrediction], origin: str) -> None:
    """Write every prediction at every n as CSV, the errors as JSON, and the figures."""
    with (folder / "case-study.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("reference", "target", "stage", "way", "n", "predicted_s", "measured_s"))
        for one in predictions:
            for n, predicted_s, measured_s in zip(one.n, one.predicted_s, one.measured_s, strict=True):
                writer.writerow((one.reference, one.target, one.stage, one.way, int(n), predicted_s, measured_s))
    report = {way: mean_cost_and_error(predictions, way) for way in ways_of(predictions)}
    named = {way: dict(zip(("seconds", "mean", "median"), values, strict=True)) for way, values in report.items()}
    (folder / "case-study.json").write_text(json.dumps(nan_to_null(named), indent=1, allow_nan=False) + "\n")
    charts = [
        deviation_chart(f"case-study-{index}", list(of_pair))
        for index, (_, of_pair) in enumerate(
            itertools.groupby(predictions, key=lambda one: (one.reference, one.target)), start=1
        )
    ]
    write_figures(folder, mark_origin([*charts, worth_chart(predictions)], origin))
