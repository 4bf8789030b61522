"""Which of the kit's workloads `mpet try` should run: those from which a machine's other programs are predicted best.

Chosen on one half of the demo's machines and reported on the other half. The demo's workloads are simulated ones of the
kit's programs, by other names.
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

# The kit's workload, as WORKLOADS names it -> how the slugs of the same program begin in the demo.
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
# As the client's TRIAL_WORKLOADS.
SHIPPED = (
    *("hog", "fft", "nbody", "srad", "spmv", "edge_pipeline", "matmul_blocked", "mandelbrot_dynamic", "sgm", "jacobi"),
    *("shared_histogram", "sparselu"),
)
ERROR_OF_REFUSAL = 1.0
TRY_METHOD = METHODS["mpet"]


@dataclass
class TryStudy:
    """Errors of programs that are predicted on machines which ran a set of programs alone.

    Every workload of every machine is asked for, also those of the set itself: without its application's measurements
    there. So all sets answer the same questions, and none is better because it leaves out what is hard to predict.
    """

    database: Database
    method: Method[Any] = TRY_METHOD
    progress: Callable[[int], Any] = int

    @cached_property
    def programs(self) -> dict[str, tuple[int, ...]]:
        """By the kit's name, the workloads of each program that is there. ValueError where there are fewer than two."""
        programs = {
            name: tuple(place for place, slug in enumerate(self.database.workloads) if slug.startswith(beginning))
            for name, beginning in SIMULATED_PROGRAMS.items()
        }
        found = {name: workloads for name, workloads in programs.items() if workloads}
        if len(found) < 2:
            raise ValueError("the demo's workloads are not there: load_demo")
        return found

    def errors(self, measured: Collection[str], machines: IntArray, database: Database | None = None) -> FloatArray:
        """The mean relative error of each of these machines, predicted from the other ones of the database and from
        the measured programs on it, (machines,). A refusal counts as 100 %."""
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
    """Two random halves of the machines, by the seed; of an odd number the first one has one more.

    >>> [half.tolist() for half in halves(5, 1)]
    [[0, 1, 4], [2, 3]]
    """
    shuffled = np.random.default_rng(seed).permutation(machines)
    middle = (machines + 1) // 2
    return np.sort(shuffled[:middle]), np.sort(shuffled[middle:])


def choose_programs(study: TryStudy, machines: IntArray, size: int) -> list[str]:
    """Greedy forward selection: the program that alone gives the smallest mean error on these machines, then always the
    one that lowers it most. No other machine is known meanwhile."""
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
    """Errors in percent on the half that was not chosen on, for both halves in turn: of the chosen programs, of those
    that `mpet try` runs, of `count` random sets, and of all programs.

    Means are over machines, `least` and `most` over the sets of a row. `beyond_shipped`: by how much the error is
    larger than with the shipped set, and the standard error of that difference over the machines.
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
    """`errors` (sets, machines) and those of the shipped set, (machines,)."""
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
