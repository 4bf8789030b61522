import math

import pytest

from predictor.core.errors import SettingsError
from predictor.core.scenarios import SCENARIOS, Scenario
from predictor.core.scenarios.scenario import PlatformChanges, PlatformTopology, WorkloadChanges
from profiles.measurements import STRATEGIES

KNOWN = PlatformTopology(4.0, 8.0, 16, 2000.0)


def parsed(field, values):
    return (WorkloadChanges if field == "workload_changes" else PlatformChanges).of(values)


@pytest.mark.parametrize(
    ("field", "name", "value"),
    [
        *(("workload_changes", "lock_delay", value) for value in (-0.1, True, "2", None, math.inf)),
        ("workload_changes", "locks", 1),
        ("workload_changes", "memory", 1e9),
        ("workload_changes", "work", 0),
        *(("platform_changes", "n_max", value) for value in (None, 0, 5000, 4.5)),
        ("platform_changes", "threads", 4),
        ("platform_changes", "n_ht", True),
        *(("platform_changes", "base_mhz", value) for value in (None, 0, "fast")),
    ],
)
def test_values_that_make_no_sense(field, name, value):
    with pytest.raises(SettingsError) as caught:
        parsed(field, {name: value})
    assert caught.value.setting == f"{field}.{name}"


def test_no_work_balance_is_a_factor_of_nothing():
    assert WorkloadChanges.of({"work_imbalance": 0}).factor("work_imbalance") == 0
    assert not WorkloadChanges.of({})
    assert WorkloadChanges.of({"work": 1}).changed == ()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        *((values, "not below the SMT breakpoint") for values in ({"n_nu": 8}, {"n_ht": 3}, {"n_nu": 9, "n_ht": 5})),
        ({"base_mhz": 3000}, "the clock of the machine itself is not known"),
    ],
)
def test_platforms_that_cannot_be_changed_so(values, message):
    with pytest.raises(SettingsError, match=message):
        PlatformChanges.of(values).of_platform(PlatformTopology(4.0, 8.0, 16))


def test_a_changed_platform():
    changed = PlatformChanges.of({"n_nu": None, "n_max": 32}).of_platform(KNOWN)
    assert math.isnan(changed.n_nu)
    assert (changed.n_ht, changed.n_max, changed.base_mhz) == (8.0, 32, 2000.0)
    assert PlatformChanges.of({"n_nu": 4, "n_max": 16, "base_mhz": 2000}).of_platform(KNOWN).is_as(KNOWN)
    assert not changed.is_as(KNOWN)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"name": "guess"}, "scenario"),
        ({"name": "parallelisation"}, "strategy"),
        ({"name": "parallelisation", "strategy": "sequential"}, "strategy"),
        ({"name": "parallelisation", "strategy": "unknown"}, "strategy"),
        ({"strategy": "locks"}, "strategy"),
        ({"name": "sequential", "workload_changes": {"work": 2}}, "workload_changes"),
        ({"name": "sequential", "platform_changes": {"n_max": 2}}, "platform_changes"),
    ],
)
def test_questions_that_contradict_themselves(asked, name):
    with pytest.raises(SettingsError) as caught:
        Scenario.of(**asked, strategies=STRATEGIES)
    assert caught.value.setting == name


def test_every_scenario_can_be_asked_for():
    for name in SCENARIOS:
        strategy = "locks" if name == "parallelisation" else None
        assert Scenario.of(name, strategy, strategies=STRATEGIES).name == name
