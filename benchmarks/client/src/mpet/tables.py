"""Answers as tables on standard output."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mpet.changes import Changes
from mpet.results import (
    Comparison,
    Prediction,
    Ranking,
    UploadPreview,
    UploadReport,
    columns_of,
    counted,
    grouped_warnings,
    shown_number,
)
from mpet.summary import headline, name_of, part_table, percent, time_rows

# Costs are shown for one of these numbers of runs, so that the least cost is not a tiny number.
RUNS_PRICED = ((1, "run"), (1000, "1,000 runs"), (10**6, "million runs"), (10**9, "billion runs"))
LEAST_SHOWN_COST = 0.01
BAR_WIDTH, BAR_TITLE = 14, "interval"
WIDEST_NUMBER, LEAST_TITLE, LEAST_NAME = 8, 4, 3  # widths of columns on a narrow terminal
RANKING_COLUMNS = {
    "place": "",
    "platform": "machine",
    "n_best": "n",
    "time_s": "time in s",
    "low_s": "low",
    "high_s": "high",
    "bar": BAR_TITLE,
    "relative": "relative",
}
ORDERS = {"time": "fastest first", "core_time": "least core time first", "cost": "cheapest first"}


def has_room(console: Console, columns: Iterable[tuple[str, Sequence[str]]]) -> bool:
    """Return whether the terminal is wide enough for a table in which only names and titles are broken. There are two
    spaces around each column."""
    widths = (
        BAR_WIDTH if name == BAR_TITLE else min(max(map(len, (name, *cells))), WIDEST_NUMBER) for name, cells in columns
    )
    return sum(width + 2 for width in widths) <= console.width


def numeric_width(name: str, cells: Sequence[str]) -> Optional[int]:
    """Return the width in which no number is broken. Return None for a column of names."""
    width = max(map(len, cells), default=0)
    return None if width > WIDEST_NUMBER else max(width, min(len(name), LEAST_TITLE))


def print_table(console: Console, title: str, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table. On a narrow terminal, leave out the bars, and break names and titles but not numbers."""
    if title:  # not as the table's title, which would be broken at the width of the table
        console.print(title, style="italic", markup=False, highlight=False, soft_wrap=True)
    columns = [(name, [shown_number(cell) for cell in cells]) for name, *cells in zip(names, *rows)]
    if not has_room(console, columns):
        columns = [(name, cells) for name, cells in columns if name != BAR_TITLE]
    widths: list[Optional[int]] = [None] * len(columns)
    if not has_room(console, columns):
        widths = [numeric_width(name, cells) for name, cells in columns]
        if sum((width or LEAST_NAME) + 2 for width in widths) > console.width:
            widths = [None] * len(columns)
    table = Table(header_style="bold", box=None)
    for place, ((name, _), width) in enumerate(zip(columns, widths)):
        is_bar = name == BAR_TITLE
        table.add_column(
            name,
            justify="left" if place == 0 or is_bar else "right",
            overflow="fold",
            width=BAR_WIDTH if is_bar else width,
        )
    for row in zip(*(cells for _, cells in columns)):
        table.add_row(*map(escape, row))
    console.print(table)


def interval_bar(low: Optional[float], time: Optional[float], high: Optional[float], scale: tuple[float, float]) -> str:
    """Return the interval as a line with a dot at the predicted time, on a logarithmic scale, as the pages draw it.

    >>> interval_bar(1.0, 10.0, 100.0, (1.0, 100.0))
    '━━━━━━●━━━━━━━'
    >>> interval_bar(10.0, 0.1, 100.0, (1.0, 100.0))  # a time outside the scale is drawn at its end
    '●     ━━━━━━━━'
    >>> interval_bar(None, 10.0, None, (1.0, 100.0))
    ''
    """
    if not (low and time and high) or scale[0] >= scale[1]:
        return ""
    places = [
        round((BAR_WIDTH - 1) * math.log(x / scale[0]) / math.log(scale[1] / scale[0])) for x in (low, time, high)
    ]
    cells = [" "] * BAR_WIDTH
    cells[places[0] : places[2] + 1] = ["━"] * (places[2] + 1 - places[0])
    cells[min(max(places[1], 0), BAR_WIDTH - 1)] = "●"
    return "".join(cells).rstrip()


