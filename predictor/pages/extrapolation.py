"""The page that extrapolates a profile beyond its measured thread counts."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address
from mpet_site.web.tables import NUMBER, PageTable, TableColumn
from predictor.extrapolation.questions import DEFAULT_MODELS, OFFERED_MODELS, ExtrapolationQuestion, InvalidFit
from predictor.figures.extrapolation import beyond_charts
from predictor.pages.presenting import number_column
from profiles.figures.base import Breakpoints
from profiles.models import Profile
from profiles.pages.page_cache import kept_for_visitors
from profiles.pages.views import time_unit
from profiles.templatetags.quantities import significant, with_spaces


@require_safe
@kept_for_visitors
def beyond(request: HttpRequest, uid: Any) -> HttpResponse:
    """Show the extrapolations of a profile.

    `?model=` may be repeated, and `?to=` is the largest thread count.
    """
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
        reason = error.reason if isinstance(error, InvalidFit) else f"{to!r} is not a whole number of threads."
        return render(request, "predictor/beyond.html", context | {"refusal": reason}, status=422)
    answer = extrapolation_document(profile, request.user, question)
    breakpoints = Breakpoints(profile.platform.n_nu, profile.platform.n_ht)
    parameters = {"models": ",".join(models)} | ({"to": to} if to else {})
    unit = context["time_unit"]
    answering = [part | model_tables(part, unit) for part in answer["models"] if not part["refusal"]]
    context |= {
        "answer": answer,
        "answering": answering,
        "refusals": list(dict.fromkeys(part["refusal"] for part in answer["models"] if part["refusal"])),
        "rows": prediction_rows(answering),
        "charts": beyond_charts(answer, breakpoints, unit),
        "size_reasons": reasons_table("the model over sizes", answer["sizes"]["reasons"], "refuses")
        if answer["sizes"]
        else None,
        "twin": json_address("api-profile-beyond", profile.uid, query=urlencode(parameters)),
    }
    return render(request, "predictor/beyond.html", context)


def prediction_rows(models: list[dict[str, Any]]) -> list[tuple[int, list[dict[str, Any]]]]:
    """Return one row per thread count with the prediction of each model."""
    by_count = [{point["n"]: point for point in model["predictions"]} for model in models]
    return [(n, [model[n] for model in by_count]) for n in sorted(by_count[0])] if by_count else []


def model_tables(model: dict[str, Any], unit: str) -> dict[str, PageTable | None]:
    """Return the tables of one model: the reasons for choosing it if there are any, its parameters, and its
    residuals."""
    title, reasons = model["title"], model["reasons"]
    parameters = (
        TableColumn("Parameter", lambda row: with_spaces(row["name"])),
        number_column("Value", "value"),
        number_column("From", "low"),
        number_column("To", "high"),
    )
    residuals = (
        number_column("n", "n", "n"),
        number_column(f"Measured ({unit})", "time_s"),
        number_column(f"Fitted ({unit})", "fitted_s"),
        TableColumn("Residual", lambda row: f"{significant(row['residual_percent'])} %", kind=NUMBER, term="residual"),
    )
    return {
        "reasons": reasons_table(title, reasons, "– %") if reasons else None,
        "parameters": PageTable(f"Parameters of {title}", parameters, model["parameters"]),
        "residuals": PageTable(f"Residuals of {title}", residuals, model["points"]),
    }


def reasons_table(of: str, reasons: Sequence[dict[str, Any]], unknown: str) -> PageTable:
    """Return the table of the models that were tried, with their errors. `unknown` is shown for models without an
    error."""

    def error(row: dict[str, Any]) -> str:
        return unknown if row["error_percent"] is None else f"{significant(row['error_percent'])} %"

    columns = (
        TableColumn("Model", lambda row: with_spaces(row["model"])),
        TableColumn("Mean error", error, kind=NUMBER, term="error"),
        TableColumn("On", itemgetter("evidence")),
        TableColumn("Chosen", lambda row: "yes" if row["chosen"] else ""),
    )
    return PageTable(f"Reasons of {of}", columns, reasons)
