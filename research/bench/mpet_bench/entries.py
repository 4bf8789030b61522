"""Entries: a class in a file or a table of predictions. This module runs entries and checks their answers."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from mpet_bench.datasets import KEY
from mpet_bench.scoring import LEVEL, Answers, Floats
from mpet_bench.tasks import Fold

BASELINES = Path(__file__).parent / "baselines"
PREDICTION_COLUMNS = ["fold", *KEY]
INTERVAL_COLUMNS = ["low_s", "high_s"]


class EntryError(Exception):
    """Raised if an entry cannot be loaded, or if one of its answers cannot be scored."""


def load_entry(entry: str) -> tuple[str, type[Any]]:
    """Return the name and class of an entry, given a file or the name of a baseline.

    Raise EntryError if there is no such entry, or if its class is incomplete.
    """
    baselines = {path.stem.replace("_", "-"): path for path in sorted(BASELINES.glob("[a-z]*.py"))}
    path = baselines.get(entry, Path(entry))
    if not path.is_file():
        raise EntryError(f"{entry} is neither a file nor a baseline; baselines: {', '.join(baselines)}")
    specification = importlib.util.spec_from_file_location(f"entry_{path.stem}", path)
    if specification is None or specification.loader is None:
        raise EntryError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    made = getattr(module, "Entry", None)
    if not isinstance(made, type):
        raise EntryError(f"{path} has no class Entry")
    if missing := [name for name in ("fit", "predict") if not callable(getattr(made, name, None))]:
        raise EntryError(f"Entry of {path} has no method {', '.join(missing)}")
    return path.stem.replace("_", "-"), made


def run_entry(made: type[Any], folds: list[Fold]) -> Iterator[tuple[Answers, float]]:
    """Yield the answers of a new entry to each fold, with its processor time in seconds.

    Libraries compute with one thread, as waiting for other threads would count as processor time. Raise EntryError if
    an answer is invalid.
    """
    for number, fold in enumerate(folds):
        start = time.process_time()
        with threadpool_limits(1):
            entry = made()
            entry.fit(fold.known.copy())
            predicted = entry.predict(fold.questions.copy())
            interval = None
            if hasattr(entry, "predict_interval"):
                interval = entry.predict_interval(fold.questions.copy(), LEVEL)
        seconds = time.process_time() - start
        yield checked_answers(number, fold.questions, predicted, interval), seconds


def checked_answers(fold: int, questions: pd.DataFrame, predicted: Any, interval: Any) -> Answers:
    """Return the answers as arrays. Raise EntryError with the question of the first invalid answer."""
    where = [f"fold {fold}, {row.platform}, {row.workload}, n = {row.n}" for row in questions.itertuples()]
    time_s = _numbers(predicted, (len(questions),), "predict")
    for row in np.flatnonzero(~np.isnan(time_s) & ~((time_s > 0) & np.isfinite(time_s)))[:1]:
        raise EntryError(f"{where[row]}: the predicted time is {time_s[row]:g}; expected seconds above 0")
    if interval is None:
        return Answers(time_s, None)
    if isinstance(interval, tuple) and len(interval) == 2:
        interval = np.stack([np.asarray(bound) for bound in interval], axis=1)
    interval_s = _numbers(interval, (len(questions), 2), "predict_interval")
    is_usable = (interval_s[:, 0] > 0) & (interval_s[:, 0] <= interval_s[:, 1]) & np.isfinite(interval_s[:, 1])
    for row in np.flatnonzero(~is_usable & ~np.isnan(time_s))[:1]:
        low, high = interval_s[row]
        raise EntryError(f"{where[row]}: the interval is {low:g} to {high:g}; expected 0 < low <= high")
    return Answers(time_s, np.where(np.isnan(time_s)[:, None], np.nan, interval_s))


def _numbers(values: Any, shape: tuple[int, ...], method: str) -> Floats:
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EntryError(f"{method} did not return numbers: {error}") from error
    if numbers.shape != shape:
        raise EntryError(f"{method} returned an array of shape {numbers.shape}; expected {shape}")
    return numbers


def question_table(folds: list[Fold]) -> pd.DataFrame:
    """Return the questions that a table of predictions answers: fold, platform, workload and n."""
    return pd.concat([fold.questions[KEY].assign(fold=number) for number, fold in enumerate(folds)])[PREDICTION_COLUMNS]


def read_predictions(file: Path, folds: list[Fold]) -> Iterator[Answers]:
    """Yield the answers to each fold from a CSV table.

    Its columns are those of `question_table`, `time_s`, and `low_s` and `high_s` if it has intervals. An empty `time_s`
    is a refusal. Raise EntryError with the first invalid row.
    """
    try:
        table = pd.read_csv(file, dtype={"platform": str, "workload": str})
    except (OSError, ValueError) as error:
        raise EntryError(f"{file}: {error}") from error
    if missing := [name for name in [*PREDICTION_COLUMNS, "time_s"] if name not in table]:
        raise EntryError(f"{file} has no column {', '.join(missing)}")
    values = ["time_s", *(name for name in INTERVAL_COLUMNS if set(INTERVAL_COLUMNS) <= set(table))]
    for name in ["fold", "n", *values]:
        numbers = pd.to_numeric(table[name], errors="coerce")
        is_wrong = numbers.isna() & (table[name].notna() | (name in {"fold", "n"}))
        for row in np.flatnonzero(is_wrong)[:1]:
            raise EntryError(f"{file}, line {row + 2}: {name} is {table[name][row]!r}, not a number")
        table[name] = numbers
    for row in np.flatnonzero(table.duplicated(PREDICTION_COLUMNS))[:1]:
        raise EntryError(f"{file}, line {row + 2}: duplicate row for this question")
    asked = question_table(folds).reset_index(drop=True)
    joined = table.reset_index(names="line").merge(asked, on=PREDICTION_COLUMNS, how="outer", indicator=True)
    for row in joined[joined["_merge"] == "left_only"].sort_values("line").head(1).itertuples():
        raise EntryError(
            f"{file}, line {int(row.line) + 2}: {row.platform}, {row.workload}, n = {row.n} is no question of the task"
        )
    for row in joined[joined["_merge"] == "right_only"].head(1).itertuples():
        raise EntryError(f"{file}: fold {row.fold}, {row.platform}, {row.workload}, n = {row.n} is missing")
    answers = asked.merge(table, on=PREDICTION_COLUMNS, how="left", validate="one_to_one")
    for number, fold in enumerate(folds):
        part = answers[answers["fold"] == number]
        interval = part[INTERVAL_COLUMNS].to_numpy() if len(values) == 3 else None
        yield checked_answers(number, fold.questions, part["time_s"].to_numpy(), interval)
