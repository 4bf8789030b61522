"""`python -m research paper_figures`: compute the tables and figures of the paper for any database."""

import argparse
import csv
import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from mpet_site.web.plain_json import nan_to_null
from predictor.accuracy.evaluations import Subject
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.core.evaluate import EvaluationProgress
from predictor.core.mpet2020.method import MPET2020
from predictor.figures.accuracy import paper_charts
from predictor.management.subjects import database_subject, dataset_subject
from predictor.management.tables import formatted_number, text_table
from predictor.models import PaperReport
from profiles.jobs.executors import Executor
from profiles.management.options import add_executor_options, chosen_executor
from research.figure_files import write_figures
from research.paper import PaperResults, paper_results


class Command(BaseCommand):
    help = (
        "Compute the paper's Table 5, Figures 10 and 11, shares of the scaling parts and ablation of mpet2020 for any "
        "database, as CSV, JSON and Plotly."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        data = parser.add_mutually_exclusive_group()
        data.add_argument("--dataset", metavar="DIR", type=Path, help="a dataset folder, in memory")
        data.add_argument("--database", action="store_true", help="the public profiles of the database (default)")
        parser.add_argument(
            "--origin", choices=PREDICTION_ORIGINS, help="origin of the stored profiles (default: as for evaluate)"
        )
        parser.add_argument("--output", metavar="DIR", type=Path, help="write CSV, JSON and Plotly HTML to this folder")
        parser.add_argument("--sample", metavar="N", type=int, help="predict only N random profiles per class")
        parser.add_argument("--seed", metavar="S", type=int, default=0, help="seed of the sample (default: 0)")
        add_executor_options(parser)
        parser.add_argument(
            "--save",
            action=argparse.BooleanOptionalAction,
            help="save the result for /accuracy/ (default with --database; not possible with --dataset)",
        )

    def handle(self, **options: Any) -> None:
        dataset, output = options["dataset"], options["output"]
        if dataset is not None and (options["save"] or options["origin"]):
            raise CommandError("--save and --origin require the database: not allowed with --dataset")
        if output is not None and not output.is_dir():
            raise CommandError(f"{output}: there is no such folder")
        started = time.perf_counter()
        subject = dataset_subject(dataset, self.stderr) if dataset else database_subject(options["origin"], self.stderr)
        with chosen_executor(options) as executor:
            results = self.results(subject, options["sample"], options["seed"], executor)
        if output is not None:
            write_results(output, results)
        if dataset is None and options["save"] is not False:
            keep_report(results, subject, options["sample"], options["seed"])
        self.stdout.write("\n".join(paper_summary(results)))
        self.stdout.write(f"{time.perf_counter() - started:.1f} s")

    def results(self, subject: Subject, sample: int | None, seed: int, executor: Executor) -> PaperResults:
        bar = tqdm(unit="prediction", leave=False)

        def stage(name: str) -> EvaluationProgress:
            bar.set_description(name)
            bar.reset()

            def progress(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            return progress

        try:
            results: PaperResults = nan_to_null(
                paper_results(subject.database, sample=sample, seed=seed, executor=executor, stage=stage)
            )
            return results
        except ValueError as error:
            raise CommandError(str(error)) from error
        finally:
            bar.close()


def write_results(folder: Path, results: PaperResults) -> None:
    """Write each table as CSV, all tables as JSON, and each figure as Plotly JSON and as an HTML page."""
    (folder / "paper.json").write_text(json.dumps(results, indent=1, allow_nan=False) + "\n")
    for name, rows in results.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]) if rows else ["empty"])
            writer.writeheader()
            writer.writerows(rows)
    write_figures(folder, paper_charts(results))


def keep_report(results: PaperResults, subject: Subject, sample: int | None, seed: int) -> None:
    PaperReport.objects.create(
        revision=subject.database.revision,
        origin=subject.origin,
        method_version=MPET2020.version,
        sample=sample,
        seed=seed,
        results=results,
    )


def paper_summary(results: PaperResults) -> list[str]:
    """Return the lines for the terminal: Table 5, the shares and the ablation."""
    columns = ("av", "med", "min", "max", "p70", "p80", "p95", "count", "refused")
    rows = [
        [row["platforms"], row["part"], *(formatted_number(row[name], 3) for name in columns)]
        for row in results["table5"]
        if row["count"] or row["refused"]
    ]
    lines = ["Table 5: error in %", *text_table(["platforms", "part", *columns], rows, words=2), ""]
    shares = [
        [row["parameter"], formatted_number(row["share"], 3), formatted_number(row["largest"], 3)]
        for row in results["influence"]
    ]
    lines += [
        "Shares of the loss at the largest n, %",
        *text_table(["part", "share", "largest in"], shares, words=1),
        "",
    ]
    changed = [
        [row["part"], row["varied"], row["value"], *(formatted_number(row[name], 3) for name in ("av", "med", "p95"))]
        for row in results["ablation"]
    ]
    head = ["part", "choice", "value", "av", "med", "p95"]
    return [*lines, "Other choices, error in %", *text_table(head, changed, words=3), ""]
