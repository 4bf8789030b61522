"""The published accuracy of the default method on public datasets, shown by servers without an evaluation of their own.

The command `python -m research accuracy_tables --run` writes predictor/accuracy/measured/.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from profiles.arrays import FloatArray
from profiles.templatetags.quantities import as_percent, percent

ERRORS_FOLDER = Path(__file__).with_name("measured")
# The suffix of the studies that store the error of every prediction (python -m research accuracy_tables).
ERRORS_DRAW = "errors"


@dataclass(frozen=True, eq=False)
class HiddenMeasurements:
    """The accuracy of one method on measurements that were hidden from it.

    `errors` are the errors of the full curve in percent without refused predictions. `coverage` is the share of the
    measured times inside the 90 % intervals.
    """

    name: str
    method: str
    version: str
    date: str
    command: str
    errors: FloatArray
    refused: int
    coverage: float | None
    machines: int = 0  # number of machines; 0 if they were not counted

    @property
    def median(self) -> float | None:
        return float(np.median(self.errors)) if len(self.errors) else None

    @property
    def sentence(self) -> str:
        """Return the accuracy as a sentence for pages."""
        if self.median is None:
            return "None of them could be predicted."
        held = "" if self.coverage is None else f", 90 % intervals cover {percent(self.coverage)}"
        return f"{len(self.errors):,} hidden measurements: half within {as_percent(self.median)}{held}."

    @property
    def p80(self) -> float | None:
        return float(np.percentile(self.errors, 80)) if len(self.errors) else None


@cache
def published_measurements() -> tuple[HiddenMeasurements, ...]:
    """Return the accuracies in the folder `measured`, sorted by name of the dataset."""
    found = []
    for path in sorted(ERRORS_FOLDER.glob(f"*.{ERRORS_DRAW}.json")):
        stored = json.loads(path.read_text(encoding="utf-8"))
        ((method, result),) = stored["results"].items()
        found.append(
            HiddenMeasurements(
                name=stored["dataset"],
                method=method,
                version=stored["methods"][method],
                date=stored["date"],
                command=stored["command"],
                errors=np.array(stored["errors_percent"]),
                refused=result["full"]["refused"],
                coverage=result["coverage"],
            )
        )
    return tuple(found)


def pooled(measurements: Sequence[HiddenMeasurements], name: str) -> HiddenMeasurements | None:
    """Return the accuracy over all measurements, or None without measurements. Coverages are weighted by numbers of
    predictions."""
    if not measurements:
        return None
    first = measurements[0]
    covered = [(one.coverage, len(one.errors)) for one in measurements if one.coverage is not None]
    predicted = sum(count for _, count in covered)
    return HiddenMeasurements(
        name=name,
        method=first.method,
        version=first.version,
        date=max(one.date for one in measurements),
        command="",
        errors=np.concatenate([one.errors for one in measurements]),
        refused=sum(one.refused for one in measurements),
        coverage=sum(coverage * count for coverage, count in covered) / predicted if predicted else None,
    )
