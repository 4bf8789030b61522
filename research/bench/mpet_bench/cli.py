"""The commands: tasks, data, fetch, questions, run, leaderboard."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from mpet_bench import __version__
from mpet_bench.datasets import (
    DATASETS,
    DEFAULT_FOLDER,
    KEY,
    DatasetError,
    fetch_dataset,
    find_dataset,
    read_table,
)
from mpet_bench.entries import EntryError, load_entry, question_table, read_predictions, run_entry
from mpet_bench.leaderboard import leaderboard_page, read_results, result_lines
from mpet_bench.scoring import LEVEL, score_answers
from mpet_bench.tasks import TASKS, Fold, Task, TaskError, get_task


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return the exit status: 0, or 1 with the reason on standard error."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except (DatasetError, EntryError, TaskError) as error:
        print(f"mpet-bench: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mpet-bench", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(function: Any, name: str, words: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=words, description=words)
        added.set_defaults(command=function)
        return added

    command(list_tasks, "tasks", "List the tasks.")
    data = command(list_data, "data", "List the data sets, their sources and local folders.")
    fetch = command(fetch_data, "fetch", "Download a data set that consists of one file.")
    fetch.add_argument("name", choices=DATASETS)
    fetch.add_argument("--into", type=Path, default=DEFAULT_FOLDER.expanduser(), metavar="FOLDER")
    questions = command(write_questions, "questions", "Write the questions of a task and the known times of each fold.")
    questions.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    run = command(run_task, "run", "Score an entry and print it with the stored scores.")
    entry = run.add_mutually_exclusive_group(required=True)
    entry.add_argument("--entry", help="FILE.py with a class Entry, or a baseline's name")
    entry.add_argument(
        "--predictions", type=Path, metavar="FILE.csv", help="a table of predictions, instead of a class"
    )
    run.add_argument("--json", type=Path, metavar="OUT", help="write the score to this file")
    for each in (questions, run):
        each.add_argument("--task", required=True, metavar="NAME")
    for each in (data, questions, run):
        each.add_argument(
            "--data",
            type=Path,
            metavar="FOLDER",
            help="folder with the data sets. A folder that contains a runs.csv replaces the task's data set, "
            "and its scores do not count for the leaderboard",
        )
    leaderboard = command(write_leaderboard, "leaderboard", "Write the leaderboard of the stored scores.")
    leaderboard.add_argument("results", type=Path, metavar="FOLDER")
    leaderboard.add_argument("--out", type=Path, required=True, metavar="FILE.md")
    return parser


def list_tasks(options: argparse.Namespace) -> None:
    for task in TASKS.values():
        print(f"{task.name:28}{task.dataset:20}{task.title}")


def list_data(options: argparse.Namespace) -> None:
    for dataset in DATASETS.values():
        try:
            state = f"in {find_dataset(dataset, options.data)}"
        except DatasetError as error:
            state = f"not found: {error}"
        print(f"{dataset.name} ({dataset.licence}), {dataset.source}\n  {state}")
        for name, checksum in dataset.files.items():
            print(f"  {checksum}  {name}")


def fetch_data(options: argparse.Namespace) -> None:
    print(fetch_dataset(DATASETS[options.name], options.into))


def write_questions(options: argparse.Namespace) -> None:
    folds, _ = _folds(get_task(options.task), options.data)
    options.out.mkdir(parents=True, exist_ok=True)
    question_table(folds).to_csv(options.out / "questions.csv", index=False)
    for number, fold in enumerate(folds):
        fold.known.to_csv(options.out / f"known-{number}.csv", index=False)
    print(f"{options.out / 'questions.csv'}: add a column time_s, and low_s and high_s for {LEVEL:.0%} intervals")


def run_task(options: argparse.Namespace) -> None:
    task = get_task(options.task)
    folds, is_frozen = _folds(task, options.data)
    seconds = None
    if options.predictions is not None:
        name, answers = options.predictions.stem, list(read_predictions(options.predictions, folds))
    else:
        name, made = load_entry(options.entry)
        timed = list(run_entry(made, folds))
        answers, seconds = [answer for answer, _ in timed], sum(spent for _, spent in timed)
    asked = [(fold.questions, fold.time_s, answer) for fold, answer in zip(folds, answers, strict=True)]
    result = {"task": task.name, "entry": name} | asdict(score_answers(asked)) | {"seconds": seconds}
    result |= {"folds": len(folds), "level": LEVEL, "frozen": is_frozen, "version": __version__}
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    stored = read_results(Path(__file__).parent / "results", Path(__file__).parents[1] / "results") if is_frozen else []
    others = [other for other in stored if other["task"] == task.name and other["entry"] != name]
    print("\n".join(result_lines(task, [*others, result], mark=name)))


def write_leaderboard(options: argparse.Namespace) -> None:
    options.out.write_text(leaderboard_page(read_results(options.results)), encoding="utf-8")


def _folds(task: Task, given: Path | None) -> tuple[list[Fold], bool]:
    """Return the folds of the task, and whether they are frozen, which means that the task's own data set is used."""
    own = given is not None and any((given / name).is_file() for name in ("runs.csv", "runs.csv.gz", "data.npz"))
    folder = given if own and given is not None else find_dataset(DATASETS[task.dataset], given)
    table: pd.DataFrame = read_table(folder)
    if table[KEY].duplicated().any():
        raise DatasetError(f"{folder} has several times for one platform, workload and n")
    return task.folds(table, is_frozen=not own), not own
