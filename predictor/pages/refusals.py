"""Why a page has no answer: one sentence in names, and one link to what would help or to what was meant. The sentences
come from `predictor.predictions.feasibility`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from predictor.core.methods import DEFAULT_METHOD
from predictor.predictions.advice import MIXED_ORIGINS, WIDEST_MIXING
from predictor.predictions.feasibility import ranking_refusal, refusal_in_names
from predictor.predictions.question import NoPrediction, Remedy, RequestError, UnknownName
from predictor.predictions.rankings import RankingQuestion
from profiles.models import Platform, Workload


@dataclass(frozen=True)
class ShownRefusal:
    """`action` and `address` of a link, both empty where nothing helps; `suggestions`: names and addresses of what a
    misspelt name may have meant."""

    sentence: str
    action: str = ""
    address: str = ""
    suggestions: Sequence[tuple[str, str]] = ()


def shown_refusal(error: RequestError, request: HttpRequest, program: str = "") -> ShownRefusal:
    """Why the question of the page's address, or of its form, has no answer; `program`: what it is about, in place of a
    workload."""
    asked = request.POST if request.method == "POST" else request.GET
    workload, target = asked.get("workload", program), asked.get("target", "")
    sentence = refusal_in_names(error, request.user, workload, target)
    if isinstance(error, UnknownName):
        field = error.request_field
        suggestions = suggested_links(error, request, field)
        if not suggestions and field != "method":
            lists = ("All workloads", "workloads") if field == "workload" else ("All machines", "platforms")
            return ShownRefusal(sentence, lists[0], reverse(lists[1]))
        return ShownRefusal(sentence, suggestions=suggestions)
    remedy = error.remedy if isinstance(error, NoPrediction) else None
    return ShownRefusal(sentence, *action_of(remedy, request))


def suggested_links(error: UnknownName, request: HttpRequest, field: str) -> list[tuple[str, str]]:
    """What may have been meant, by name, each with the page's address that asks for it."""
    model: Any = Workload if field == "workload" else Platform
    slugs = error.suggestions
    rows = model.objects.visible_to(request.user).filter(slug__in=slugs) if field != "method" else ()
    names = {row.slug: row.name for row in rows}
    return [(names.get(slug, slug), changed_address(request, {field: slug})) for slug in slugs]


def action_of(remedy: Remedy | None, request: HttpRequest) -> tuple[str, str]:
    """Text and address of the link that does what would help."""
    if remedy is None:
        return "", ""
    if remedy.kind == MIXED_ORIGINS:
        return "Show simulated ones", f"{reverse('profiles')}?origin=simulated"
    changes: dict[str, tuple[str, dict[str, str]]] = {
        "simulated": ("Use simulated profiles too", {"include_simulated": "true"}),
        "method": (f"Ask {DEFAULT_METHOD}", {"method": DEFAULT_METHOD}),
        "references": ("Use all references", {"references": ""}),
        "settings": ("Mix runtimes", {"mix_runtimes": WIDEST_MIXING}),
        "scenario": ("Ask for t(1) alone", {"scenario": "sequential"}),
    }
    if remedy.kind in changes:
        text, parameters = changes[remedy.kind]
        return text, changed_address(request, parameters)
    return ("How to measure", reverse("measure")) if remedy.kind in {"kit", "measure"} else ("", "")


def changed_address(request: HttpRequest, changes: Mapping[str, str]) -> str:
    """The page's address with other parameters; those of a form that was sent are in it."""
    asked = request.POST if request.method == "POST" else request.GET
    parameters = {name: asked[name] for name in asked if asked[name] and name != "csrfmiddlewaretoken"}
    path = reverse("predict") if request.path == reverse("predict-possible") else request.path
    return f"{path}?{urlencode({name: value for name, value in {**parameters, **changes}.items() if value})}"


def shown_ranking_refusal(
    question: RankingQuestion,
    refused: Sequence[Mapping[str, Any]],
    request: HttpRequest,
) -> ShownRefusal | None:
    """One line about all machines without a place; None where each has one."""
    if not refused:
        return None
    sentence, remedy = ranking_refusal(question, refused, request.user)
    return ShownRefusal(sentence, *action_of(remedy, request))
