"""Exceptions of the prediction core."""

from __future__ import annotations


class DatabaseError(ValueError):
    """The arrays passed to `Database.build` contradict each other."""


class SettingsError(ValueError):
    """A setting that is unknown to the method, has the wrong type, or is out of range."""

    def __init__(self, setting: str, reason: str) -> None:
        self.setting = setting
        self.reason = reason
        super().__init__(f"{setting}: {reason}")


class UnknownMethod(LookupError):
    """No method with this name is registered."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.known = known
        super().__init__(f"unknown method {name!r}; known: {', '.join(known)}")


class PredictionError(Exception):
    """A refused prediction. The message gives the reason in terms of what the database contains.

    `lacks` is a keyword for what is missing, from which callers derive what would help; empty if nothing would.
    """

    lacks = ""


class UnknownTarget(PredictionError):
    """The target is not a platform of this database."""


class UnknownWorkload(PredictionError):
    """The workload is not a workload of this database."""


class NoReference(PredictionError):
    """The workload was not measured on any platform that may be a reference."""

    lacks = "reference"

    def __init__(self, workload: str, target: str, reason: str = "") -> None:
        super().__init__(f"{workload} has no reference profile on any machine other than {target}" + reason)


class TooFewCandidates(PredictionError):
    """There are fewer candidates (P,B) than the method needs."""

    def __init__(self, found: int, needed: int, reason: str) -> None:
        self.found = found
        self.needed = needed
        super().__init__(f"{found} candidates found, {needed} needed: {reason}")


class NoCandidate(TooFewCandidates):
    """There is no candidate."""

    def __init__(self, reason: str) -> None:
        super().__init__(0, 1, reason)


class NoBenchmark(NoCandidate):
    """No other workload was measured on the target."""

    lacks = "benchmark"


class NothingShared(NoCandidate):
    """No workload was measured both on the target and on a platform that has the requested workload."""

    lacks = "shared"


class NothingComparable(NoCandidate):
    """The profiles of both sides are of kinds that the method does not compare."""

    lacks = "comparable"


class UnknownClock(NoCandidate):
    """The method needs a clock frequency that is unknown."""

    lacks = "clock"


class UnknownStrategy(NoCandidate):
    """No benchmark of a parallel strategy was measured on the target or can be predicted there."""

    lacks = "strategy"


class NoScaling(PredictionError):
    """Only the scaling is requested, and the workload was measured with one thread only."""

    lacks = "scaling"


class InvalidThreadCounts(PredictionError):
    """A prediction was requested for no thread count, or for one below 1."""
