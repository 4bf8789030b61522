"""The studies of `evaluate_scaling`: what they are asked of, what they print, what they write."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Q
from tqdm import tqdm

from predictor.figures.scaling_studies import learning_chart, size_charts, task_chart
from predictor.management.tables import number, table
from predictor.scaling_models.base import TooFewPoints
from predictor.scaling_models.extended_amdahl import ExtendedAmdahl
from predictor.scaling_models.studies import sizes, tasks
from predictor.scaling_models.studies.clocks import (
    LEARNERS,
    Surface,
    learning_curves,
    means_over_surfaces,
    measured_surface,
    published_surfaces,
    training_sizes,
)
from predictor.scaling_models.studies.workloads import MeasuredWorkload, measured_workloads
from profiles.derivation import run_tables
from profiles.figures import Chart
from profiles.measurements import Measurements
from profiles.models import Profile
from profiles.readers import KIT_RESULTS, UnreadableError, read_measurements

CURVES, SIZES, TASKS, CLOCKS, SURFACES = "curves", "sizes", "tasks", "clocks", "surfaces"
STUDIES = (CURVES, SIZES, TASKS, CLOCKS, SURFACES)
OF_A_KIT = (CURVES, SIZES, TASKS, CLOCKS)
PRODUCTS = "matmul"  # what papers/000 measured, where it is there

Report = tuple[Any, list[str], list[Chart]]  # for JSON, for the terminal, for a folder


class NothingToStudy(Exception):
    """The measurements do not have what a study needs."""


def read_kits(paths: Sequence[Path]) -> list[Measurements]:
    found = []
    for path in paths:
        try:
            with path.open("rb") as file:
                found.append(read_measurements(KIT_RESULTS, file))
        except (OSError, UnreadableError) as error:
            raise CommandError(f"{path}: {error}") from error
    return found


def in_memory(every: Sequence[Measurements]) -> list[MeasuredWorkload]:
    return [one for measurements in every for one in measured_workloads(measurements)]


def stored() -> list[MeasuredWorkload]:
    """The public measured profiles that have runs of other sizes or clocks."""
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


def chosen(every: list[MeasuredWorkload], names: str | None) -> list[MeasuredWorkload]:
    if names is None:
        return every
    wanted = {name.strip() for name in names.split(",")}
    unknown = wanted - {one.workload for one in every}
    if unknown:
        known = ", ".join(sorted({one.workload for one in every})) or "none"
        raise CommandError(f"--workloads: no runs of {', '.join(sorted(unknown))}; known: {known}")
    return [one for one in every if one.workload in wanted]


def size_range(text: str) -> tuple[float, float]:
    """
    >>> size_range("64-568")
    (64.0, 568.0)
    """
    smallest, dash, largest = text.partition("-")
    try:
        found = float(smallest), float(largest)
    except ValueError:
        found = (1.0, 0.0)
    if not dash or not 0 < found[0] <= found[1]:
        raise ArgumentTypeError(f"{text!r} is no range of sizes LOW-HIGH")
    return found


def study_of_sizes(every: list[MeasuredWorkload], options: dict[str, Any]) -> Report:
    if options["workloads"] is None:
        products = [one for one in every if one.workload.startswith(PRODUCTS)]
        every = products or every
    model, seed = ExtendedAmdahl(options["degree"], options["errors"]), options["seed"]
    studies, refusals = _each(every, lambda one: sizes.size_study(one, model, seed), SIZES)
    columns = sizes.SIZE_STATISTICS
    rows = [
        [study["workload"], words(way), *(number(study["statistics"][way][column], 3) for column in columns)]
        for study in studies
        for way in sizes.WAYS
    ]
    model_told = f"Extended Amdahl model of degree {model.degree}, {model.errors} errors"
    head = f"{model_told}: mispredictions in % of the predicted time (papers/000)"
    lines = [head, *table(["workload", "way", *columns], rows, words=2), *refusals]
    return studies, lines, [chart for study in studies for chart in size_charts(study)]


def words(way: str) -> str:
    """One word for a table."""
    return way.replace(",", "").replace(" ", "_")


def study_of_tasks(every: list[MeasuredWorkload], options: dict[str, Any]) -> Report:
    if options["workloads"] is None:
        every = [one for one in every if one.strategy in tasks.TASK_STRATEGIES]
    studies, refusals = _each(every, tasks.task_study, TASKS)
    errors = [(model, name) for model in ("task_graph", "direct") for name in ("mean", "median")]
    rows = [
        [
            study["workload"],
            f"{study['asked']['sizes'][0]:g}-{study['asked']['sizes'][-1]:g}",
            *(number(study["errors"][model][name], 3) for model, name in errors),
            *(number(study["parts"][part], 3) for part in ("work_s", "delay_s", "no_work_s")),
        ]
        for study in studies
    ]  # fmt: skip
    head = ["workload", "asked", "task_graph", "median", "direct", "median", "work", "delay", "no_work"]
    lines = ["Larger inputs than learned: errors in %, of the parts in % of the work (papers/002)"]
    return studies, [*lines, *table(head, rows, words=1), *refusals], list(map(task_chart, studies))


def study_of_clocks(every: list[MeasuredWorkload], options: dict[str, Any]) -> Report:
    with_clocks = [one for one in every if len(one.points.clocks_mhz) > 1]
    what = f"{len(with_clocks)} workloads at several clocks"
    if not with_clocks:
        what = "no run at a fixed clock: speedups over the thread counts alone"
    surfaces, refusals = _each(with_clocks or every, measured_surface, CLOCKS)
    return _learning(surfaces, f"{what} (papers/003, Section 4.3)", refusals, options)


def study_of_surfaces(options: dict[str, Any]) -> Report:
    what = "surfaces of papers/003, Table 1, with noise as large as its errors (Section 4.3)"
    return _learning(published_surfaces(options["seed"]), what, [], options)


def _learning(surfaces: list[Surface], what: str, refusals: list[str], options: dict[str, Any]) -> Report:
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
        [model, *(f"{number(mean[model, count], 3)} ({best[model, count]})" for count in counts)] for model in LEARNERS
    ]
    lines = [
        f"{len(surfaces)} {what}",
        "Mean over them of the median squared error of the speedup, by points learned (best on so many)",
        *table(["model", *map(str, counts)], rows, words=1),
        *refusals,
    ]
    return {"curves": curves, "means": means}, lines, [learning_chart(means)]


def _each(
    every: list[MeasuredWorkload], study: Callable[[MeasuredWorkload], Any], name: str
) -> tuple[list[Any], list[str]]:
    """The study of each that has enough points, and why the others have not."""
    found, refusals = [], []
    for one in tqdm(every, desc=name, leave=False):
        try:
            found.append(study(one))
        except (TooFewPoints, ValueError) as error:
            refusals.append(str(error))
    if not found:
        raise NothingToStudy(refusals[0] if refusals else "no workload of this kind was measured")
    more = [f"left out {len(refusals)}, the first: {refusals[0]}"] if refusals else []
    return found, more


def write_figures(folder: Path, charts: Sequence[Chart]) -> Iterator[str]:
    """Each as Plotly JSON and as a page of its own; their names."""
    for chart in charts:
        (folder / f"{chart.name}.plotly.json").write_text(chart.figure.to_json() + "\n")
        chart.figure.write_html(folder / f"{chart.name}.html", include_plotlyjs="directory")
        yield chart.name
