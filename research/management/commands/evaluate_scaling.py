"""`python -m research evaluate_scaling`: measure the errors of scaling models."""

import argparse
import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from mpet_site.web.plain_json import nan_to_null
from predictor.core.database import Database
from predictor.core.tabulated import database_from_measurements
from predictor.management.subjects import read_folder
from predictor.management.tables import formatted_number, text_table
from predictor.scaling_models.companions import SCOPES
from predictor.snapshot.cache import read_database
from profiles.figures.base import Chart
from profiles.measurements import Measurements
from research.figure_files import write_figures
from research.scaling import extra_p
from research.scaling import reports as studies
from research.scaling.evaluation import (
    MODEL_STATISTICS,
    TRAININGS,
    Case,
    Contender,
    ModelOutcome,
    ScalingProtocol,
    cases_of,
    contenders,
    evaluate_contender,
    model_statistics,
)


class Command(BaseCommand):
    help = "Measure the errors of scaling models: fit part of each measured curve, predict the rest. In percent."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        data = parser.add_mutually_exclusive_group()
        data.add_argument("--dataset", metavar="DIR", type=Path, help="a dataset folder, in memory")
        data.add_argument("--database", action="store_true", help="the public profiles of the database (default)")
        data.add_argument("--kit", metavar="TARBALL", type=Path, action="append", help="results of the kit, in memory")
        parser.add_argument(
            "--study",
            choices=studies.STUDIES,
            action="append",
            help="study to run (default: curves; with --kit: every study that the results allow)",
        )
        parser.add_argument(
            "--train", choices=TRAININGS, default="half", help="fit the first half of n, or a few points of all n"
        )
        parser.add_argument(
            "--points", metavar="K", type=int, default=4, help="number of points for --train few (default: 4)"
        )
        parser.add_argument(
            "--least", metavar="K", type=int, default=4, help="least number of points per half (default: 4)"
        )
        parser.add_argument(
            "--companions", choices=SCOPES, default="all", help="other profiles that the automatic choice may use"
        )
        parser.add_argument("--models", metavar="M[,M...]", help="only these models (default: all)")
        parser.add_argument(
            "--peer", choices=["extrap"], help="also evaluate Extra-P, installed into a separate environment"
        )
        parser.add_argument("--sample", metavar="N", type=int, help="only N random profiles")
        parser.add_argument("--seed", metavar="S", type=int, default=0, help="seed of the sample (default: 0)")
        parser.add_argument("--json", metavar="OUT", type=Path, help="write the statistics to this file")
        group = parser.add_argument_group("the other studies")
        group.add_argument(
            "--workloads", metavar="W[,W...]", help="only these workloads (default: those of the paper's kind)"
        )
        group.add_argument(
            "--sizes", metavar="LOW-HIGH", type=studies.size_range, help="for sizes, tasks: only runs in this range"
        )
        group.add_argument(
            "--degree", metavar="K", type=int, default=3, help="for sizes: degree of the polynomial (default: 3)"
        )
        group.add_argument(
            "--repeats", metavar="R", type=int, default=10, help="for clocks, surfaces: number of random sets of points"
        )
        group.add_argument(
            "--errors",
            choices=("absolute", "relative"),
            default="absolute",
            help="for sizes: errors that least squares minimise",
        )
        group.add_argument("--figures", metavar="DIR", type=Path, help="write Plotly JSON and HTML to this folder")

    def handle(self, **options: Any) -> None:
        refuse_missing_folders(options)
        chosen_studies = options["study"] or (studies.STUDIES_OF_A_KIT if options["kit"] else [studies.CURVES])
        self.measurements = self.in_memory(options)
        report: dict[str, Any] = {}
        charts: list[Chart] = []
        for study in dict.fromkeys(chosen_studies):
            try:
                answer, lines, figures = self.study(study, options)
            except studies.NothingToStudy as error:
                if options["study"] or len(chosen_studies) == 1:
                    raise CommandError(str(error)) from error
                lines = [f"{study}: skipped: {error}"]
            else:
                report |= answer if study == studies.CURVES else {study: answer}
                charts += figures
            self.stdout.write("\n".join([*lines, ""]))
        if not report:
            raise CommandError("the measurements do not allow any of the studies")
        if options["figures"]:
            write_figures(options["figures"], charts)
            self.stderr.write(f"{len(charts)} figures in {options['figures']}")
        if options["json"]:
            options["json"].write_text(json.dumps(nan_to_null(report), indent=1, allow_nan=False) + "\n")

    def study(self, study: str, options: dict[str, Any]) -> studies.StudyReport:
        if study == studies.CURVES:
            return self.curves(options)
        if study == studies.SURFACES:
            return studies.study_of_surfaces(options)
        measured = (
            studies.stored_workloads() if self.measurements is None else studies.delivered_workloads(self.measurements)
        )
        answer = {
            studies.SIZES: studies.study_of_sizes,
            studies.TASKS: studies.study_of_tasks,
            studies.CLOCKS: studies.study_of_clocks,
        }[study]
        measured = studies.chosen_workloads(measured, options["workloads"])
        if options["sizes"]:
            measured = [workload.between(*options["sizes"]) for workload in measured]
        return answer(measured, options)

    def curves(self, options: dict[str, Any]) -> studies.StudyReport:
        protocol = scaling_protocol(options)
        chosen = chosen_contenders(options["models"], protocol.scope)
        split = [(database, cases) for database in self.databases() if (cases := cases_of(database, protocol))]
        if not split:
            raise studies.NothingToStudy("no profile has enough thread counts for a split")
        results = self.evaluate(split, chosen, protocol)
        every = [case for _, cases in split for case in cases]
        if options["peer"]:
            results["extrap"] = self.peer(every)
        report = {
            "profiles": len(every),
            "models": {name: model_statistics(outcomes) for name, outcomes in results.items()},
        }
        return report, scaling_summary(report, results), []

    def in_memory(self, options: dict[str, Any]) -> list[Measurements] | None:
        if options["kit"]:
            return studies.read_kits(options["kit"])
        return None if options["dataset"] is None else [read_folder(options["dataset"], self.stderr)]

    def databases(self) -> list[Database]:
        """Return one database for each delivery, or that of the stored profiles."""
        if self.measurements is None:
            return [read_database()]
        return [database_from_measurements(delivery) for delivery in self.measurements]

    def evaluate(
        self, split: list[tuple[Database, list[Case]]], chosen: list[Contender], protocol: ScalingProtocol
    ) -> dict[str, list[ModelOutcome]]:
        results: dict[str, list[ModelOutcome]] = {contender.name: [] for contender in chosen}
        with tqdm(total=len(chosen) * sum(len(cases) for _, cases in split), unit="fit", leave=False) as bar:
            for contender in chosen:
                for database, cases in split:
                    for outcome in evaluate_contender(database, cases, contender, protocol):
                        results[contender.name].append(outcome)
                        bar.update()
        return results

    def peer(self, cases: list[Case]) -> list[ModelOutcome]:
        folder = settings.STATE_DIR / "peers" / "extrap"
        self.stderr.write(f"Extra-P {extra_p.EXTRA_P_VERSION} in {folder}; {len(cases)} fits")
        try:
            return extra_p.extra_p_outcomes(extra_p.prepare_interpreter(folder), cases)
        except extra_p.PeerError as error:
            raise CommandError(str(error)) from error


