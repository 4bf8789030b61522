"""What can go wrong, each with its evidence as attributes."""

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
        self.name = name
        self.known = known
        super().__init__(f"unknown method {name!r}; known: {', '.join(known)}")


class PredictionError(Exception):
    """A prediction is refused; the message says why in terms of what the database holds."""


class UnknownTarget(PredictionError):
    """The target is no platform of this database."""

    def __init__(self, target: int, platforms: int) -> None:
        self.target = target
        self.platforms = platforms
        super().__init__(f"target {target} is not one of the {platforms} platforms of this database")


class UnknownWorkload(PredictionError):
    """The workload is no workload of this database."""

    def __init__(self, workload: int, workloads: int) -> None:
        self.workload = workload
        self.workloads = workloads
        super().__init__(f"workload {workload} is not one of the {workloads} workloads of this database")


class NoReference(PredictionError):
    """The workload was measured on no platform that may serve as a reference."""

    def __init__(self, workload: str, target: str, reason: str = "") -> None:
        self.workload = workload
        self.target = target
        super().__init__(f"{workload} has no reference profile on any platform other than {target}" + reason)


class TooFewCandidates(PredictionError):
    """Fewer candidates (P,B) than the method needs."""

    def __init__(self, found: int, needed: int, reason: str) -> None:
        self.found = found
        self.needed = needed
        self.reason = reason
        super().__init__(f"{found} candidates found, {needed} needed: {reason}")


class InvalidThreadCounts(PredictionError):
    """A prediction was asked for at no thread count, or at one under 1."""

    def __init__(self, n: tuple[int, ...]) -> None:
        self.n = n
        super().__init__(f"thread counts must be one or more integers of at least 1, not {list(n)}")
