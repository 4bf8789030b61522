"""What can go wrong."""

from __future__ import annotations


class DatabaseError(ValueError):
    """The arrays handed to `Database.build` contradict each other."""


class SettingsError(ValueError):
    """A setting is unknown to the method, has the wrong type, or is out of range."""

    def __init__(self, setting: str, reason: str) -> None:
        self.setting = setting
        self.reason = reason
        super().__init__(f"{setting}: {reason}")


class UnknownMethod(LookupError):
    """No method of that name is registered."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.known = known
        super().__init__(f"unknown method {name!r}; known: {', '.join(known)}")


class PredictionError(Exception):
    """A prediction is refused; the message says why in terms of what the database holds.

    `lacks` is a word for what is missing, for whoever wants to say what would help; empty: nothing would.
    """

    lacks = ""


class UnknownTarget(PredictionError):
    """The target is no platform of this database."""


class UnknownWorkload(PredictionError):
    """The workload is no workload of this database."""


class NoReference(PredictionError):
    """The workload was measured on no platform that may serve as a reference."""

    lacks = "reference"

    def __init__(self, workload: str, target: str, reason: str = "") -> None:
        super().__init__(f"{workload} has no reference profile on any machine other than {target}" + reason)


class TooFewCandidates(PredictionError):
    """Fewer candidates (P,B) than the method needs."""

    def __init__(self, found: int, needed: int, reason: str) -> None:
        self.found = found
        self.needed = needed
        super().__init__(f"{found} candidates found, {needed} needed: {reason}")


class NoCandidate(TooFewCandidates):
    """No candidate at all."""

    def __init__(self, reason: str) -> None:
        super().__init__(0, 1, reason)


class NoBenchmark(NoCandidate):
    """No other workload was measured on the target."""

    lacks = "benchmark"


class NothingShared(NoCandidate):
    """No workload was measured both on the target and on a platform that has the workload asked about."""

    lacks = "shared"


class NothingComparable(NoCandidate):
    """What was measured on both sides is of kinds that the method does not compare."""

    lacks = "comparable"


class UnknownClock(NoCandidate):
    """The method goes by clocks, and one that it needs is not known."""

    lacks = "clock"


class UnknownStrategy(NoCandidate):
    """No benchmark of a parallel strategy is known on the target, nor can be predicted there."""

    lacks = "strategy"


class NoScaling(PredictionError):
    """The scaling alone is asked for, and the workload was measured with one thread only."""

    lacks = "scaling"


class InvalidThreadCounts(PredictionError):
    """A prediction was asked for at no thread count, or at one under 1."""