def refuse_missing_folders(options: dict[str, Any]) -> None:
    out, figures = options["json"], options["figures"]
    if out is not None and not out.resolve().parent.is_dir():
        raise CommandError(f"{out}: there is no such folder")
    if figures is not None and not figures.is_dir():
        raise CommandError(f"{figures}: there is no such folder")


def scaling_protocol(options: dict[str, Any]) -> ScalingProtocol:
    try:
        return ScalingProtocol(
            train=options["train"],
            points=options["points"],
            least=options["least"],
            scope=options["companions"],
            sample=options["sample"],
            seed=options["seed"],
        )
    except ValueError as error:
        raise CommandError(str(error)) from error


def chosen_contenders(wanted: str | None, scope: str) -> list[Contender]:
    by_name = {contender.name: contender for contender in contenders(scope)}
    if wanted is None:
        return list(by_name.values())
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        raise CommandError(f"--models: unknown model {', '.join(unknown) or repr(wanted)}; known: {', '.join(by_name)}")
    return [by_name[name] for name in names]


def scaling_summary(report: dict[str, Any], results: dict[str, list[ModelOutcome]]) -> list[str]:
    rows = [
        [
            name,
            *(
                formatted_number(result[statistic], 3) if result[statistic] is not None else "-"
                for statistic in MODEL_STATISTICS
            ),
        ]
        for name, result in report["models"].items()
    ]
    lines = [
        f"{report['profiles']} profiles; errors in percent",
        *text_table(["model", *MODEL_STATISTICS], rows, words=1),
    ]
    for name, outcomes in results.items():
        reasons = [outcome.refusal for outcome in outcomes if outcome.refusal]
        if reasons:
            lines.append(f"{name} refused {len(reasons)} profiles, the first because: {reasons[0]}")
    return lines
