"""What-if sliders for the characteristics of a workload and for a platform's topology and clock.

The URL holds the state: one parameter for each slider outside its neutral position. The page, its JSON form and a
stored prediction come from the same request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from predictor.core.scenarios.scenario import CHARACTERISTICS, FASTEST_MHZ, LARGEST_N_MAX, PLATFORM_CHANGES
from predictor.predictions.question import DEFAULT_METHOD, PredictionRequest
from profiles.arrays import FloatArray
from profiles.models import Platform, Workload
from profiles.scaling.names import FRACTIONS

QUESTION_PARAMETERS = ("workload", "target", "method", "mix_runtimes", "measured")
WHAT_IF_PARAMETERS = (*QUESTION_PARAMETERS, *CHARACTERISTICS, *PLATFORM_CHANGES)
NO_EFFECT = 0  # position of n_nu and n_ht for null in a request
LARGEST_SLIDER_FACTOR = {"memory": 4.0, "work": 4.0}
LEAST_SLIDER_FACTOR = {"work": 0.1}
STEP_MHZ = 50
UNKNOWN_MHZ = 2000.0
MEMORY_CURVES = ("L1-LD/INSTR", "L1-LD/LLC-LDM")
HELP = {
    "redundancy": "work beyond that of one thread",
    "lock_delay": "waiting for locks",
    "work_imbalance": "waiting for the slowest thread",
    "task_creation": "creating tasks",
    "task_distribution": "assigning tasks to threads",
    "task_switching": "switching between tasks",
    "task_join": "waiting for tasks to end",
    "memory": "memory traffic",
    "work": "problem size",
    "n_nu": "threads on the first NUMA node",
    "n_ht": "threads before SMT threads are used",
    "n_max": "number of hardware threads",
    "base_mhz": "cycles per second of each core",
}
TITLES = {
    "n": "Threads n",
    "n_nu": "NUMA breakpoint",
    "n_ht": "SMT breakpoint",
    "n_max": "Threads",
    "base_mhz": "Clock",
}
TIME_ONLY = "only the wall time of this workload was measured, without a time breakdown"


class InvalidParameter(Exception):
    """A parameter of the URL that is not a number."""

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self.value = value
        super().__init__(f"{title_of(name)}: “{value}” is not a number")


def title_of(name: str) -> str:
    """Return the label that pages use for a slider or for another member of a request."""
    return TITLES.get(name, name.replace("_", " ").capitalize())


@dataclass(frozen=True)
class Slider:
    """A slider of the what-if page.

    `neutral` is the position that changes nothing, `unavailable` the reason why the slider cannot be moved.
    """

    name: str
    low: float
    high: float
    step: float
    neutral: float
    value: float
    unavailable: str = ""

    @property
    def title(self) -> str:
        return title_of(self.name)

    @property
    def help(self) -> str:
        return HELP[self.name]

    @property
    def kind(self) -> str:
        """Return how the value is written. what_if.js uses the same rules."""
        return "factor" if self.name in CHARACTERISTICS else "clock" if self.name == "base_mhz" else "threads"

    @property
    def spelled(self) -> str:
        """Return the value as text.

        >>> Slider("work", 0.1, 4, 0.05, 1, 0.5).spelled, Slider("n_ht", 0, 16, 1, 8, 0).spelled
        ('× 0.5', 'none')
        """
        if self.kind == "factor":
            return f"× {self.value:g}"
        if self.kind == "clock":
            return f"{self.value:g} MHz"
        return f"{self.value:g}" if self.value else "none"


def slider_values(parameters: Mapping[str, str]) -> dict[str, float]:
    """Return the values of the sliders in the URL, by name. Raises InvalidParameter."""
    values = {}
    for name in (*CHARACTERISTICS, *PLATFORM_CHANGES):
        if not parameters.get(name):
            continue
        try:
            values[name] = float(parameters[name])
        except ValueError:
            raise InvalidParameter(name, parameters[name]) from None
    return values


def slider_request(
    parameters: Mapping[str, str], values: Mapping[str, float], *, public_only: bool = False, measured: bool = False
) -> PredictionRequest:
    """Return the request for the prediction with these slider values. The service checks the values.

    With `measured`, the measured times of the pair are changed. Without a change this takes a factor of 1, because a
    request for the unchanged pair is a prediction, which does not use them.
    """
    platform = {name: values[name] for name in PLATFORM_CHANGES if name in values}
    mixing, target = parameters.get("mix_runtimes"), parameters.get("target", "").strip()
    workload = {name: values[name] for name in CHARACTERISTICS if name in values}
    if measured and not workload and not platform:
        workload = {"work": 1.0}
    return PredictionRequest(
        workload=parameters.get("workload", "").strip(),
        target=target,
        references=[target] if measured else None,
        method=parameters.get("method") or DEFAULT_METHOD,
        settings={"mix_runtimes": mixing} if mixing else {},
        workload_changes=workload or None,
        platform_changes={name: platform_value(name, value) for name, value in platform.items()} or None,
        public_only=public_only,
    )


def platform_value(name: str, value: float) -> float | int | None:
    """Return the slider's value as it is written in a request.

    >>> platform_value("n_ht", 0.0), platform_value("n_max", 32.0), platform_value("base_mhz", 2450.0)
    (None, 32, 2450.0)
    """
    if name == "base_mhz":
        return value
    if value == NO_EFFECT and name != "n_max":
        return None
    return int(value) if value.is_integer() else value


def drop_neutral_values(values: Mapping[str, float], platform: Platform) -> dict[str, float]:
    """Return the values that change something."""
    neutral = neutral_values(platform)
    return {name: value for name, value in values.items() if value != neutral.get(name)}


def neutral_values(platform: Platform) -> dict[str, float]:
    factors = dict.fromkeys(CHARACTERISTICS, 1.0)
    topology = {"n_nu": platform.n_nu or NO_EFFECT, "n_ht": platform.n_ht or NO_EFFECT, "n_max": platform.n_max}
    return factors | topology | ({"base_mhz": clock} if (clock := known_clock(platform)) else {})


def known_clock(platform: Platform) -> float | None:
    """Return the platform's clock, at which its slider begins; None if it is unknown or not an allowed change."""
    return platform.base_mhz if platform.base_mhz and 0 < platform.base_mhz <= FASTEST_MHZ else None


