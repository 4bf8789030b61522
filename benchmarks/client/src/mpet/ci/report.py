"""Comparison of head and base, benchmark by benchmark: in one job, or with a base translated to the head's machine."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpet.changes import LEAST_CHANGE, LEVEL, compare_repeats, quantile_of_student
from mpet.ci.history import Run
from mpet.ci.importers import read_run, value_of_samples
from mpet.ci.translation import LEAST_RUNS, is_calibrated, translate
from mpet.errors import KitFailed, UsageError
from mpet.results import counted, shown_number
from mpet.summary import markdown_cell, markdown_table, percent, shown_noise

MARKER = "<!-- mpet-ci -->"  # identifies the comment of an earlier run
MOST_ROWS = 100
COMMAND_TIMEOUT_S = 6 * 3600
SECRETS = ("MPET_TOKEN", "GITHUB_TOKEN", "MPET_WEBHOOK")  # not passed to the benchmarks


@dataclass(frozen=True)
class Row:
    """The comparison of one benchmark. `noise` and `interval` are relative to `base_s`. `interval` is 0 for a
    comparison in one job."""

    name: str
    base_s: float
    head_s: float
    noise: float
    interval: float = 0.0
    least: float = LEAST_CHANGE

    @property
    def relative(self) -> float:
        return self.head_s / self.base_s - 1

    @property
    def limit(self) -> float:
        return max(self.noise, self.interval, self.least)

    @property
    def verdict(self) -> str:
        """Return "slower" or "faster" for a change beyond the interval of the translation, the noise and `least`, else
        ""."""
        if abs(self.relative) <= self.limit:
            return ""
        return "slower" if self.relative > 0 else "faster"


@dataclass(frozen=True)
class Report:
    """The comparison of all benchmarks that both sides have. `skipped` has the others, with the reason."""

    rows: list[Row]
    skipped: dict[str, str]
    how: str  # how the base was determined
    head: str = ""  # commit

    def named(self, verdict: str) -> list[str]:
        return [row.name for row in self.rows if row.verdict == verdict]

    @property
    def is_slower(self) -> bool:
        return bool(self.named("slower"))

    @property
    def headline(self) -> str:
        if not self.rows:
            return f"Nothing to compare with: a benchmark needs {LEAST_RUNS} earlier runs."
        found = {word: self.named(word) for word in ("slower", "faster")}
        sentences = [f"{word.capitalize()}: {', '.join(names)}." for word, names in found.items() if names]
        return " ".join(sentences) or "No benchmark changed beyond noise."

    @property
    def document(self) -> dict[str, Any]:
        rows = [{**vars(row), "relative": row.relative, "verdict": row.verdict} for row in self.rows]
        return {
            "head": self.head,
            "slower": self.is_slower,
            "headline": self.headline,
            "how": self.how,
            "benchmarks": rows,
            "skipped": self.skipped,
        }

    def markdown(self) -> str:
        """Return the report for a comment or the summary of a job, with changed benchmarks first."""
        lines = [MARKER, f"## Benchmarks of {markdown_cell(self.head[:10] or 'this commit')}", ""]
        lines += [f"**{markdown_cell(self.headline[:2000])}**", ""]
        rows = sorted(self.rows, key=lambda row: (not row.verdict, -abs(row.relative)))
        cells = [
            [
                markdown_cell(row.name),
                shown_number(row.base_s),
                shown_number(row.head_s),
                percent(row.relative),
                shown_noise(max(row.noise, row.interval)),
                f"**{row.verdict}**" if row.verdict else "",
            ]
            for row in rows[:MOST_ROWS]
        ]
        if cells:
            lines += markdown_table(["benchmark", "base, s", "head, s", "change", "noise", ""], cells)
        if len(rows) > MOST_ROWS:
            lines += [f"{len(rows) - MOST_ROWS} more with smaller changes.", ""]
        for reason in sorted(set(self.skipped.values())):
            names = [name for name, why in self.skipped.items() if why == reason]
            shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
            lines += [f"Not compared ({markdown_cell(reason)}): {markdown_cell(shown)}.", ""]
        lines += [markdown_cell(self.how), ""]
        return "\n".join(lines)


def compare_with_history(history: Sequence[Run], head: Run, least: float = LEAST_CHANGE) -> Report:
    """Compare the head with its base, translated to the head's machine by means of the history.

    `interval` is that of the translation, and `noise` that of the head's repeats. Both are at the 5 % level for all
    benchmarks together (one-sided, because the alarm is "slower").

    Without a calibration, the other benchmarks describe the machine. The change of one of them would therefore appear
    as an opposite change of the others. The benchmarks that have changed most are found first. The comparison is then
    repeated, and these do not describe the machine.
    """
    rows = translated_rows(history, head, least)
    has_calibration = is_calibrated([*history, head])
    changed = [] if has_calibration else most_changed(rows)
    if changed:
        rows = translated_rows(history, head, least, changed)
    compared = {row.name for row in rows}
    skipped = {name: f"fewer than {LEAST_RUNS} earlier runs" for name in head.values if name not in compared}
    cpus = sorted({run.cpu or "unknown" for run in history})
    common = (
        "The calibration of each run measures the speed of its machine."
        if has_calibration
        else "Runs have no calibration: a slowdown common to all benchmarks is attributed to the machine."
    )
    base = f"Base: {counted(len(history), 'earlier run')} on {counted(len(cpus), 'CPU model')}"
    if not rows:
        return Report(rows, skipped, f"{base}.", head.commit)
    how = (
        f"{base}, translated to {head.cpu or 'an unknown CPU'}. "
        f"Noise is the larger one of the translation's interval and that of the repeats. {common}"
    )
    return Report(rows, skipped, how, head.commit)


def translated_rows(history: Sequence[Run], head: Run, least: float, changed: Collection[str] = ()) -> list[Row]:
    translations = translate(history, head, changed)
    level = 2 * LEVEL / max(1, len(translations))
    rows = []
    for name, base in translations.items():
        value = head.values[name]
        repeats = value.repeats
        sd = value.spread_s / value.seconds / math.sqrt(repeats)
        # A difference d of logarithms is a change of e^d - 1.
        df = min(repeats - 1, 1000)
        noise = math.expm1(min(700.0, quantile_of_student(level, df) * sd)) if df else 0.0
        interval = math.expm1(min(700.0, quantile_of_student(level, base.df) * base.sd))
        rows.append(Row(name, math.exp(base.log_s), value.seconds, noise, interval, least))
    return rows


def most_changed(rows: Sequence[Row]) -> list[str]:
    """Return the benchmarks with the largest changes relative to noise, but fewer than half of all: if most benchmarks
    change, the machine is the more probable reason."""
    changed = [row for row in rows if row.verdict]
    changed.sort(key=lambda row: abs(math.log(row.head_s / row.base_s)) / max(row.limit, LEAST_CHANGE), reverse=True)
    return [row.name for row in changed[: (len(rows) - 1) // 2]]


def run_command(command: str, results: Path, form: str) -> Run:
    """Run a shell command and return the results that it writes to this file or folder."""
    if results.is_dir() and results.name == "criterion":
        shutil.rmtree(results)  # otherwise results of the other side would be read again
    elif results.is_file():
        results.unlink()
    environment = {name: value for name, value in os.environ.items() if name not in SECRETS}
    try:
        done = subprocess.run(["bash", "-c", command], check=False, env=environment, timeout=COMMAND_TIMEOUT_S)  # noqa: S603, S607
    except subprocess.TimeoutExpired as error:
        raise KitFailed(f"{command!r} ran longer than {COMMAND_TIMEOUT_S // 3600} hours") from error
    if done.returncode:
        raise KitFailed(f"{command!r} ended with status {done.returncode}")
    if not results.exists():
        raise KitFailed(f"{command!r} has not written {results}")
    return read_run(results, form)


def compare_in_turn(
    base: str, head: str, results: Path, form: str, *, rounds: int, least: float = LEAST_CHANGE
) -> tuple[Report, list[Run]]:
    """Run both commands in turn on this machine and return the report and the runs of the head.

    The order is swapped in each round. The noise is that of the rounds, as in `mpet changes`.
    """
    if rounds < 2:
        raise UsageError("at least two rounds are needed, because their spread is the noise")
    sides: tuple[list[Run], list[Run]] = ([], [])
    for number in range(rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            sides[side].append(run_command((base, head)[side], results, form))
    names = [name for name in sides[1][0].values if all(name in run.values for side in sides for run in side)]
    rows = []
    for name in names:
        times = [[run.values[name].seconds for run in side] for side in sides]
        (change,) = compare_repeats({1: times[0]}, {1: times[1]}, {1: sum(times[0]) / rounds}, len(names), least)
        rows.append(Row(name, change.base_s, change.head_s, change.relative_noise or 0.0, least=least))
    everything = {name for side in sides for run in side for name in run.values}
    skipped = dict.fromkeys(sorted(everything - {*names}), "not in every round of both sides")
    how = f"Base and head ran {rounds} times each in turn on the same machine. Noise is that of these rounds."
    return Report(rows, skipped, how, sides[1][0].commit), sides[1]


def mean_of_rounds(runs: Sequence[Run]) -> Run:
    """Return one run for the history from several rounds: the mean of each benchmark, and its spread over the
    rounds."""
    names = {name: None for run in runs for name in run.values}
    values = {
        name: value_of_samples([run.values[name].seconds for run in runs if name in run.values]) for name in names
    }
    return Run(values, runs[0].commit, runs[0].time, machine=runs[0].machine)
