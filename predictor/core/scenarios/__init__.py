"""The scenarios of Table 3 and Figure 7 of the paper: predictions beyond a migration."""

from predictor.core.scenarios.run import refusal_of_scenario, run_scenario
from predictor.core.scenarios.scenario import SCENARIOS, Scenario, ScenarioFacts, ScenarioQuery

__all__ = [
    "SCENARIOS",
    "Scenario",
    "ScenarioFacts",
    "ScenarioQuery",
    "refusal_of_scenario",
    "run_scenario",
]
