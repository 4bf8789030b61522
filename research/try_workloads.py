"""Choice of the kit's workloads for `mpet try`: those that predict a machine's other programs best.

The workloads are chosen on one half of the demo's machines, and the errors are reported on the other half. The demo's
workloads are simulations of the kit's programs under other names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from predictor.core.answers import Method
from predictor.core.database import Database
from predictor.core.evaluate import Protocol, evaluate
from predictor.core.methods import METHODS
from profiles.arrays import FloatArray, IntArray

# Map the kit's workload (a name in WORKLOADS) -> the prefix of the slugs of the same program in the demo.
SIMULATED_PROGRAMS = {
    "edge_pipeline": "video-",
    "fft": "fft-",
    "hog": "hog-",
    "jacobi": "flow-",
    "kdtree": "kd-tree-",
    "mandelbrot_dynamic": "mandelbrot-rows-",
    "mandelbrot_static": "mandelbrot-blocks-",
    "matmul_blocked": "matmul-blocked-",
    "mergesort": "sort-",
    "nbody": "n-body-",
    "nqueens": "n-queens-",
    "pointer_chase": "list-",
    "sgm": "sgm-",
    "shared_histogram": "histogram-",
    "sparselu": "lu-",
    "spmv": "spmv-",
    "srad": "srad-",
}
# The same workloads as TRIAL_WORKLOADS of the client.
SHIPPED = (
    *("hog", "fft", "nbody", "srad", "spmv", "edge_pipeline", "matmul_blocked", "mandelbrot_dynamic", "sgm", "jacobi"),
    *("shared_histogram", "sparselu"),
)
ERROR_OF_REFUSAL = 1.0
TRY_METHOD = METHODS["mpet"]


@dataclass
class TryStudy:
    """Errors of predictions on machines that ran only a given set of programs.

    Every workload of every machine is predicted, including those of the set. The measurements of a workload's own
    application on the machine are hidden. So all sets are compared on the same predictions, and no set is better
    because it omits workloads that are hard to predict.
    """

    database: Database
    method: Method[Any] = TRY_METHOD
    progress: Callable[[int], Any] = int

    @cached_property
    def programs(self) -> dict[str, tuple[int, ...]]:
        """Return the workloads of each program of the demo, by the kit's name.

        Raise ValueError if there are fewer than two programs.
        """
        programs = {
            name: tuple(place for place, slug in enumerate(self.database.workloads) if slug.startswith(beginning))
            for name, beginning in SIMULATED_PROGRAMS.items()
        }
        found = {name: workloads for name, workloads in programs.items() if workloads}
        if len(found) < 2:
            raise ValueError("the demo's workloads are missing; run manage.py load_demo")
        return found

    def errors(self, measured: Collection[str], machines: IntArray, database: Database | None = None) -> FloatArray:
        """Return the mean relative error on each of these machines, (machines,).

        The predictions use the other machines of the database and the measured programs on the machine. A refusal
        counts as 100 %.
        """
        database = database or self.database
        bridge = tuple(sorted(workload for name in measured for workload in self.programs[name]))
        means = []
        for machine in machines.tolist():
            protocol = Protocol("application", bridge=bridge, targets=(machine,))
            outcomes = evaluate(database, [self.method], protocol).outcomes[self.method.name]
            means.append(np.mean([outcome.errors.get("full", ERROR_OF_REFUSAL) for outcome in outcomes]))
            self.progress(len(outcomes))
        return np.array(means)


def halves(machines: int, seed: int) -> tuple[IntArray, IntArray]:
    """Return two random halves of the machines. The first one is larger if the number is odd.

    >>> [half.tolist() for half in halves(5, 1)]
    [[0, 1, 4], [2, 3]]
    """
    shuffled = np.random.default_rng(seed).permutation(machines)
    middle = (machines + 1) // 2
    return np.sort(shuffled[:middle]), np.sort(shuffled[middle:])


def choose_programs(study: TryStudy, machines: IntArray, size: int) -> list[str]:
    """Choose programs by greedy forward selection on these machines. No other machine is used.

    The first program gives the smallest mean error alone. Each further one lowers the mean error most.
    """
    alone = study.database.part(np.flatnonzero(np.isin(study.database.platform_index, machines)))
    chosen: list[str] = []
    for _ in range(min(size, len(study.programs))):
        left = [name for name in study.programs if name not in chosen]
        errors = [study.errors([*chosen, name], machines, alone).mean() for name in left]
        chosen.append(left[int(np.argmin(errors))])
    return chosen


def random_sets(names: Sequence[str], size: int, count: int, seed: int) -> Iterator[list[str]]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield sorted(random.choice(names, size, replace=False).tolist())


def compare_sets(study: TryStudy, size: int, count: int, seed: int) -> dict[str, Any]:
    """Return the errors in percent on the half of the machines that was not used for the choice, for both halves.

    The compared sets are the chosen programs, those that `mpet try` runs, `count` random sets, and all programs. Means
    are over machines, `least` and `most` over the sets of a row. `beyond_shipped` is the error minus that of the
    shipped set, and `standard_error` is the standard error of this difference over the machines.
    """
    halves_found = []
    first, second = halves(len(study.database.platforms), seed)
    for name, chosen_on, reported in (("one half", first, second), ("the other half", second, first)):
        chosen = choose_programs(study, chosen_on, size)
        sets = {
            "chosen": [chosen],
            "shipped": [[program for program in SHIPPED if program in study.programs]],
            f"random {size}": list(random_sets([*study.programs], size, count, seed)),
            "all": [[*study.programs]],
        }
        errors = {row: np.array([study.errors(one, reported) for one in of_row]) for row, of_row in sets.items()}
        statistics = {row: _statistics(found, errors["shipped"][0]) for row, found in errors.items()}
        halves_found.append({"chosen_on": name.replace(" ", "_"), "chosen": chosen, "sets": statistics})
    return {"size": size, "seed": seed, "method": study.method.name, "halves": halves_found}


def _statistics(errors: FloatArray, shipped: FloatArray) -> dict[str, float]:
    """Return the statistics of `errors` (sets, machines), compared with those of the shipped set (machines,)."""
    means = 100 * errors.mean(axis=1)
    beyond = 100 * (errors.mean(axis=0) - shipped)
    return {
        "mean": float(means.mean()),
        "least": float(means.min()),
        "most": float(means.max()),
        "beyond_shipped": float(beyond.mean()),
        "standard_error": float(beyond.std(ddof=1) / np.sqrt(len(beyond))) if len(beyond) > 1 else 0.0,
        "sets": len(errors),
    }
