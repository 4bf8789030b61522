"""Accuracy of predictions through a bridge, and the choice of its workloads.

A bridge is a set of workloads of public suites that two machines have in common. A program is predicted on a machine of
which only the workloads of the bridge are known.

In a fleet, a whole suite represents the program: it is known on one random machine of another microarchitecture (R =
1). Few machines ran both stress-ng and other programs, such as those of the kit. On these machines, the programs
themselves are predicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.evaluate import Protocol, chosen_rows, evaluate, hidden_pairs
from predictor.core.methods import METHODS
from profiles.arrays import FloatArray

# Application names of each suite, in the whole repository and in the datasets made from it.
SUITES = {
    "stress-ng": ("stress-ng", "stressng"),
    "compression": ("compression", "compress"),
    "geekbench": ("geekbench", "gb6"),
}
# The suites that are hidden. Each represents a program.
HIDDEN = ("geekbench", "compression")
NOT_FIXED_WORK = frozenset(
    [
        "spinmem",
        "memthrash",
        "eventfd",
        "l1cache",
        "cache",
        "hrtimers",
        "resched",
        "tlb-shootdown",
        "ptr-chase",
        "stream",
    ]
)
# The stress-ng sections that `make quick` runs.
SHIPPED_BRIDGE = Path(__file__).parents[1] / "benchmarks" / "kit" / "stress-ng" / "bridge"
# A workload can be chosen if at least this share of the machines has it. A workload that one architecture lacks cannot
# be part of a bridge.
FEWEST_MACHINES = 0.95
SIZES = (5, 10, 20)
# Number of pairs of each hidden suite that are used to choose the sets.
CHOICE_SAMPLE = 100
CHOSEN_BY = METHODS["speed-ratio-per-n"]
REPORTED = ("mpet", "speed-ratio-per-n")
CHOICE_SEED, REPORT_SEED = 1, 7


@dataclass(frozen=True)
class Fleet:
    """The machines that have all three suites, and the workloads of each suite."""

    database: Database
    suites: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, database: Database) -> Fleet:
        """Return the machines that have at least half of the workloads of every suite.

        Raise ValueError if there are fewer than two.
        """
        applications = np.array(database.workload_table["application"], dtype=str)
        suites = {
            suite: tuple(np.flatnonzero(np.isin(applications, names)).tolist()) for suite, names in SUITES.items()
        }
        pairs = np.unique(np.stack([database.platform_index, database.workload_index]), axis=1)
        complete = np.ones(len(database.platforms), dtype=bool)
        for workloads in suites.values():
            having = np.bincount(pairs[0, np.isin(pairs[1], workloads)], minlength=len(database.platforms))
            complete &= having * 2 >= max(len(workloads), 1)
        if np.count_nonzero(complete) < 2:
            raise ValueError(f"fewer than two machines have all of {', '.join(SUITES)}")
        return cls(database.part(np.flatnonzero(complete[database.platform_index])), suites)

    @property
    def machines(self) -> int:
        return len(np.unique(self.database.platform_index))

    def candidates(self, *suites: str) -> tuple[int, ...]:
        """Return the workloads of these suites that nearly all machines have and that are a fixed amount of work."""
        machines = np.bincount(self.database.workload_index, minlength=len(self.database.workloads)) / self.machines
        return tuple(
            workload
            for suite in suites
            for workload in self.suites[suite]
            if machines[workload] >= FEWEST_MACHINES and section_of(self.database, workload) not in NOT_FIXED_WORK
        )

    def protocol(self, hidden: str, bridge: Sequence[int], sample: int, seed: int) -> Protocol:
        return Protocol(
            "application",
            references=1,
            unlike=True,
            bridge=tuple(bridge),
            workloads=self.suites[hidden],
            sample=sample,
            seed=seed,
        )


def section_of(database: Database, workload: int) -> str:
    """Return the name of a workload in its suite: `memcpy` for stress-ng/memcpy."""
    return database.workloads[workload][len(str(database.workload_table["application"][workload])) + 1 :]


def choose_bridge(fleet: Fleet, candidates: Sequence[int], hidden: Sequence[str], size: int, sample: int) -> list[int]:
    """Choose the workloads whose averaged speed ratios predict the hidden suites best, by greedy forward selection.

    The first workload is the best one alone. Each further one lowers the mean error of the set most. `sample` pairs of
    every hidden suite are predicted once from each candidate alone. The prediction from a set is the geometric mean of
    the predictions from its workloads.
    """
    errors = np.concatenate([_log_errors(fleet, candidates, suite, sample) for suite in hidden], axis=1)
    chosen: list[int] = []
    total = np.zeros(errors.shape[1])
    for count in range(1, min(size, len(candidates)) + 1):
        scores = np.abs((total + errors) / count).mean(axis=1)
        scores[chosen] = np.inf
        chosen.append(int(np.argmin(scores)))
        total = total + errors[chosen[-1]]
    return [candidates[place] for place in chosen]


def _log_errors(fleet: Fleet, candidates: Sequence[int], hidden: str, sample: int) -> FloatArray:
    """Return ln(predicted / measured) from each candidate alone: (C, 2 * pairs), at one thread and at all threads.

    If a candidate gives no prediction, the mean of the other candidates replaces it.
    """
    database = fleet.database
    protocol = fleet.protocol(hidden, candidates, sample, CHOICE_SEED)
    rows = chosen_rows(database, protocol)
    errors = np.full((len(candidates), len(rows), 2), np.nan)
    for place, row in enumerate(rows.tolist()):
        n, measured = database.curve(row)
        target, workload = int(database.platform_index[row]), int(database.workload_index[row])
        query = Query(workload, target, group=int(database.group[row]), n=(int(n[0]), int(n[-1])))
        seen = database.without(*hidden_pairs(database, row, protocol))
        # Only the target and the reference matter. In a database of these two, hiding all candidates but one is fast.
        both = np.append(database.platform_index[seen.rows_of_workload(workload)], target)
        pair = seen.part(np.flatnonzero(np.isin(database.platform_index, both) & ~seen.hidden))
        for which, candidate in enumerate(candidates):
            view = pair.without(target, np.setdiff1d(candidates, [candidate]))
            try:
                answer = CHOSEN_BY.predict(view, query, CHOSEN_BY.settings())
            except PredictionError:
                continue
            errors[which, place] = np.log(answer.time_s / measured[[0, -1]])
    flat = errors.reshape(len(candidates), -1)
    flat = flat[:, ~np.isnan(flat).all(axis=0)]
    return np.where(np.isnan(flat), np.nanmean(flat, axis=0), flat)


def bridge_sets(fleet: Fleet, sample: int = CHOICE_SAMPLE) -> dict[str, tuple[int, ...]]:
    """Return the compared sets of workloads by name. The names of greedily chosen sets begin with "best"."""
    stress, compression = fleet.suites["stress-ng"], fleet.suites["compression"]
    most = max(SIZES)
    of_stress = choose_bridge(fleet, fleet.candidates("stress-ng"), HIDDEN, most, sample)
    of_both = choose_bridge(fleet, fleet.candidates("stress-ng", "compression"), ("geekbench",), most, sample)
    every = np.setdiff1d(np.unique(fleet.database.workload_index), fleet.suites["geekbench"])
    return {
        "stress-ng cpu": tuple(workload for workload in stress if section_of(fleet.database, workload) == "cpu"),
        **{f"best {size} of stress-ng": tuple(of_stress[:size]) for size in SIZES},
        "all of stress-ng": stress,
        "compression": compression,
        **{f"best {size} of stress-ng and compression": tuple(of_both[:size]) for size in SIZES},
        "stress-ng and compression": (*stress, *compression),
        "all": tuple(every.tolist()),
    }


def measure_bridges(fleet: Fleet, sample: int, choice: int = CHOICE_SAMPLE) -> dict[str, Any]:
    """Return the workloads of each set, and the statistics of each method by hidden suite.

    A suite that is part of the set is not hidden. `choice` is the number of pairs of each suite that are used to choose
    the sets. These pairs are drawn with another seed.
    """
    compression = set(fleet.suites["compression"])
    results = {}
    for name, bridge in bridge_sets(fleet, choice).items():
        asked = [suite for suite in HIDDEN if suite == "geekbench" or not compression & set(bridge)]
        results[name] = {
            "workloads": [fleet.database.workloads[workload] for workload in bridge],
            "hidden": {
                suite: method_statistics(fleet.database, fleet.protocol(suite, bridge, sample, REPORT_SEED))
                for suite in asked
            },
        }
    return {"machines": fleet.machines, "pairs": sample, "chosen_by": choice, "sets": results}


def measure_programs(database: Database, sample: int, references: int = 1) -> dict[str, Any]:
    """Return the same as `measure_bridges`, for programs outside the suites, on the machines that ran programs and the
    suites of each set. Each program is known on at most `references` of them.

    Raise ValueError if there are fewer than two such machines.
    """
    applications = np.array(database.workload_table["application"], dtype=str)
    is_stress = np.isin(applications, SUITES["stress-ng"])
    is_program = ~np.isin(applications, sum(SUITES.values(), ()))
    sections = [section_of(database, workload) for workload in range(len(applications))]
    shipped = np.isin(sections, SHIPPED_BRIDGE.read_text(encoding="utf-8").split())
    sets = {"those of make quick": is_stress & shipped, "all of stress-ng": is_stress, "all suites": ~is_program}
    results: dict[str, Any] = {}
    for name, is_bridge in sets.items():
        with_bridge, with_program = (
            np.unique(database.platform_index[kind[database.workload_index]]) for kind in (is_bridge, is_program)
        )
        both = np.intersect1d(with_bridge, with_program)
        if len(both) < 2:
            continue
        part = database.part(np.flatnonzero(np.isin(database.platform_index, both)))
        known = np.isin(np.arange(len(applications)), part.workload_index)
        bridge, programs = (tuple(np.flatnonzero(kind & known).tolist()) for kind in (is_bridge, is_program))
        protocol = Protocol(
            "application", references=references, bridge=bridge, workloads=programs, sample=sample, seed=REPORT_SEED
        )
        results[name] = {
            "workloads": [database.workloads[workload] for workload in bridge],
            "machines": len(both),
            "pairs": len(chosen_rows(part, protocol)),
            "hidden": {"programs": method_statistics(part, protocol)},
        }
    widest = results.get("all suites")  # on the machines of the other sets, too
    if widest is None:
        raise ValueError("fewer than two machines have workloads of the suites and other programs")
    return {"machines": widest["machines"], "pairs": widest["pairs"], "sets": results}


def method_statistics(database: Database, protocol: Protocol) -> dict[str, Any]:
    report = evaluate(database, [METHODS[method] for method in REPORTED], protocol).report()
    return dict(asdict(report)["methods"])
