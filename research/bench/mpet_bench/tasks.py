"""Frozen tasks: a data set, the hidden part of it, and a seed.

A task is a list of folds. In each fold, an entry learns the known times and predicts hidden ones. What is hidden
depends on names, thread counts and the seed, but not on times. A task with changed questions gets a new name:
`questions_sha256` detects changes under the old name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mpet_bench.checksums import QUESTIONS_SHA256
from mpet_bench.datasets import KEY
from mpet_bench.jax_random import fold_in, make_key, permutation, split

Rows = NDArray[np.bool_]
# NumPy guarantees that the numbers of RandomState stay the same in later versions (NEP 19).
Rule = Callable[[pd.DataFrame, np.random.RandomState], Iterator[tuple[Rows, Rows]]]


class TaskError(Exception):
    """Raised if a task is unknown, or cannot be used with a data set."""


@dataclass(frozen=True)
class Fold:
    """The data of one fold.

    `known` is the table that an entry learns, `questions` has the same columns without times, and `time_s` has the
    measured times of the questions.
    """

    known: pd.DataFrame
    questions: pd.DataFrame
    time_s: NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """A frozen task. `rule` yields for each fold the masks of the known and of the asked rows of the table."""

    name: str
    title: str
    dataset: str
    rule: Rule = field(repr=False)
    questions_sha256: str
    ranked_by: str = "mean"
    seed: int = 2026

    def folds(self, table: pd.DataFrame, *, is_frozen: bool = True) -> list[Fold]:
        """Return the folds of the task on the table.

        With `is_frozen`, the table is the data set of the task, and the questions must be the frozen ones. Raise
        TaskError if they are not, or if a fold has no known row or no question.
        """
        masks = list(self.rule(table, np.random.RandomState(self.seed)))
        if not masks or not all(known.any() and asked.any() for known, asked in masks):
            raise TaskError(f"{self.name}: the data set is too small: a fold has no known times or no questions")
        if is_frozen and (found := questions_sha256(table, masks)) != self.questions_sha256:
            raise TaskError(f"{self.name}: the questions have the SHA-256 {found}; expected {self.questions_sha256}")
        return [
            Fold(
                known=table[known].reset_index(drop=True),
                questions=table[asked].drop(columns="time_s").reset_index(drop=True),
                time_s=table.loc[asked, "time_s"].to_numpy(),
            )
            for known, asked in masks
        ]


def questions_sha256(table: pd.DataFrame, masks: list[tuple[Rows, Rows]]) -> str:
    """Return the checksum of the names of all asked and known rows, fold by fold."""
    digest = hashlib.sha256()
    lines = (table["platform"] + "," + table["workload"] + "," + table["n"].astype(str) + "\n").to_numpy(dtype=object)
    for known, asked in masks:
        digest.update("".join(["asked\n", *lines[asked], "known\n", *lines[known]]).encode())
    return digest.hexdigest()


def hide_pairs(table: pd.DataFrame, random: np.random.RandomState, *, sample: int) -> Iterator[tuple[Rows, Rows]]:
    """Hide `sample` random pairs of platform and workload, at most a fifth of all, in one fold."""
    pair = _pair_codes(table)
    count = pair.max() + 1
    hidden = np.isin(pair, random.permutation(count)[: min(sample, count // 5)])
    yield ~hidden, hidden


def hide_groups(
    table: pd.DataFrame, random: np.random.RandomState, *, column: str, folds: int, each: int
) -> Iterator[tuple[Rows, Rows]]:
    """Hide every workload in one fold, on all platforms of one random group.

    The platforms of a group have the same value in the column. At most `each` pairs of a workload are asked.
    """
    group, pair = table[column].fillna("").to_numpy(dtype=object), _pair_codes(table)
    for workloads in np.array_split(random.permutation(sorted(table["workload"].unique())), folds):
        hidden, asked = np.zeros(len(table), dtype=bool), np.zeros(len(table), dtype=bool)
        for workload in workloads:
            rows = (table["workload"] == workload).to_numpy()
            groups = sorted({*group[rows]} - {""})
            of_group = rows & (group == groups[random.randint(len(groups))])
            hidden |= of_group
            asked |= np.isin(pair, random.permutation(np.unique(pair[of_group]))[:each])
        yield ~hidden, asked


def hide_suites(
    table: pd.DataFrame, random: np.random.RandomState, *, references: int, draws: int, each: int
) -> Iterator[tuple[Rows, Rows]]:
    """Hide all workloads of one suite on all platforms but `references` random ones.

    `each` random pairs are asked. Each suite is hidden in `draws` folds, with other references in each.
    """
    pair = _pair_codes(table)
    for suite in sorted(table["suite"].unique()):
        rows = (table["suite"] == suite).to_numpy()
        for _ in range(draws):
            known_on = random.permutation(sorted(table.loc[rows, "platform"].unique()))[:references]
            hidden = rows & ~table["platform"].isin(known_on).to_numpy()
            workloads = table.loc[rows & ~hidden, "workload"].unique()
            askable = np.unique(pair[hidden & table["workload"].isin(workloads).to_numpy()])
            yield ~hidden, np.isin(pair, random.permutation(askable)[:each])


def hide_all_but_few(
    table: pd.DataFrame, random: np.random.RandomState, *, targets: int, known: int
) -> Iterator[tuple[Rows, Rows]]:
    """Hide all but `known` random workloads on each of `targets` random platforms."""
    hidden = np.zeros(len(table), dtype=bool)
    for target in random.permutation(sorted(table["platform"].unique()))[:targets]:
        rows = (table["platform"] == target).to_numpy()
        hidden |= (
            rows & ~table["workload"].isin(random.permutation(table["workload"][rows].unique())[:known]).to_numpy()
        )
    yield ~hidden, hidden


def small_databases(
    table: pd.DataFrame, random: np.random.RandomState, *, platforms: int, workloads: int, draws: int
) -> Iterator[tuple[Rows, Rows]]:
    """Yield random parts of the table with few workloads and few platforms, which all have different processors.

    One workload is hidden on each platform, another one on each if there are enough.
    """
    processor = table.groupby("platform")["cpu_model"].first()
    for _ in range(draws):
        order = random.permutation(sorted(table["platform"].unique()))
        chosen = order[np.sort(np.unique(processor[order].to_numpy(dtype=str), return_index=True)[1])][:platforms]
        of_platforms = table["platform"].isin(chosen).to_numpy()
        names = random.permutation(sorted(table["workload"][of_platforms].unique()))[:workloads]
        part = of_platforms & table["workload"].isin(names).to_numpy()
        asked = np.zeros(len(table), dtype=bool)
        for place, platform in enumerate(chosen):
            asked |= (
                part & ((table["platform"] == platform) & (table["workload"] == names[place % len(names)])).to_numpy()
            )
        yield part & ~asked, asked


def hide_large_n(
    table: pd.DataFrame, random: np.random.RandomState, *, known_n: int, folds: int, each: int
) -> Iterator[tuple[Rows, Rows]]:
    """Hide every workload with more than `known_n` threads on all platforms. Each fold hides a part of the workloads.

    At these n, `each` random pairs are asked, at most half of all. The asked pairs are hidden at small n, too.
    """
    pair, is_large = _pair_codes(table), (table["n"] > known_n).to_numpy()
    for workloads in np.array_split(random.permutation(sorted(table["workload"].unique())), folds):
        rows = table["workload"].isin(workloads).to_numpy()
        askable = random.permutation(np.unique(pair[rows & is_large]))
        hidden = np.isin(pair, askable[: min(each, len(askable) // 2)])
        yield ~hidden & ~(rows & is_large), hidden & is_large


def pitot_splits(
    table: pd.DataFrame, random: np.random.RandomState, *, share: float, sample: int
) -> Iterator[tuple[Rows, Rows]]:
    """Yield the five replicates that Pitot's `scripts/split.py` draws with its seed 42.

    `share` is the share of all pairs that is known: the training and validation sets. A random sample of the test set
    is asked.
    """
    count = len(table)
    known_count = int(count * (share * 0.8)) + int(count * (share * 0.2))
    for replicate in split(make_key(int(share * 1e6)), 5):
        # The first of Pitot's four objectives.
        order = permutation(split(fold_in(replicate, 42), 4)[0], count)
        known, asked = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        known[order[:known_count]] = True
        asked[random.permutation(np.sort(order[known_count:]))[:sample]] = True
        yield known, asked


def _pair_codes(table: pd.DataFrame) -> NDArray[np.int64]:
    """Return the number of each row's pair of platform and workload, in the order of their names."""
    return table.groupby(KEY[:2], sort=True).ngroup().to_numpy()


