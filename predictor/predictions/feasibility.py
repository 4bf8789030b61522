"""What can be predicted for a workload and a target, before anything is: for the form, while it is filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from predictor.predictions.request import DEFAULT_METHOD, PredictionRequest, RequestError
from predictor.predictions.service import preview_answer
from profiles.lookup import LookupResult, look_up
from profiles.models import Platform, Profile, Workload

TRIED_SCENARIOS = ("sequential", "parallelisation")  # what they need, no count of profiles with a curve tells


@dataclass(frozen=True)
class Possibility:
    """`evidence` counts what there is to predict from (ProfileQuerySet.evidence_for); None where a name is unknown.

    `trial`: such counts decide nothing (TRIED_SCENARIOS), so the prediction itself was tried. `refusal`: why it
    failed.
    """

    workload: LookupResult
    target: LookupResult
    evidence: dict[str, int] | None
    trial: bool = False
    refusal: str = ""

    @property
    def is_possible(self) -> bool:
        if self.trial:
            return not self.refusal
        return self.evidence is not None and self.evidence["connecting"] > 0


def possibility(
    user: Any, workload: str, target: str, *, scenario: str = "migration", strategy: str = "", method: str = ""
) -> Possibility | None:
    """None while nothing was typed into one of the fields that the scenario needs."""
    if not (workload.strip() and target.strip()) or (scenario == "parallelisation" and not strategy):
        return None
    program = look_up(Workload.objects.visible_to(user), workload.strip())
    machine = look_up(Platform.objects.visible_to(user), target.strip())
    if program.slug is None or machine.slug is None:
        return Possibility(program, machine, None)
    evidence = Profile.objects.evidence_for(user, program.slug, machine.slug)
    if scenario not in TRIED_SCENARIOS:
        return Possibility(program, machine, evidence)
    request = PredictionRequest(
        program.slug, machine.slug, method=method or DEFAULT_METHOD, scenario=scenario, strategy=strategy or None
    )
    return Possibility(program, machine, evidence, trial=True, refusal=refusal_of(request, user))


def refusal_of(request: PredictionRequest, user: Any) -> str:
    try:
        preview_answer(request, user)
    except RequestError as error:
        return str(error)
    return ""
