"""Answers as tables for people, on standard output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mpet.results import Comparison, Prediction, Ranking, UploadReport, shown_number

RANKING_COLUMNS = {
    "place": "",
    "platform": "platform",
    "n_best": "n",
    "time_s": "time in s",
    "low_s": "low",
    "high_s": "high",
    "relative": "relative",
}


def print_table(console: Console, title: str, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    table = Table(title=title, title_justify="left", header_style="bold", box=None)
    for place, name in enumerate(names):
        table.add_column(name, justify="left" if place == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(shown_number(cell)) for cell in row))
    console.print(table)


def print_prediction(console: Console, prediction: Prediction) -> None:
    simulated = ", simulated" if prediction.document.get("simulated") else ""
    title = (
        f"{prediction.workload} on {prediction.target} ({prediction.method}, revision {prediction.revision}{simulated})"
    )
    names = ("n", "time in s", "low", "high", "speedup", "efficiency")
    rows = [(one.n, one.time_s, one.low_s, one.high_s, one.speedup, one.efficiency) for one in prediction.points]
    print_table(console, title, names, rows)
    for warning in prediction.warnings:
        console.print(f"  {warning}", markup=False, highlight=False)
    if prediction.url:
        console.print(prediction.url, markup=False)


def print_ranking(console: Console, ranking: Ranking, limit: int) -> None:
    rows = [[row.get(name) for name in RANKING_COLUMNS] for row in ranking.rows[:limit]]
    print_table(console, f"{len(ranking)} platforms, the fastest first", list(RANKING_COLUMNS.values()), rows)
    left_out = max(len(ranking) - limit, 0)
    if left_out:
        console.print(f"  and {left_out} more: --limit, or --json")
    if ranking.refused:
        console.print(f"  {len(ranking.refused)} platforms have no place: --json says why")


def print_comparison(console: Console, comparison: Comparison) -> None:
    rows = comparison.rows
    names = [name for name, value in rows[0].items() if not isinstance(value, (list, dict))] if rows else []
    print_table(console, "", names, [[row.get(name) for name in names] for row in rows])


def print_upload(console: Console, report: UploadReport) -> None:
    profiles = f", {len(report.profiles)} profiles" if report.profiles else ""
    console.print(f"upload {report.id}: {report.status}{profiles}", markup=False, highlight=False)
    for error in report.errors:
        place = f"{error.get('member')}, line {error['line']}" if error.get("line") else str(error.get("member"))
        console.print(f"  {place}: {error.get('reason')}", markup=False, highlight=False)
    for warning in report.warnings:
        console.print(f"  warning: {warning}", markup=False, highlight=False)
    for program in report.programs:
        console.print(f"{program['name']} on all machines: {program['url']}", markup=False)