def _task(name: str, title: str, dataset: str, rule: Callable[..., Any], ranked_by: str = "mean", **rest: Any) -> Task:
    return Task(name, title, dataset, partial(rule, **rest), QUESTIONS_SHA256[name], ranked_by)


TASKS = {
    task.name: task
    for task in (
        _task(
            "hidden-pair-v1",
            "300 random pairs of platform and workload are hidden",
            "sparecores-gb6", hide_pairs, sample=300,
        ),
        _task(
            "unseen-microarchitecture-v1",
            "the workload is known on no platform of the target's microarchitecture",
            "sparecores-llama", hide_groups, column="microarchitecture", folds=1, each=10,
        ),
        _task(
            "unseen-instruction-set-v1",
            "the workload is known on no platform of the target's instruction set",
            "sparecores-gb6", hide_groups, column="architecture", folds=4, each=20,
        ),
        *(
            _task(
                f"references-{references}-v1",
                f"the workload's suite is known on {references} other platform{'s' * (references > 1)} only",
                "sparecores-suites", hide_suites, references=references, draws=2, each=50,
            )
            for references in (1, 3, 10)
        ),
        _task(
            "five-workloads-v1",
            "five workloads are known on the target",
            "sparecores-gb6", hide_all_but_few, targets=27, known=5,
        ),
        _task(
            "small-databases-v1",
            "30 databases of 9 platforms and 12 workloads",
            "sparecores-llama", small_databases, platforms=9, workloads=12, draws=30,
        ),
        _task(
            "beyond-n-v1",
            "the workload is known with at most 8 threads and predicted for more",
            "sparecores-gb6", hide_large_n, known_n=8, folds=4, each=75,
        ),
        _task(
            "intervals-v1",
            "1,000 random pairs are hidden; entries are ranked by their intervals",
            "sparecores-llama", hide_pairs, sample=1000, ranked_by="interval_score",
        ),
        *(
            _task(
                f"pitot-{percent}-v1",
                f"Pitot's five splits with {percent} % of the pairs known; 1,000 random pairs of each test set",
                "pitot", pitot_splits, share=percent / 100, sample=1000,
            )
            for percent in (90, 50, 10)
        ),
    )
}  # fmt: skip


def get_task(name: str) -> Task:
    """Return the task of that name. Raise TaskError if it is unknown."""
    if name not in TASKS:
        raise TaskError(f"unknown task {name!r}; known: {', '.join(TASKS)}")
    return TASKS[name]
