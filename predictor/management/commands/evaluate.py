"""`manage.py evaluate`: evaluate the accuracy of prediction methods."""

import argparse
import csv
import json
import re
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from mpet_site.web.plain_json import nan_to_null
from predictor.accuracy import evaluations
from predictor.accuracy.evaluations import Subject, evaluate_subject
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.core.cuts import Size
from predictor.core.database import Database
from predictor.core.evaluate import ERROR_PARTS, HOLDOUTS, KNOWN_AT, ErrorPart, EvaluationResult, Protocol
from predictor.core.methods import METHODS, Method, UnknownMethod, get_method
from predictor.core.noise_floor import NOISE_FLOOR
from predictor.management.subjects import database_subject, dataset_subject
from predictor.management.tables import formatted_number, text_table
from profiles.jobs.executors import Executor
from profiles.management.options import add_executor_options, chosen_executor

ERROR_STATISTICS = ("mean", "median", "p70", "p80", "p95", "max", "bias", "count", "refused")
CSV_COLUMNS = (
    *("platform", "workload", "method", "t1_error_percent", "scaling_error_percent", "full_error_percent"),
    *("seconds", "refusal"),
)


class Command(BaseCommand):
    help = "Evaluate prediction methods: hide measured profiles, predict them and compare. Errors are in percent."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        data = parser.add_mutually_exclusive_group()
        data.add_argument(
            "--dataset", metavar="DIR", type=Path, help="dataset folder to read into memory; no database is used"
        )
        data.add_argument("--database", action="store_true", help="use the public profiles of the database (default)")
        parser.add_argument(
            "--origin",
            choices=PREDICTION_ORIGINS,
            help="origin of the stored profiles (default: measured, or simulated if no workload was measured "
            "on two platforms)",
        )
        parser.add_argument(
            "--method",
            metavar="M[,M...]",
            required=True,
            type=lambda text: list(filter(None, map(str.strip, text.split(",")))),
            help=f"methods to evaluate: {', '.join(METHODS)}",
        )
        parser.add_argument(
            "--baselines",
            action="store_true",
            help="also evaluate every baseline, and the noise floor where runs were repeated",
        )
        parser.add_argument("--by-application", action="store_true", help="also show statistics per application")
        parser.add_argument(
            "--holdout", metavar="H[,H...]", default="pair", help=f"what to hide: {', '.join(HOLDOUTS)} (default: pair)"
        )
        parser.add_argument(
            "--references",
            metavar="R",
            type=int,
            help="use profiles of the workload (with the holdout application: of its whole application) on R "
            "random platforms only; the result is not saved",
        )
        parser.add_argument(
            "--unlike",
            action="store_true",
            help="use profiles of the workload only from platforms whose microarchitecture differs from the "
            "target's; the result is not saved",
        )
        parser.add_argument(
            "--probes", metavar="K", type=int, help="use profiles of K random workloads on the target only"
        )
        parser.add_argument(
            "--known-n",
            metavar="N",
            type=int,
            help="use profiles of the workload up to N threads only, and show the errors beyond N; the result "
            "is not saved",
        )
        parser.add_argument(
            "--known-at",
            choices=KNOWN_AT,
            help="show the errors with fewer known thread counts. ends: only the smallest and the largest "
            "thread count of every profile are known, those between are predicted; half: every second "
            "platform, the target among them, is known with up to 2 threads only; most: only the largest "
            "one is known, and predicted; workload-most: only the largest one is known for the workload "
            "on each platform, and all of the other workloads. The result is not saved",
        )
        parser.add_argument(
            "--wrong",
            metavar="SHARE",
            type=float,
            help="falsify this share of the profiles, such as 0.05: wrong unit, two to ten times too fast or "
            "too slow, n t(n) instead of t(n), or strong noise. Errors refer to the true profiles. The "
            "result is not saved",
        )
        parser.add_argument(
            "--targets", metavar="FILE", type=Path, help="file of the platforms to predict, one id per line"
        )
        parser.add_argument(
            "--cut",
            metavar="PxW",
            type=parse_cut_size,
            help="evaluate a small random subset of the database: P platforms with different cpu_model, and W "
            "of their workloads; the result is not saved",
        )
        parser.add_argument("--cuts", metavar="N", type=int, help="number of cuts, evaluated separately (default: 1)")
        parser.add_argument(
            "--diverse",
            action="store_true",
            help="choose platforms of different microarchitectures for a cut, with alternating instruction "
            "sets and, where possible, different launch years",
        )
        parser.add_argument("--sample", metavar="N", type=int, help="predict N random profiles only (per cut)")
        parser.add_argument(
            "--seed", metavar="S", type=int, default=0, help="random seed of probes, sample and cuts (default: 0)"
        )
        parser.add_argument("--json", metavar="OUT", type=Path, help="write the statistics to this file")
        parser.add_argument(
            "--csv",
            metavar="OUT",
            type=Path,
            help=f"write one row per prediction to this file: {', '.join(CSV_COLUMNS)}",
        )
        add_executor_options(parser)
        parser.add_argument(
            "--save",
            action=argparse.BooleanOptionalAction,
            help="save the result for /accuracy/ (default: yes for the database; results of a dataset cannot be saved)",
        )

    def handle(self, **options: Any) -> None:
        refuse_contradictions(options)
        dataset, started = options["dataset"], time.perf_counter()
        methods = self.methods(options)
        subject = dataset_subject(dataset, self.stderr) if dataset else database_subject(options["origin"], self.stderr)
        protocol = evaluation_protocol(options, subject.database)
        with chosen_executor(options) as executor:
            evaluation = self.evaluate(subject, methods, protocol, floor=options["baselines"], executor=executor)
        report = nan_to_null(asdict(evaluation.report()))
        if options["by_application"]:
            report["applications"] = applications_report(evaluation, subject.database)
        if options["known_n"] or options["known_at"]:
            report["distances"] = distances_report(evaluation)
        if options["json"]:
            options["json"].write_text(json.dumps(report, indent=1, allow_nan=False) + "\n")
        if options["csv"]:
            write_csv(options["csv"], evaluation)
        self.stdout.write("\n".join(evaluation_summary(report)))
        if options["by_application"]:
            self.stdout.write("\n".join(applications_summary(report["applications"])))
        if "distances" in report:
            self.stdout.write("\n".join(distances_summary(report["distances"])))
        if not why_not_kept(options) and options["save"] is not False:
            stored = evaluations.store_evaluation(evaluation, subject, started)
            self.stdout.write(f"saved as evaluation {stored.uid} of revision {stored.revision}")

    def methods(self, options: dict[str, Any]) -> list[Method[Any]]:
        """Return the methods to evaluate. The command `python -m research evaluate_ablation` adds further methods."""
        baselines = [name for name, method in METHODS.items() if method.baseline] if options["baselines"] else []
        try:
            return [get_method(name) for name in dict.fromkeys([*options["method"], *baselines])]
        except UnknownMethod as error:
            raise CommandError(str(error)) from error

    def evaluate(
        self, subject: Subject, methods: list[Method[Any]], protocol: Protocol, *, floor: bool, executor: Executor
    ) -> EvaluationResult:
        with tqdm(desc="evaluate", unit="prediction", leave=False) as bar:

            def progress(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            try:
                return evaluate_subject(subject, methods, protocol, floor=floor, executor=executor, progress=progress)
            except ValueError as error:
                raise CommandError(str(error)) from error


def refuse_contradictions(options: dict[str, Any]) -> None:
    if options["dataset"] is not None and options["origin"]:
        raise CommandError("--origin applies to the database: not allowed with --dataset")
    if options["save"] and (reason := why_not_kept(options)):
        raise CommandError(f"--save: {reason}")
    if options["cuts"] is not None and options["cut"] is None:
        raise CommandError("--cuts requires --cut")
    if options["diverse"] and options["cut"] is None:
        raise CommandError("--diverse requires --cut")
    for out in (options["json"], options["csv"]):
        if out is not None and not out.resolve().parent.is_dir():
            raise CommandError(f"{out}: no such folder")


def why_not_kept(options: dict[str, Any]) -> str:
    """Return the reason why the evaluation cannot be stored, or an empty string."""
    varied = ("references", "unlike", "known_n", "known_at", "wrong")
    reasons = {
        "dataset": "not allowed with --dataset",
        "cut": "not allowed with --cut",
        **{name: f"not allowed with --{name.replace('_', '-')}" for name in varied},
    }
    if "," in options["holdout"]:
        return "not allowed with several holdouts"
    return next((reason for name, reason in reasons.items() if options[name]), "")


def parse_cut_size(text: str) -> Size:
    size = re.fullmatch(r"(\d+)x(\d+)", text)
    if size is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not PLATFORMSxWORKLOADS, such as 9x12")
    return Size(*map(int, size.groups()))


def evaluation_protocol(options: dict[str, Any], database: Database) -> Protocol:
    same = (
        *("holdout", "references", "unlike", "probes", "known_n", "known_at", "wrong", "sample", "seed", "cut"),
        "diverse",
    )
    targets = None if options["targets"] is None else read_targets(options["targets"], database)
    cuts = 1 if options["cuts"] is None else options["cuts"]
    try:
        return Protocol(targets=targets, cuts=cuts, **{name: options[name] for name in same})
    except ValueError as error:
        raise CommandError(str(error)) from error


def read_targets(path: Path, database: Database) -> tuple[int, ...]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: {error}") from error
    position = {slug: index for index, slug in enumerate(database.platforms)}
    targets = set()
    for line, text in enumerate(lines, start=1):
        platform = text.strip()
        if platform and platform not in position:
            raise CommandError(f"{path}, line {line}: no platform {platform!r}")
        if platform:
            targets.add(position[platform])
    if not targets:
        raise CommandError(f"{path}: no platform in the file")
    return tuple(sorted(targets))


def write_csv(path: Path, evaluation: EvaluationResult) -> None:
    """Write one row per prediction. The error of a part that was not predicted is empty."""
    parts: tuple[ErrorPart, ...] = ("t1", "scaling", "full")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(CSV_COLUMNS)
        for outcomes in evaluation.outcomes.values():
            for outcome in outcomes:
                errors = [100 * outcome.errors[part] if part in outcome.errors else "" for part in parts]
                pair = outcome.platform, outcome.workload, outcome.method
                writer.writerow([*pair, *errors, f"{outcome.seconds:.6f}", outcome.refusal or ""])


def evaluation_summary(report: dict[str, Any]) -> list[str]:
    """Return one table per part, followed by the run time of each method and the coverage of its intervals."""
    lines = []
    floor = report["noise_floor"]
    for part in ERROR_PARTS:
        rows = [[name, *statistic_cells(result[part])] for name, result in report["methods"].items()]
        rows += [[NOISE_FLOOR, *statistic_cells(floor[part])]] if floor and floor[part]["count"] else []
        lines += [*text_table([f"{part}: error in %", *ERROR_STATISTICS], rows, words=1), ""]
    for name, result in report["methods"].items():
        line = f"{name}: {result['seconds']:.1f} s"
        if result["coverage"] is not None:
            line += f", intervals cover {result['coverage']:.1%}"
            names = ("median width", "score", "score of one width for all")
            for label, key in zip(names, ("interval_width", "interval_score", "constant_interval_score"), strict=True):
                line += f", {label} {formatted_number(result[key])}"
        if result["refused_n"]:
            line += f"; no time at {result['refused_n']} of the measured n"
        lines.append(line)
    if floor and floor["full"]["count"]:
        lines.append(f"{NOISE_FLOOR}: single runs against the median of the others, where runs were repeated")
    elif floor:
        lines.append(f"{NOISE_FLOOR}: no run was repeated")
    return lines


def applications_report(evaluation: EvaluationResult, database: Database) -> dict[str, Any]:
    """Return the statistics by application and method as JSON values."""
    by_application = evaluation.by_application(database)
    if not by_application:
        raise CommandError("--by-application: no workload names its application")
    return {
        application: {name: nan_to_null(asdict(report)) for name, report in methods.items()}
        for application, methods in by_application.items()
    }


def applications_summary(applications: dict[str, Any]) -> list[str]:
    """Return a table of the errors and coverage of each method by application."""
    rows = [
        [application, name, *statistic_cells(result["full"])]
        + [formatted_number(result[key] and 100 * result[key], 3) for key in ("coverage", "interval_width")]
        for application, methods in applications.items()
        for name, result in methods.items()
    ]
    head = ["application", "full: error in %", *ERROR_STATISTICS, "coverage", "width"]
    return ["", *text_table(head, rows, words=2)]


def distances_report(evaluation: EvaluationResult) -> dict[str, Any]:
    """Return the statistics by range of n and method as JSON values."""
    return {
        name: {method: asdict(statistics) for method, statistics in methods.items()}
        for name, methods in evaluation.by_distance().items()
    }


def distances_summary(distances: dict[str, Any]) -> list[str]:
    """Return a table of the errors and coverage of each method by distance from the known thread counts."""
    rows = []
    for name, methods in distances.items():
        for method, result in methods.items():
            numbers = result["mean"], result["median"], result["coverage"] and 100 * result["coverage"]
            cells = (formatted_number(number, 3) for number in numbers)
            rows.append([name.replace(" ", "_"), method, *cells, str(result["count"])])
    return ["", *text_table(["n", "error in %", "mean", "median", "coverage", "count"], rows, words=2)]


def statistic_cells(result: dict[str, Any]) -> list[str]:
    return [formatted_number(result[statistic], 3) for statistic in ERROR_STATISTICS]
