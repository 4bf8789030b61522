"""What may be asked of the scaling models, apart from what answers it.

Views import this module, and what answers only when they are asked: it needs scikit-learn and pandas, for which each
start of a command would wait a second, since Django checks the addresses first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.scaling_models.companions import Companion

POINT_COLUMNS = ("n", "size", "clock_ratio")
OFFERED_MODELS = ("automatic", "mpet_curve", "growth", "amdahl", "usl", "parallel_penalty", "memory_wall")
DEFAULT_MODELS = ("automatic", "mpet_curve", "amdahl", "usl")


class InvalidFit(ValueError):
    """A field of the request has a wrong value."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"{name}: {reason}")


@dataclass(frozen=True)
class FitRequest:
    """`points` are dicts of POINT_COLUMNS, `time_s` and, for a task graph, its MEASURES; the new points to `predict`
    have only POINT_COLUMNS."""

    model: str
    points: list[dict[str, Any]]
    predict: list[dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)
    level: float = 0.9
    companions: tuple[Companion, ...] = ()


@dataclass(frozen=True)
class ExtrapolationQuestion:
    """Which models are asked, up to which thread count (None: twice the measured ones, and all of the platform)."""

    models: tuple[str, ...] = DEFAULT_MODELS
    to: int | None = None

    def __post_init__(self) -> None:
        unknown = [name for name in self.models if name not in OFFERED_MODELS]
        if unknown or not self.models:
            raise InvalidFit(
                "models", f"No model {', '.join(unknown) or 'is named'}; known here: {', '.join(OFFERED_MODELS)}."
            )
        if self.to is not None and not 1 <= self.to <= LARGEST_THREAD_COUNT:
            raise InvalidFit("to", f"A thread count from 1 to {LARGEST_THREAD_COUNT}.")


DEFAULT_QUESTION = ExtrapolationQuestion()
