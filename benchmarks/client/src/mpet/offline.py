"""Predictions without a server, computed from a downloaded dump by mpet-core, the core of the server."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from mpet.errors import MpetError, NoPrediction, UsageError
from mpet.results import Prediction


def predict_offline(
    folder: Path,
    workload: str,
    target: str,
    *,
    references: Optional[Sequence[str]] = None,
    method: Optional[str] = None,
    n: Optional[Sequence[int]] = None,
) -> Prediction:
    """Return the same prediction, with the same numbers, as the server computes from public profiles at the dump's
    revision."""
    try:
        import mpet_core  # noqa: PLC0415
    except ImportError as error:
        raise UsageError("this needs mpet-core (Python 3.11 or newer): pip install 'mpet[offline]'") from error
    try:
        dump = mpet_core.read_dump(folder)
    except mpet_core.DumpError as error:
        raise MpetError(f"{folder}: {error}") from error
    chosen = method or "mpet"
    if chosen not in mpet_core.METHODS:
        raise UsageError(f"unknown method {chosen}; accepted: {', '.join(mpet_core.METHODS)}")
    try:
        answer = dump.predict(workload, target, references=references, method=chosen, n=n)
    except mpet_core.PredictionError as error:
        raise NoPrediction(str(error)) from error
    return Prediction(
        {
            "workload": workload,
            "target": target,
            "revision": dump.revision,
            "method": chosen,
            "t1_s": _known(answer.t1_s),
            "curve": _points(answer),
            "warnings": list(answer.warnings),
        }
    )


def _points(answer: Any) -> list[dict[str, Any]]:
    count = len(answer.n)
    low, high = ([math.nan] * count if values is None else values for values in (answer.low_s, answer.high_s))
    speedup = answer.t1_s / answer.time_s
    columns = {"n": answer.n, "time_s": answer.time_s, "low_s": low, "high_s": high, "speedup": speedup}
    columns["efficiency"] = speedup / answer.n
    return [
        {name: int(values[row]) if name == "n" else _known(values[row]) for name, values in columns.items()}
        for row in range(count)
    ]


def _known(number: Any) -> Optional[float]:
    return float(number) if math.isfinite(number) else None