def with_bars(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return an interval bar for each row, all of them on the same scale."""
    bounds = [row[name] for row in rows for name in ("low_s", "high_s") if row.get("low_s") and row.get("high_s")]
    scale = (min(bounds), max(bounds)) if bounds else (1.0, 1.0)
    return [interval_bar(row.get("low_s"), row.get("time_s"), row.get("high_s"), scale) for row in rows]


def print_prediction(console: Console, prediction: Prediction) -> None:
    simulated = ", simulated" if prediction.document.get("simulated") else ""
    title = (
        f"{prediction.workload} on {prediction.target} ({prediction.method}, revision {prediction.revision}{simulated})"
    )
    names = ["n", "time in s", "low", "high", BAR_TITLE, "speedup", "efficiency"]
    bars = with_bars([vars(point) for point in prediction.points])
    rows: list[list[Any]] = [
        [one.n, one.time_s, one.low_s, one.high_s, bar, one.speedup, one.efficiency]
        for one, bar in zip(prediction.points, bars)
    ]
    baseline = {one["n"]: one["time_s"] for one in prediction.document.get("baseline") or []}
    if baseline:
        names[2:] = [*names[2:5], "baseline", "change"]
        rows = [
            [*row[:5], baseline.get(row[0]), row[1] and baseline.get(row[0]) and percent(row[1] / baseline[row[0]] - 1)]
            for row in rows
        ]
    print_table(console, title, names, rows)
    for sentence in [
        *prediction.document.get("changes", []),
        *prediction.warnings,
        *prediction.document.get("why", {}).get("sentences", []),
    ]:
        console.print(f"  {sentence}", markup=False, highlight=False)
    if prediction.page:
        console.print(prediction.page, markup=False, soft_wrap=True)


def print_advice(console: Console, advice: Mapping[str, Any]) -> None:
    """Print the recommended number of threads, its time, the reasons, and the command that sets the environment."""
    low, high = advice["low_s"], advice["high_s"]
    interval = "" if low is None or high is None else f", between {shown_number(low)} and {shown_number(high)} s"
    console.print(f"{advice['n']} threads: {shown_number(advice['time_s'])} s{interval}", style="bold", markup=False)
    probable = "over 99 %" if advice["probability"] > 0.99 else f"{100 * advice['probability']:.0f} %"
    measured = " that was measured" if advice.get("measured") else ""
    console.print(f"{probable} probable to be within 5 % of the fastest{measured}", markup=False)
    for reason in advice["reasons"]:
        console.print(reason, markup=False, soft_wrap=True)
    variables = " ".join(f"{name}={value}" for name, value in advice["environment"].items())
    console.print(f"export {variables}", markup=False, soft_wrap=True)


def print_ranking(console: Console, ranking: Ranking, limit: int, by: str) -> None:
    has_prices = any(row.get("price") is not None for row in ranking.rows)
    shown = ranking.rows[:limit]
    columns, rows = dict(RANKING_COLUMNS), [dict(row, bar=bar) for row, bar in zip(shown, with_bars(shown))]
    if has_prices:  # the bar replaces low and high, which would make the table wider than a terminal
        least = min((row["cost"] for row in ranking.rows if row.get("cost")), default=1.0)
        priced = (runs for runs in RUNS_PRICED if least * runs[0] >= LEAST_SHOWN_COST)
        runs, runs_named = next(priced, RUNS_PRICED[-1])
        currency = next(row["currency"] for row in ranking.rows if row.get("currency"))
        columns = {name: title for name, title in columns.items() if name not in {"low_s", "high_s", "relative"}}
        columns.update(
            {"cost": f"{currency} per {runs_named}", "price": f"{currency} per hour", "price_date": "price of"}
        )
        rows = [dict(row, cost=row["cost"] and row["cost"] * runs) for row in rows]
    order = ORDERS.get(by, ORDERS["time"])
    if by == "cost" and not has_prices:
        order = f"{ORDERS['time']}: no price of these machines is known"
    print_table(
        console,
        f"{len(ranking)} machines, {order}",
        list(columns.values()),
        [[row.get(name) for name in columns] for row in rows],
    )
    sources = list(dict.fromkeys(row["price_source"] for row in shown if row.get("price_source")))
    if sources:
        console.print(f"  prices by {', '.join(sources[:3])}{' and others' if len(sources) > 3 else ''}")
    if any(row.get("price_basis") in {"own", "factor"} for row in ranking.rows):
        console.print("  with your own prices if your account has a price list or factor")
    left_out = max(len(ranking) - limit, 0)
    if left_out:
        console.print(f"  {left_out} more: use --limit or --json")
    for line in ranking.refusals:
        console.print(f"  {line}", markup=False, highlight=False)


def print_comparison(console: Console, comparison: Comparison) -> None:
    rows = comparison.rows
    names = [name for name in columns_of(rows) if not name.startswith(("compared_", "left_out_"))]
    print_table(console, "", names, [[row.get(name) for name in names] for row in rows])
    for line in comparison.coverage:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def print_changes(console: Console, changes: Changes) -> None:
    """Print t(n) of each region, and its parts at each n. A star marks changes beyond noise."""
    console.print(f"{name_of(changes.head)} compared with {name_of(changes.base)}", markup=False, highlight=False)
    for region in changes.regions:
        names = ("n", "before, s", "now, s", "change", "noise", "")
        print_table(console, region.shown_name, names, time_rows(region))
        titles, parts = part_table(region, "{} *")
        if parts:
            print_table(console, "", ["part of t(n) before", *titles], parts)
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
    for warning in grouped_warnings(warnings):
        console.print(f"  warning: {warning}", markup=False, highlight=False, soft_wrap=True)


def print_preview(console: Console, preview: UploadPreview) -> None:
    rows = [tuple(row.values()) for row in preview.rows]
    machine = (preview.document.get("platform") or {}).get("name")
    if rows:
        print_table(console, f"preview of the upload for {machine}", ("workload", "n", "median time in s"), rows)
    print_errors(console, preview.errors, preview.warnings)


def print_upload(console: Console, report: UploadReport) -> None:
    profiles = f", {counted(len(report.profiles), 'profile')}" if report.profiles else ""
    console.print(f"upload {report.id}: {report.status}{profiles}", markup=False, highlight=False)
    print_errors(console, report.errors, report.warnings)
    for program in report.programs:
        console.print(f"{program['name']} on all machines: {program['url']}", markup=False, soft_wrap=True)
