"""Questions to the scaling models, without the code that answers them.

Views import this module and load the code that answers on demand. That code imports scikit-learn and pandas, which
would delay the start of each command by a second, because Django checks the URL configuration first.
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
    """A field of the request has an invalid value."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"{name}: {reason}")


@dataclass(frozen=True)
class FitRequest:
    """A request to fit a model.

    `points` are dicts with POINT_COLUMNS, `time_s` and, for a task graph, its MEASURES. The points to `predict` have
    only POINT_COLUMNS.
    """

    model: str
    points: list[dict[str, Any]]
    predict: list[dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)
    level: float = 0.9
    companions: tuple[Companion, ...] = ()


@dataclass(frozen=True)
class ExtrapolationQuestion:
    """The models to fit and the largest thread count to predict.

    If `to` is None, it is twice the largest measured thread count, or the platform's n_max if that is larger.
    """

    models: tuple[str, ...] = DEFAULT_MODELS
    to: int | None = None

    def __post_init__(self) -> None:
        unknown = [name for name in self.models if name not in OFFERED_MODELS]
        if unknown or not self.models:
            reason = f"Unknown model {', '.join(unknown)}" if unknown else "The list is empty"
            raise InvalidFit("models", f"{reason}. Known: {', '.join(OFFERED_MODELS)}.")
        if self.to is not None and not 1 <= self.to <= LARGEST_THREAD_COUNT:
            raise InvalidFit("to", f"{self.to} is not a thread count from 1 to {LARGEST_THREAD_COUNT}.")
