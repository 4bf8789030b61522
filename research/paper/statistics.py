"""Statistics of prediction errors as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from predictor.core.evaluate import ErrorPart, Outcome

# A row of a table that is written as CSV and JSON: column -> plain value.
PaperRow = dict[str, Any]

# In the order of Table 5.
PART_NAMES: dict[ErrorPart, str] = {"t1": "t(1)", "scaling": "scaling vector", "full": "full"}
TABLE_5_COLUMNS = ("av", "med", "min", "max", "p70", "p80", "p95")


def errors_of(outcomes: Sequence[Outcome], part: ErrorPart) -> list[float]:
    """Return the errors of the part in percent. Refused predictions have none.

    >>> errors_of([Outcome("mpet", "p", "a", 0.1, {"t1": 0.25}), Outcome("mpet", "p", "b", 0.1)], "t1")
    [25.0]
    """
    return [100.0 * outcome.errors[part] for outcome in outcomes if part in outcome.errors]


def table_5_statistics(outcomes: Sequence[Outcome], part: ErrorPart) -> PaperRow:
    """Return TABLE_5_COLUMNS in percent (None without predictions), and the numbers of predictions and refusals.

    >>> outcomes = [Outcome("mpet", "p", "a", 0.1, {"t1": error}) for error in (0.1, 0.3)]
    >>> row = table_5_statistics([*outcomes, Outcome("mpet", "p", "b", 0.1)], "t1")
    >>> row["av"], round(row["p95"], 9), row["count"], row["refused"]
    (20.0, 29.0, 2, 1)
    """
    errors = np.array(errors_of(outcomes, part))
    counts = {"count": len(errors), "refused": len(outcomes) - len(errors)}
    if not len(errors):
        return dict.fromkeys(TABLE_5_COLUMNS) | counts
    p70, p80, p95 = np.percentile(errors, [70, 80, 95])
    values = (errors.mean(), np.median(errors), errors.min(), errors.max(), p70, p80, p95)
    return {name: float(value) for name, value in zip(TABLE_5_COLUMNS, values, strict=True)} | counts
