"""Stored scores as tables: the leaderboard, and the scores of one task with a new entry for the terminal."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from mpet_bench.tasks import TASKS, Task

Result = dict[str, Any]

HEAD = ("entry", "mean %", "median %", "coverage", "interval score", "seconds", "refused")
INTRODUCTION = """# Leaderboard of mpet-bench

Errors of predictions of hidden times, in percent. The error of a pair is the mean of |predicted - measured| / measured
over the requested n; the table shows its mean and median over all pairs. Coverage is the share of measured times inside
the 90 % intervals. The interval score (in logarithms of time) is low for narrow intervals that contain the measured
times. Seconds are processor time for learning and predicting. `make leaderboard` writes this page from
`research/bench/results/`. [`research/bench`](bench/README.md) describes how to enter.
"""
# Errors that others published for the same questions. They are not scores of this benchmark.
PUBLISHED = {
    f"pitot-{percent}-v1": f"Published: Pitot (Huang et al. 2025), {error} % on these complete test sets, read "
    "from the vector graphics `figures/baseline.pdf` of its repository; its abstract states 5.2 %. Pitot also learns "
    "from opcode counts, platform features, and runtimes with interference."
    for percent, error in ((90, 5.4), (50, 5.8), (10, 10.3))
}


def read_results(*folders: Path) -> list[Result]:
    """Return the stored scores in the first of the folders that exists, by file name."""
    folder = next((folder for folder in folders if folder.is_dir()), None)
    files = sorted(folder.glob("*.json")) if folder else []
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def result_lines(task: Task, results: list[Result], mark: str | None = None) -> list[str]:
    """Return a Markdown table of the scores of one task, the best first. The entry `mark` is bold.

    Entries without the score that the task ranks by are last.
    """
    ranked = sorted(
        results, key=lambda result: (result[task.ranked_by] is None, result[task.ranked_by], result["entry"])
    )
    rows = [
        [f"**{result['entry']}**" if result["entry"] == mark else result["entry"], *_cells(result)] for result in ranked
    ]
    return [f"| {' | '.join(row)} |" for row in (HEAD, ["---"] + ["---:"] * (len(HEAD) - 1), *rows)]


def leaderboard_page(results: list[Result]) -> str:
    """Return the page with all tasks that have results."""
    parts = [INTRODUCTION]
    for task in TASKS.values():
        of_task = [result for result in results if result["task"] == task.name and result["frozen"]]
        if of_task:
            count = of_task[0]["questions"]
            title = f"{task.title[0].upper()}{task.title[1:]}."
            published = f"\n\n{textwrap.fill(PUBLISHED[task.name], 120)}" if task.name in PUBLISHED else ""
            lines = "\n".join(result_lines(task, of_task))
            parts.append(f"## {task.name}\n\n{title} {count:,} pairs of {task.dataset}.{published}\n\n{lines}\n")
    return "\n".join(parts)


def _cells(result: Result) -> list[str]:
    coverage = "" if result["coverage"] is None else f"{100 * result['coverage']:.1f} %"
    score = "" if result["interval_score"] is None else f"{result['interval_score']:.3g}"
    seconds = "" if result["seconds"] is None else f"{result['seconds']:.3g}"
    return [f"{result['mean']:.3g}", f"{result['median']:.3g}", coverage, score, seconds, str(result["refused"])]
