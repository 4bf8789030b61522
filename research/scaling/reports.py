"""Studies of `evaluate_scaling`: the workloads of each study, its printed report and its charts."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Q
from tqdm import tqdm

from benchmarks.archive import read_archive
from predictor.management.tables import formatted_number, text_table
from predictor.scaling_models.base import TooFewPoints
from predictor.scaling_models.extended_amdahl import ExtendedAmdahl
from profiles.figures.base import Chart
from profiles.ingest.derivation import run_tables
from profiles.measurements import Measurements, UnreadableError
from profiles.models import Profile
from research.scaling.figures import learning_chart, size_charts, task_chart
from research.scaling.studies import sizes, tasks
from research.scaling.studies.clocks import (
    LEARNERS,
    Surface,
    learning_curves,
    means_over_surfaces,
    measured_surface,
    published_surfaces,
    training_sizes,
)
from research.scaling.studies.workloads import MeasuredWorkload, measured_workloads

CURVES, SIZES, TASKS, CLOCKS, SURFACES = "curves", "sizes", "tasks", "clocks", "surfaces"
STUDIES = (CURVES, SIZES, TASKS, CLOCKS, SURFACES)
STUDIES_OF_A_KIT = (CURVES, SIZES, TASKS, CLOCKS)
# The workloads that papers/000 measured. Only these are studied by default, if there are any.
PRODUCTS = "matmul"

# The data for JSON, the lines for the terminal, and the charts for the output folder.
StudyReport = tuple[Any, list[str], list[Chart]]


class NothingToStudy(Exception):
    """Raised if the measurements lack the data of a study."""


def read_kits(paths: Sequence[Path]) -> list[Measurements]:
    kits = []
    for path in paths:
        try:
            with path.open("rb") as file:
                kits.append(read_archive(file))
        except (OSError, UnreadableError) as error:
            raise CommandError(f"{path}: {error}") from error
    return kits


def delivered_workloads(every: Sequence[Measurements]) -> list[MeasuredWorkload]:
    return [workload for measurements in every for workload in measured_workloads(measurements)]


def stored_workloads() -> list[MeasuredWorkload]:
    """Return the public measured profiles that have runs of other sizes or clocks."""
    varied = Q(runs__size__isnull=False) | Q(runs__clock_mhz__isnull=False)
    rows = Profile.objects.visible_to(None).filter(varied, origin="measured").distinct().order_by("pk")
    profiles = list(rows.select_related("workload", "platform"))
    runs = run_tables([profile.pk for profile in profiles])
    return [
        MeasuredWorkload(
            profile.workload.name,
            profile.platform.name,
            profile.workload.strategy,
            runs[profile.pk],
            profile.workload.size,
            profile.platform.base_mhz,
        )
        for profile in profiles
    ]


def chosen_workloads(every: list[MeasuredWorkload], names: str | None) -> list[MeasuredWorkload]:
    if names is None:
        return every
    wanted = {name.strip() for name in names.split(",")}
    unknown = wanted - {measured.workload for measured in every}
    if unknown:
        known_names = ", ".join(sorted({measured.workload for measured in every})) or "none"
        raise CommandError(f"--workloads: no runs of {', '.join(sorted(unknown))}; available: {known_names}")
    return [measured for measured in every if measured.workload in wanted]


def size_range(text: str) -> tuple[float, float]:
    """Return the limits of a range of sizes LOW-HIGH.

    >>> size_range("64-568")
    (64.0, 568.0)
    """
    smallest, dash, largest = text.partition("-")
    try:
        limits = float(smallest), float(largest)
    except ValueError:
        limits = (1.0, 0.0)
    if not dash or not 0 < limits[0] <= limits[1]:
        raise ArgumentTypeError(f"{text!r} is not a range LOW-HIGH with 0 < LOW <= HIGH")
    return limits


def study_of_sizes(every: list[MeasuredWorkload], options: dict[str, Any]) -> StudyReport:
    if options["workloads"] is None:
        products = [workload for workload in every if workload.workload.startswith(PRODUCTS)]
        every = products or every
    model, seed = ExtendedAmdahl(options["degree"], options["errors"]), options["seed"]
    studies, refusals = _study_each(every, lambda workload: sizes.size_study(workload, model, seed), SIZES)
    columns = sizes.SIZE_STATISTICS
    rows = [
        [
            study["workload"],
            one_word(way),
            *(formatted_number(study["statistics"][way][column], 3) for column in columns),
        ]
        for study in studies
        for way in sizes.WAYS
    ]
    model_text = f"Extended Amdahl model of degree {model.degree}, {model.errors} errors"
    head = f"{model_text}: errors in % of the predicted time (papers/000)"
    lines = [head, *text_table(["workload", "way", *columns], rows, words=2), *refusals]
    return studies, lines, [chart for study in studies for chart in size_charts(study)]


def one_word(way: str) -> str:
    """Return the name of a way as one word, for a table."""
    return way.replace(",", "").replace(" ", "_")


def study_of_tasks(every: list[MeasuredWorkload], options: dict[str, Any]) -> StudyReport:
    if options["workloads"] is None:
        every = [workload for workload in every if workload.strategy in tasks.TASK_STRATEGIES]
    studies, refusals = _study_each(every, tasks.task_study, TASKS)
    errors = [(model, name) for model in ("task_graph", "direct") for name in ("mean", "median")]
    rows = [
        [
            study["workload"],
            f"{study['asked']['sizes'][0]:g}-{study['asked']['sizes'][-1]:g}",
            *(formatted_number(study["errors"][model][name], 3) for model, name in errors),
            *(formatted_number(study["parts"][part], 3) for part in ("work_s", "delay_s", "no_work_s")),
        ]
        for study in studies
    ]  # fmt: skip
    head = ["workload", "asked", "task_graph", "median", "direct", "median", "work", "delay", "no_work"]
    lines = ["Inputs larger than the learned ones: errors in %; of the parts in % of the work (papers/002)"]
    return studies, [*lines, *text_table(head, rows, words=1), *refusals], list(map(task_chart, studies))


def study_of_clocks(every: list[MeasuredWorkload], options: dict[str, Any]) -> StudyReport:
    with_clocks = [workload for workload in every if len(workload.points.clocks_mhz) > 1]
    subject = f"{len(with_clocks)} workloads at several clocks"
    if not with_clocks:
        subject = "workloads, none measured at a fixed clock: speedups over n only"
    surfaces, refusals = _study_each(with_clocks or every, measured_surface, CLOCKS)
    return _learning_report(surfaces, f"{subject} (papers/003, Section 4.3)", refusals, options)


def study_of_surfaces(options: dict[str, Any]) -> StudyReport:
    subject = "surfaces of papers/003, Table 1, with noise as large as its errors (Section 4.3)"
    return _learning_report(published_surfaces(options["seed"]), subject, [], options)


def _learning_report(
    surfaces: list[Surface], subject: str, refusals: list[str], options: dict[str, Any]
) -> StudyReport:
    if options["sample"]:
        surfaces = surfaces[: options["sample"]]
    curves = []
    total = sum(len(training_sizes(len(surface.speedup))) for surface in surfaces)
    with tqdm(total=total, desc="learning curves", leave=False) as bar:
        for curve in learning_curves(surfaces, options["repeats"], options["seed"]):
            curves.append(curve)
            bar.update()
    means = means_over_surfaces(curves)
    counts = sorted({row["points"] for row in means})
    mean = {(row["model"], row["points"]): row["mean"] for row in means}
    best = {(row["model"], row["points"]): row["best_on"] for row in means}
    rows = [
        [model, *(f"{formatted_number(mean[model, count], 3)} ({best[model, count]})" for count in counts)]
        for model in LEARNERS
    ]
    lines = [
        f"{len(surfaces)} {subject}",
        "Mean of the median squared error of the speedup by number of learned points (in brackets: best on)",
        *text_table(["model", *map(str, counts)], rows, words=1),
        *refusals,
    ]
    return {"curves": curves, "means": means}, lines, [learning_chart(means)]


def _study_each(
    every: list[MeasuredWorkload], study: Callable[[MeasuredWorkload], Any], name: str
) -> tuple[list[Any], list[str]]:
    """Return the study of each workload that has enough points, and a line about the workloads that were left out.

    Raise NothingToStudy if no workload has enough points.
    """
    results, refusals = [], []
    for workload in tqdm(every, desc=name, leave=False):
        try:
            results.append(study(workload))
        except (TooFewPoints, ValueError) as error:
            refusals.append(str(error))
    if not results:
        raise NothingToStudy(refusals[0] if refusals else "no suitable workload was measured")
    more = [f"skipped {len(refusals)}, the first because: {refusals[0]}"] if refusals else []
    return results, more
