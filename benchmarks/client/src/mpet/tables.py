"""Answers as tables for people, on standard output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mpet.changes import Changes
from mpet.results import Comparison, Prediction, Ranking, UploadPreview, UploadReport, columns_of, shown_number
from mpet.summary import changed_parts, headline, name_of, percent, time_rows

RANKING_COLUMNS = {
    "place": "",
    "platform": "platform",
    "n_best": "n",
    "time_s": "time in s",
    "low_s": "low",
    "high_s": "high",
    "relative": "relative",
}
PRICE_COLUMNS = {"cost": "cost of a run", "price": "price per hour", "currency": "", "price_date": "of"}
ORDERS = {"time": "the fastest first", "core_time": "the least time of cores first", "cost": "the cheapest run first"}


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
    for sentence in [*prediction.warnings, *prediction.document.get("why", {}).get("sentences", [])]:
        console.print(f"  {sentence}", markup=False, highlight=False)
    if prediction.page:
        console.print(prediction.page, markup=False, soft_wrap=True)


def print_ranking(console: Console, ranking: Ranking, limit: int, by: str) -> None:
    has_prices = any(row.get("price") is not None for row in ranking.rows)
    columns = RANKING_COLUMNS | (PRICE_COLUMNS if has_prices else {})
    rows = [[row.get(name) for name in columns] for row in ranking.rows[:limit]]
    print_table(console, f"{len(ranking)} platforms, {ORDERS.get(by, ORDERS['time'])}", list(columns.values()), rows)
    left_out = max(len(ranking) - limit, 0)
    if left_out:
        console.print(f"  and {left_out} more: --limit, or --json")
    for line in ranking.refusals:
        console.print(f"  {line}", markup=False, highlight=False)


def print_comparison(console: Console, comparison: Comparison) -> None:
    rows = comparison.rows
    names = [name for name in columns_of(rows) if not name.startswith(("compared_", "left_out_"))]
    print_table(console, "", names, [[row.get(name) for name in names] for row in rows])
    for line in comparison.coverage:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def print_changes(console: Console, changes: Changes) -> None:
    """t(n) of each region, and its parts at each n: a star marks what is beyond noise."""
    console.print(f"{name_of(changes.head)} compared with {name_of(changes.base)}", markup=False, highlight=False)
    for region in changes.regions:
        rows = list(time_rows(region))
        print_table(console, region.head_name, ("n", "before, s", "now, s", "change", "noise", ""), rows)
        parts = changed_parts(region)
        if parts:
            names = ["part of t(n) before", *(f"n = {change.n}" for change in next(iter(parts.values())))]
            marked = [
                [part, *(percent(one.relative) + (" *" if one.is_beyond_noise else "") for one in each)]
                for part, each in parts.items()
            ]
            print_table(console, "", names, marked)
    for word, gone_or_new in (("no longer there", changes.gone), ("new", changes.new)):
        if gone_or_new:
            console.print(f"{word}: {', '.join(gone_or_new)}", markup=False, highlight=False)
    console.print(headline(changes), markup=False, highlight=False)


def print_errors(console: Console, errors: Iterable[dict[str, Any]], warnings: Iterable[str]) -> None:
    for error in errors:
        line = f"line {error['line']}" if error.get("line") else None
        place = ", ".join(str(part) for part in (error.get("member"), line) if part)
        reason = f"{place}: {error.get('reason')}" if place else str(error.get("reason"))
        console.print(f"  {reason}", markup=False, highlight=False)
    for warning in warnings:
        console.print(f"  warning: {warning}", markup=False, highlight=False)


def print_preview(console: Console, preview: UploadPreview) -> None:
    rows = [tuple(row.values()) for row in preview.rows]
    machine = (preview.document.get("platform") or {}).get("name")
    if rows:
        print_table(console, f"would be stored, of {machine}", ("workload", "n", "median time in s"), rows)
    print_errors(console, preview.errors, preview.warnings)


def print_upload(console: Console, report: UploadReport) -> None:
    profiles = f", {len(report.profiles)} profile{'s' * (len(report.profiles) != 1)}" if report.profiles else ""
    console.print(f"upload {report.id}: {report.status}{profiles}", markup=False, highlight=False)
    print_errors(console, report.errors, report.warnings)
    for program in report.programs:
        console.print(f"{program['name']} on all machines: {program['url']}", markup=False, soft_wrap=True)
