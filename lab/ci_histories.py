"""Accuracy of `mpet ci` on two public benchmark histories from GitHub's runners (results: docs/accuracy/ci.md).

    curl -O https://raw.githubusercontent.com/jannikmi/timezonefinder/gh-pages/dev/bench/data.js
    git clone --branch benchmark-data https://github.com/nubo-db/dynoxide dynoxide-data
    python -m lab.ci_histories --timezonefinder data.js --dynoxide dynoxide-data/runs

The constants are chosen on one history by leave-one-run-out cross-validation (the mean log density of the measured
times), and the results are reported on the other history. False alarms and detection are computed as a user sees them:
each run is compared with the runs before it if its predecessor had another CPU. True changes are unknown, so each alarm
counts as a false one.
"""

import argparse
import itertools
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "client" / "src"))

from mpet.changes import quantile_of_student  # noqa: E402
from mpet.ci import translation  # noqa: E402
from mpet.ci.history import Run, Value  # noqa: E402
from mpet.ci.importers import read_results  # noqa: E402
from mpet.ci.report import compare_with_history  # noqa: E402

GRID = {"WALK_SD": (0.1, 0.2), "CPU_SD": (1.5, 4.0), "FOLLOW_SD": (0.5, 1.5)}
INJECTED = (1.10, 1.25)
FIRST = (5, 10)  # numbers of runs before the first comparison
LEAST_CONTROL_COUNT = 50  # fewest operations behind a percentile of DynamoDB Local


def read_dynoxide(folder: Path) -> list[Run]:
    """Return the criterion times of each run, in the order of time.

    The calibration consists of the medians of DynamoDB Local in the same job, as a substitute for the kernels, because
    its image is the same in all runs.
    """
    runs = []
    for run in sorted(folder.iterdir()):
        system, times, control = (
            json.loads((run / f"{name}.json").read_text())
            for name in ("system_info", "criterion_baseline", "dynamodb_local")
        )
        calibration = {s["step"]: s["p50_ms"] for s in control["steps"] if s["count"] >= LEAST_CONTROL_COUNT}
        values = {name: Value(ns * 1e-9) for name, ns in times.items()}
        machine = {"cpu": system["cpu_model"]}
        runs.append(Run(values, system["dynoxide_commit"], system["timestamp"], "", machine, calibration))
    return sorted(runs, key=lambda run: run.time)


def without_calibration(runs: list[Run]) -> list[Run]:
    return [replace(run, calibration={}) for run in runs]


def errors_of_leaving_one_run_out(runs: list[Run], alone: bool) -> tuple[list[float], float, float]:
    """Return the sorted relative errors, the coverage of the 90 % intervals, and the score.

    There is one error |translated - measured| / measured per benchmark and run. The score is the mean of -log density
    of Student's t distribution; it is small if the intervals are narrow and contain the measured times. With `alone`,
    only the CPU model and the calibration of the left-out run are used, not its other benchmarks.
    """
    errors, covered, scores = [], [], []
    for i, run in enumerate(runs):
        rest = runs[:i] + runs[i + 1 :]
        heads = [replace(run, values={name: value}) for name, value in run.values.items()] if alone else [run]
        for head in heads:
            for name, base in translation.translate(rest, head).items():
                difference = base.log_s - math.log(run.values[name].seconds)
                errors.append(abs(math.expm1(difference)))
                covered.append(abs(difference) <= quantile_of_student(0.1, base.df) * base.sd)
                squares = (difference / base.sd) ** 2 / base.df
                scores.append(math.log(base.sd) + (base.df + 1) / 2 * math.log1p(squares))
    return sorted(errors), sum(covered) / len(covered), sum(scores) / len(scores)


def alarms_across_cpus(runs: list[Run], first: int) -> str:
    """Summarise the comparisons with a run on another CPU: their number, the alarms, and the share of injected
    slowdowns that are detected, and of those with a report of another benchmark too."""
    heads = [i for i in range(first, len(runs)) if runs[i].cpu != runs[i - 1].cpu]
    alarms = sum(compare_with_history(runs[:i], runs[i]).is_slower for i in heads)
    told = f"{first} earlier runs or more: {len(heads)} comparisons of two CPUs, {alarms} with an alarm"
    for factor in INJECTED:
        found, others = [], []
        for i, name in [(head, name) for head in heads for name in runs[head].values]:
            value = runs[i].values[name]
            slower = replace(value, seconds=value.seconds * factor, spread_s=value.spread_s * factor)
            head = replace(runs[i], values={**runs[i].values, name: slower})
            report = compare_with_history(runs[:i], head)
            found.append(name in report.named("slower"))
            others.append(any(row.verdict and row.name != name for row in report.rows))
        told += f"; an injected {factor - 1:.0%} found in {sum(found) / len(found):.0%} of {len(found)}"
        told += f", and another benchmark reported in {sum(others) / len(others):.0%}"
    return told


def percentile(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


def set_constants(constants: dict[str, float]) -> None:
    for name, value in constants.items():
        setattr(translation, name, value)


def chosen_constants(runs: list[Run]) -> dict[str, float]:
    """Return the constants of the grid that have the best score."""
    best = (math.inf, {})
    for values in itertools.product(*GRID.values()):
        constants = dict(zip(GRID, values, strict=True))
        set_constants(constants)
        _, _, score = errors_of_leaving_one_run_out(runs, alone=False)
        best = min(best, (score, constants), key=lambda pair: pair[0])
    return best[1]


def row(label: str, runs: list[Run], alone: bool) -> str:
    errors, coverage, _ = errors_of_leaving_one_run_out(runs, alone)
    cells = [label, f"{percentile(errors, 0.5):.1%}", f"{percentile(errors, 0.9):.1%}", f"{coverage:.0%}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--timezonefinder", type=Path, required=True, help="its file data.js")
    parser.add_argument("--dynoxide", type=Path, required=True, help="folder runs/ of its branch benchmark-data")
    options = parser.parse_args()
    dynoxide = read_dynoxide(options.dynoxide)
    histories = {
        "timezonefinder": read_results(options.timezonefinder, "github-action-benchmark"),
        "dynoxide": without_calibration(dynoxide),
    }
    for name, other in (("timezonefinder", "dynoxide"), ("dynoxide", "timezonefinder")):
        runs = histories[name]
        constants = chosen_constants(histories[other])
        set_constants(constants)
        print(f"\n{name}: {len(runs)} runs; constants chosen on {other}: {constants}")
        print("| covariates of the machine | median | p90 | coverage of 90 % intervals |\n|---|---|---|---|")
        print(row("other benchmarks of the run", runs, False))
        print(row("none: the CPU model alone", runs, True))
        if name == "dynoxide":
            print(row("DynamoDB Local in the same job", dynoxide, True))
        for first in FIRST:
            print(alarms_across_cpus(runs, first))


if __name__ == "__main__":
    main()
