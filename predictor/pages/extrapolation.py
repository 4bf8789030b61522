"""A profile beyond what was measured."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address
from predictor.extrapolation.questions import DEFAULT_MODELS, OFFERED_MODELS, ExtrapolationQuestion, InvalidFit
from predictor.figures.extrapolation import beyond_charts
from profiles.figures import Breakpoints
from profiles.models import Profile
from profiles.pages.page_cache import kept_for_visitors
from profiles.pages.views import time_unit


@require_safe
@kept_for_visitors
def beyond(request: HttpRequest, uid: Any) -> HttpResponse:
    """?model=, several times, and &to=: the largest thread count."""
    from predictor.extrapolation.document import extrapolation_document  # noqa: PLC0415  see questions.py
    from predictor.scaling_models.registry import SCALING_MODELS  # noqa: PLC0415

    profile = get_object_or_404(Profile.objects.on_profile_page(request.user), uid=uid)
    models, to = request.GET.getlist("model") or list(DEFAULT_MODELS), request.GET.get("to", "")
    context: dict[str, Any] = {
        "profile": profile,
        "offered": [(name, SCALING_MODELS[name].title, name in models) for name in OFFERED_MODELS],
        "to": to,
        "time_unit": time_unit(profile.workload),
        "section": "workloads",
        "sources": [profile.source],
    }
    try:
        question = ExtrapolationQuestion(tuple(models), int(to) if to else None)
    except ValueError as error:
        reason = error.reason if isinstance(error, InvalidFit) else f"{to!r} is not a thread count."
        return render(request, "predictor/beyond.html", context | {"refusal": reason}, status=422)
    answer = extrapolation_document(profile, request.user, question)
    breakpoints = Breakpoints(profile.platform.n_nu, profile.platform.n_ht)
    parameters = {"models": ",".join(models)} | ({"to": to} if to else {})
    answering = [part for part in answer["models"] if not part["refusal"]]
    context |= {
        "answer": answer,
        "answering": answering,
        "refusals": list(dict.fromkeys(part["refusal"] for part in answer["models"] if part["refusal"])),
        "rows": prediction_rows(answering),
        "charts": beyond_charts(answer, breakpoints, time_unit(profile.workload)),
        "twin": json_address("api-profile-beyond", profile.uid, query=urlencode(parameters)),
    }
    return render(request, "predictor/beyond.html", context)


def prediction_rows(models: list[dict[str, Any]]) -> list[tuple[int, list[dict[str, Any]]]]:
    """A row for each thread count: what each model predicts for it."""
    by_count = [{point["n"]: point for point in model["predictions"]} for model in models]
    return [(n, [model[n] for model in by_count]) for n in sorted(by_count[0])] if by_count else []
