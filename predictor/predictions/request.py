"""The request of a prediction, and the errors that say why there is no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from predictor.core.methods import DEFAULT_METHOD

MOST_THREAD_COUNTS = 4096


@dataclass(frozen=True)
class PredictionRequest:
    """`workload`, `target` and `references` by slug or by exact name. None: all references, n = 1..n_max, at most 512.

    `scenario` is one of predictor.core.scenarios.SCENARIOS; `parallelisation` takes a `strategy`. `workload_changes`
    are factors on characteristics of the workload, `platform_changes` new values of the platform (docs/scenarios.md).
    `public_only`: answered as for somebody without data of their own.
    """

    workload: str
    target: str
    references: Sequence[str] | None = None
    method: str = DEFAULT_METHOD
    n: Sequence[int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    include_simulated: bool = False
    scenario: str = "migration"
    strategy: str | None = None
    workload_changes: Mapping[str, float] | None = None
    platform_changes: Mapping[str, float | None] | None = None
    include_outliers: bool = False
    public_only: bool = False

    def viewer(self, user: Any) -> Any:
        """Whose data answers: nobody's where public data alone is asked for, so that everybody may read the answer."""
        return None if self.public_only else user


class RequestError(Exception):
    """A request that has no answer. The message says why; `evidence` holds the same as plain JSON values."""

    @property
    def evidence(self) -> dict[str, Any]:
        return vars(self)


class UnknownName(RequestError):
    """No row of that slug or name is visible to the viewer, or several have the name.

    `request_field`: the field of the request that holds the name.
    """

    noun = ""
    request_field = ""

    def __init__(self, name: str, suggestions: Sequence[str]) -> None:
        self.name = name
        self.suggestions = list(suggestions)
        near = f"; did you mean {', '.join(self.suggestions)}?" if suggestions else ""
        super().__init__(f"no {self.noun} {name!r}{near}")


class UnknownWorkloadName(UnknownName):
    noun = "workload"
    request_field = "workload"


class UnknownTargetName(UnknownName):
    noun = "target machine"
    request_field = "target"


class UnknownReferenceName(UnknownName):
    noun = "reference machine"
    request_field = "references"


class UnknownMethodName(UnknownName):
    noun = "method"
    request_field = "method"


class InvalidSettings(RequestError):
    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{name}: {reason}")


class InvalidField(InvalidSettings):
    """Not a setting but a field of the request, perhaps with its member: `workload_changes.work`."""


@dataclass(frozen=True)
class Remedy:
    """What would make a refused prediction possible: a sentence without a full stop, and its parts where it has any.

    `kind`: kit (run `command` on `platform`, which then shares `shared_workloads` with `shares_with`), measure, or a
    part of the request that would have to be another: method, settings, references, scenario, strategy, change,
    simulated.
    """

    kind: str
    sentence: str
    platform: str | None = None
    command: str | None = None
    shares_with: str | None = None
    shared_workloads: int | None = None

    def document(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "sentence"}


class NoPrediction(RequestError):
    """The method refuses: what it needs was not measured. `lacks` is a word for what is missing (docs/api.md), `remedy`
    what would help, where anything is known to; `left_out` names the outliers that would have answered."""

    def __init__(self, reason: str, found: int, needed: int, lacks: str = "") -> None:
        self.reason = reason
        self.found = found
        self.needed = needed
        self.lacks = lacks
        self.remedy: Remedy | None = None
        self.left_out = ""
        super().__init__(reason)

    def say_left_out(self, left_out: str) -> None:
        """Name in the reason the outliers without which there is no answer."""
        self.left_out = left_out
        self.reason = f"{self.reason}; outliers take no part: {left_out}"
        self.args = (self.reason,)

    @property
    def advice(self) -> str | None:
        return None if self.remedy is None else self.remedy.sentence