def workload_sliders(answer: Mapping[str, Any], workload: Workload, values: Mapping[str, float]) -> list[Slider]:
    """Return the sliders of a workload's characteristics. The baseline `answer` decides which of them are available."""
    is_decomposed = all(all_known(answer["scaling_curves"].get(name)) for name in FRACTIONS)
    reasons = dict.fromkeys(FRACTIONS, "" if is_decomposed else TIME_ONLY)
    reasons["memory"] = why_no_memory(answer, workload)
    if len(answer["curve"]) == 1:
        reasons |= dict.fromkeys(("redundancy", *FRACTIONS), "no scaling of this workload was measured")
    return [
        Slider(
            name,
            LEAST_SLIDER_FACTOR.get(name, 0.0),
            LARGEST_SLIDER_FACTOR.get(name, 2.0),
            0.05,
            1.0,
            values.get(name, 1.0),
            reasons.get(name, ""),
        )
        for name in CHARACTERISTICS
    ]


def platform_sliders(platform: Platform, values: Mapping[str, float]) -> list[Slider]:
    neutral = neutral_values(platform)
    most = max(min(4 * platform.n_max, LARGEST_N_MAX), platform.n_max, 16)
    limits: dict[str, tuple[float, float, float]] = {"n_nu": (0, most, 1), "n_ht": (0, most, 1), "n_max": (1, most, 1)}
    clock = known_clock(platform) or UNKNOWN_MHZ
    steps = clock // STEP_MHZ  # counted from the platform's clock, so that it is a slider position
    limits["base_mhz"] = (clock - STEP_MHZ * (steps // 2), clock + STEP_MHZ * steps, STEP_MHZ)
    why = {} if known_clock(platform) else {"base_mhz": "the clock rate of this machine is unknown"}
    return [
        Slider(
            name, *limits[name], neutral.get(name, clock), values.get(name, neutral.get(name, clock)), why.get(name, "")
        )
        for name in PLATFORM_CHANGES
    ]


def why_no_memory(answer: Mapping[str, Any], workload: Workload) -> str:
    if workload.bound in {"memory", "computation"} or all(
        all_known(answer["scaling_curves"].get(name)) for name in MEMORY_CURVES
    ):
        return ""
    return "its share of memory stalls is unknown: no counters of the last-level cache, no known bound"


def all_known(values: list[float | None] | FloatArray | None) -> bool:
    return values is not None and len(values) > 0 and all(value is not None for value in values)
