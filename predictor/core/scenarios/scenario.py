"""Scenarios of the paper's Table 3 and Figure 7, with what-if changes of the workload, the topology and the clock; and
queries with a scenario and a method."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.errors import SettingsError
from profiles.arrays import FloatArray
from profiles.scaling.names import FRACTIONS, SCALING_PARTS
from profiles.scaling.runs import CurveTable

CHARACTERISTICS = (*SCALING_PARTS, "memory", "work")
PLATFORM_CHANGES = ("n_nu", "n_ht", "n_max", "base_mhz")
LARGEST_CHANGE_FACTOR = 1000.0  # larger factors are refused as mistakes
LARGEST_N_MAX = 4096
SLOWEST_MHZ, FASTEST_MHZ = 1.0, 1e6
SCENARIOS = ("migration", "sequential", "scaling", "parallelisation")
NO_PARALLEL_STRATEGY = ("sequential", "unknown")


def least_factor(characteristic: str) -> float:
    """Return the least factor for a characteristic: 0 except for the work.

    >>> least_factor("lock_delay"), least_factor("work")
    (0.0, 0.001)
    """
    return 1 / LARGEST_CHANGE_FACTOR if characteristic == "work" else 0.0


@dataclass(frozen=True)
class WorkloadChanges:
    """Factors for characteristics of a workload; 1 means no change."""

    factors: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, object] | None) -> WorkloadChanges:
        """Return the changes from plain values. Raise SettingsError for an unknown name and for an invalid factor.

        >>> WorkloadChanges.of({"work": 2, "lock_delay": 0.5}).factors
        (('lock_delay', 0.5), ('work', 2.0))
        """
        given: dict[str, float] = {}
        for name, value in (values or {}).items():
            if name not in CHARACTERISTICS:
                raise SettingsError(
                    f"workload_changes.{name}", f"unknown characteristic; known: {', '.join(CHARACTERISTICS)}"
                )
            factor = _number_or_none(value)
            least = least_factor(name)
            if factor is None or not least <= factor <= LARGEST_CHANGE_FACTOR:
                raise SettingsError(
                    f"workload_changes.{name}", f"{value!r} is not a factor from {least:g} to {LARGEST_CHANGE_FACTOR:g}"
                )
            given[name] = factor
        return cls(tuple((name, given[name]) for name in CHARACTERISTICS if name in given))

    def __bool__(self) -> bool:
        return bool(self.factors)

    def factor(self, name: str) -> float:
        return dict(self.factors).get(name, 1.0)

    @property
    def changed(self) -> tuple[str, ...]:
        """The characteristics with a factor other than 1."""
        return tuple(name for name, factor in self.factors if factor != 1.0)

    @property
    def changed_fractions(self) -> tuple[str, ...]:
        return tuple(name for name in self.changed if name in FRACTIONS)

    def as_values(self) -> dict[str, float] | None:
        return dict(self.factors) or None


@dataclass(frozen=True)
class PlatformTopology:
    """The thread counts at which a platform's curves bend (NaN: nowhere), its largest n, and its clock (NaN:
    unknown)."""

    n_nu: float
    n_ht: float
    n_max: int
    base_mhz: float = math.nan

    @property
    def starts(self) -> tuple[float, float, float]:
        """The thread counts after which the base, NUMA and SMT segments begin; infinite if the platform has no such
        segment.

        If n_nu = n_ht, there is no NUMA segment.

        >>> PlatformTopology(8.0, 8.0, 16).starts
        (0.0, inf, 8.0)
        """
        n_nu = math.nan if self.n_nu == self.n_ht else self.n_nu
        first, second = (math.inf if math.isnan(count) else count for count in (n_nu, self.n_ht))
        return 0.0, first, second

    def is_as(self, other: PlatformTopology) -> bool:
        same_clock = self.base_mhz == other.base_mhz or math.isnan(self.base_mhz)
        return self.starts == other.starts and self.n_max == other.n_max and same_clock


@dataclass(frozen=True)
class PlatformChanges:
    """New values of a platform's topology and clock; None removes the effect."""

    values: tuple[tuple[str, float | None], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, object] | None) -> PlatformChanges:
        """Return the changes from plain values. Raise SettingsError for an unknown name and for an invalid value.

        >>> PlatformChanges.of({"n_max": 32, "n_nu": None}).values
        (('n_nu', None), ('n_max', 32))
        """
        given: dict[str, float | None] = {}
        for name, value in (values or {}).items():
            if name not in PLATFORM_CHANGES:
                raise SettingsError(
                    f"platform_changes.{name}", f"cannot be changed; known: {', '.join(PLATFORM_CHANGES)}"
                )
            given[name] = _read_clock(value) if name == "base_mhz" else _read_thread_count(name, value)
        return cls(tuple((name, given[name]) for name in PLATFORM_CHANGES if name in given))

    def __bool__(self) -> bool:
        return bool(self.values)

    def as_values(self) -> dict[str, float | None] | None:
        return dict(self.values) or None

    def of_platform(self, old: PlatformTopology) -> PlatformTopology:
        """Return the changed platform. Raise SettingsError if the breakpoints would be in the wrong order.

        >>> PlatformChanges.of({"n_max": 32}).of_platform(PlatformTopology(math.nan, 8.0, 16)).n_max
        32
        """
        new = {name: math.nan if value is None else value for name, value in self.values}
        changed = PlatformTopology(
            n_nu=new.get("n_nu", old.n_nu),
            n_ht=new.get("n_ht", old.n_ht),
            n_max=int(new.get("n_max", old.n_max)),
            base_mhz=new.get("base_mhz", old.base_mhz),
        )
        if changed.n_nu >= changed.n_ht and old.n_nu != old.n_ht:
            raise SettingsError(
                f"platform_changes.{'n_nu' if 'n_nu' in new else 'n_ht'}",
                f"the NUMA breakpoint, {changed.n_nu:g}, is not below the SMT breakpoint, {changed.n_ht:g}: SMT "
                "threads are used last",
            )
        if "base_mhz" in new and math.isnan(old.base_mhz):
            raise SettingsError("platform_changes.base_mhz", "the clock of the machine itself is not known")
        return changed


