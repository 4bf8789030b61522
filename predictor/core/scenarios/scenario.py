"""Which question is asked: the scenarios of the paper's Table 3 and Figure 7."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from predictor.core.errors import SettingsError
from predictor.core.scenarios.changes import PlatformChanges, WorkloadChanges

SCENARIOS = ("migration", "sequential", "scaling", "parallelisation")
NO_PARALLEL_STRATEGY = ("sequential", "unknown")


@dataclass(frozen=True)
class Scenario:
    """Which of SCENARIOS is asked for, and of which changed workload on which changed platform.

    `migration`: t(1) and scaling. `sequential`: t(1) alone, from sequential profiles. `scaling`: the scaling alone.
    `parallelisation`: from t(1) of a sequential program and the benchmarks of a `strategy`.
    """

    name: str = "migration"
    strategy: str | None = None
    workload: WorkloadChanges = field(default_factory=WorkloadChanges)
    platform: PlatformChanges = field(default_factory=PlatformChanges)

    @classmethod
    def of(
        cls,
        name: str = "migration",
        strategy: str | None = None,
        workload_changes: Mapping[str, object] | None = None,
        platform_changes: Mapping[str, object] | None = None,
        *,
        strategies: tuple[str, ...],
    ) -> Scenario:
        """From plain values. Raises SettingsError, whose setting is the field, or the field and its member."""
        if name not in SCENARIOS:
            raise SettingsError("scenario", f"{name!r} is not one of {', '.join(SCENARIOS)}")
        parallel = tuple(known_strategy for known_strategy in strategies if known_strategy not in NO_PARALLEL_STRATEGY)
        if name == "parallelisation" and strategy not in parallel:
            raise SettingsError("strategy", f"{strategy!r} is not one of {', '.join(parallel)}")
        if name != "parallelisation" and strategy is not None:
            raise SettingsError("strategy", "only the scenario parallelisation takes one")
        if name == "sequential" and (workload_changes or platform_changes):
            which = "workload_changes" if workload_changes else "platform_changes"
            raise SettingsError(which, "the scenario sequential knows t(1) alone, and not what it is made of")
        return cls(
            name,
            strategy,
            WorkloadChanges.of(workload_changes),
            PlatformChanges.of(platform_changes),
        )

    @property
    def is_virtual(self) -> bool:
        return bool(self.workload or self.platform)

    @property
    def uses_only_n1_of_workload(self) -> bool:
        """Whether nothing but t(1) and the counters at n = 1 of the workload's own profiles takes part."""
        return self.name in ("sequential", "parallelisation")
