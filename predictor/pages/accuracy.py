"""The pages that say how good the predictions are. They read what commands and the evaluation after start stored."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address
from predictor.accuracy.own_evaluation import own_measurements, shown_measurements
from predictor.accuracy.published import published_measurements
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.core.noise_floor import NOISE_FLOOR
from predictor.figures.accuracy import error_histogram, history_chart, methods_chart, paper_charts
from predictor.models import Evaluation, PaperReport
from profiles.figures import Chart, mark_origin

EVALUATIONS_LISTED = 20
PART_TITLES = (("full", "The full curve"), ("t1", "t(1) alone"), ("scaling", "The scaling alone"))


@require_safe
def accuracy(request: HttpRequest) -> HttpResponse:
    """The published figures, the newest evaluation of one origin, what was before it, and the paper's tables.
    `?origin=` chooses."""
    stored = Evaluation.objects.listed()
    origins = [origin for origin in PREDICTION_ORIGINS if Evaluation.objects.filter(origin=origin).exists()]
    origin = request.GET.get("origin", "")
    if origin not in PREDICTION_ORIGINS:
        origin = next(iter(origins), "")
    newest = stored.filter(origin=origin).newest_with_baselines()
    charts = []
    if newest:
        history = Evaluation.objects.history(origin, newest.holdout, newest.probes)
        charts = [methods_chart(method_statistics(newest, "full")), history_chart(history)]
    shown = shown_measurements()
    report = PaperReport.objects.filter(origin=origin).first()
    context = {
        "origin": origin,
        "origins": origins,
        "evaluation": newest,
        "parts": part_tables(newest) if newest else [],
        "charts": charts_with_rows(charts, origin),
        "evaluations": stored.filter(origin=origin)[:EVALUATIONS_LISTED],
        "report": report,
        "paper_charts": charts_with_rows(paper_charts(report.results), origin) if report else [],
        "shown": shown,
        "histogram": [error_histogram(shown.errors.tolist())] if shown else [],
        "own": own_measurements(),
        "published": published_measurements(),
        "evaluation_hours": settings.EVALUATION_HOURS,
        "section": "accuracy",
        "twin": json_address("api-evaluations", query=urlencode({"origin": origin}) if origin else ""),
    }
    return render(request, "predictor/accuracy.html", context)


@require_safe
def evaluation(request: HttpRequest, uid: Any) -> HttpResponse:
    stored = get_object_or_404(Evaluation.objects.listed(), uid=uid)
    context = {
        "evaluation": stored,
        "parts": part_tables(stored),
        "charts": charts_with_rows([methods_chart(method_statistics(stored, "full"))], stored.origin),
        "section": "accuracy",
        "twin": json_address("api-evaluation", stored.uid),
    }
    return render(request, "predictor/evaluation.html", context)


def charts_with_rows(charts: list[Chart], origin: str) -> list[Chart]:
    """The charts that have rows, marked where they are about simulated profiles."""
    return mark_origin([chart for chart in charts if chart.table.rows], origin)


def part_tables(evaluation: Evaluation) -> list[dict[str, Any]]:
    """A table for each part, its rows (method, its statistics), the noise floor last."""
    tables = []
    floor = evaluation.noise_floor
    for part, title in PART_TITLES:
        rows = method_statistics(evaluation, part)
        if floor and floor[part]["count"]:
            rows.append((NOISE_FLOOR, floor[part]))
        tables.append({"name": part, "title": title, "rows": rows})
    return tables


def method_statistics(evaluation: Evaluation, part: str) -> list[tuple[str, dict[str, Any]]]:
    return [(method.name, method.statistics[part]) for method in evaluation.methods.all()]