def _number_or_none(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _read_clock(value: object) -> float:
    clock = _number_or_none(value)
    if clock is None or not SLOWEST_MHZ <= clock <= FASTEST_MHZ:
        raise SettingsError(
            "platform_changes.base_mhz", f"{value!r} is not a clock from {SLOWEST_MHZ:g} to {FASTEST_MHZ:g} MHz"
        )
    return clock


def _read_thread_count(name: str, value: object) -> int | None:
    if value is None and name != "n_max":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_N_MAX:
        or_null = "" if name == "n_max" else ", or null for no such effect"
        raise SettingsError(
            f"platform_changes.{name}", f"{value!r} is not a thread count from 1 to {LARGEST_N_MAX}{or_null}"
        )
    return value


@dataclass(frozen=True)
class Scenario:
    """One of SCENARIOS, with changes of the workload and of the platform.

    `migration`: t(1) and scaling. `sequential`: t(1) only, from sequential profiles. `scaling`: the scaling only.
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
        """Return the scenario from plain values. Raise SettingsError for an invalid field, or member of a field."""
        if name not in SCENARIOS:
            raise SettingsError("scenario", f"{name!r} is not one of {', '.join(SCENARIOS)}")
        parallel = tuple(known_strategy for known_strategy in strategies if known_strategy not in NO_PARALLEL_STRATEGY)
        if name == "parallelisation" and strategy not in parallel:
            raise SettingsError("strategy", f"{strategy!r} is not one of {', '.join(parallel)}")
        if name != "parallelisation" and strategy is not None:
            raise SettingsError("strategy", "only the scenario parallelisation has one")
        if name == "sequential" and (workload_changes or platform_changes):
            which = "workload_changes" if workload_changes else "platform_changes"
            raise SettingsError(which, "the scenario sequential predicts t(1) only, without its time breakdown")
        return cls(name, strategy, WorkloadChanges.of(workload_changes), PlatformChanges.of(platform_changes))

    @property
    def is_virtual(self) -> bool:
        return bool(self.workload or self.platform)

    @property
    def uses_only_n1_of_workload(self) -> bool:
        """Whether only t(1) and the counters at n = 1 of the workload's own profiles are used."""
        return self.name in ("sequential", "parallelisation")


@dataclass(frozen=True, eq=False)
class ScenarioFacts:
    """Facts that scenarios use in addition to the database. Each is read only when it is needed.

    `bound` of the workload: memory | communication | computation, None = unknown. `counted` returns the measured
    relative measures at n = 1 of the database's rows (N, 7), NaN = not counted. `curves` returns all measured curves of
    a row.
    """

    bound: str | None = None
    counted: Callable[[], FloatArray | None] = lambda: None
    curves: Callable[[int], CurveTable | None] | None = None


@dataclass(frozen=True, kw_only=True)
class ScenarioQuery(Query):
    """A query with a scenario, and with the method and its settings that answer it."""

    method: Method[Any]
    settings: Any
    scenario: Scenario = field(default_factory=Scenario)

    @property
    def predicts_elements(self) -> bool:
        """Whether the method predicts elements of the curve model, with weights by an exponent, and not curves."""
        return hasattr(self.settings, "scaling_k")

    def setting(self, name: str, default: Any) -> Any:
        """Return a setting of the method, or the default if the method does not have it."""
        return getattr(self.settings, name, default)

    def answer(self, database: Database, **changes: Any) -> Answer:
        """Return the method's answer to the query with these changes."""
        return self.method.predict(database, replace(self, **changes), self.settings)
