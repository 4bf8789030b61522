"""Pages about the accuracy of predictions. They read the results that commands and the evaluation after start-up
stored."""

from operator import itemgetter
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address
from mpet_site.web.tables import NUMBER, PageTable, TableColumn, show_attribute, text_link
from predictor.accuracy.own_evaluation import own_measurements, shown_measurements
from predictor.accuracy.published import published_measurements
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.core.noise_floor import NOISE_FLOOR
from predictor.figures.accuracy import error_histogram, history_chart, methods_chart, paper_charts
from predictor.models import Evaluation, PaperReport
from predictor.pages.presenting import number_column
from profiles.figures.base import Chart, mark_origin
from profiles.templatetags.quantities import as_percent, percent, seconds, with_spaces

EVALUATIONS_LISTED = 20
PART_TITLES = (("full", "Full curve"), ("t1", "t(1) alone"), ("scaling", "Scaling alone"))
PUBLISHED_COLUMNS = (
    TableColumn("Dataset", lambda row: text_link(f"/docs/accuracy/{row.name}.md", row.name)),
    TableColumn("Predictions", lambda row: len(row.errors), kind=NUMBER),
    TableColumn("Half within", show_attribute("median", as_percent), kind=NUMBER, term="percentile"),
    TableColumn("80 % within", show_attribute("p80", as_percent), kind=NUMBER, term="percentile"),
    TableColumn("In 90 % interval", show_attribute("coverage", percent), kind=NUMBER, term="coverage"),
    TableColumn("Refused", show_attribute("refused"), kind=NUMBER, term="refused"),
    TableColumn("Method", lambda row: f"{row.method}, version {row.version}"),
    TableColumn("Measured", show_attribute("date")),
)
EVALUATION_COLUMNS = (
    TableColumn(
        "Date", lambda row: text_link(reverse("evaluation", args=[row.uid]), date_format(row.created_at, "j F Y, H:i"))
    ),
    TableColumn("Revision", show_attribute("revision"), kind=NUMBER, term="revision"),
    TableColumn("Holdout", show_attribute("holdout", with_spaces), term="holdout"),
    TableColumn("Target known by", lambda row: f"{row.probes or 'all'} workloads"),
    TableColumn("Methods", lambda row: " ".join(one.name for one in row.methods.all() if not one.is_baseline)),
)
METHOD_COLUMNS = (
    TableColumn("Method", show_attribute("name")),
    TableColumn("Version", show_attribute("version")),
    TableColumn("Kind", lambda method: "baseline" if method.is_baseline else "method"),
    TableColumn("Time for all predictions", lambda method: seconds(method.statistics["seconds"]), kind=NUMBER),
    TableColumn("Coverage", lambda method: percent(method.statistics["coverage"]), kind=NUMBER, term="coverage"),
    TableColumn(
        "Median width", lambda method: percent(method.statistics["interval_width"]), kind=NUMBER, term="interval"
    ),
)
ERROR_TABLE_COLUMNS = (
    TableColumn("Method", itemgetter("name")),
    number_column("Mean", "mean", "error"),
    number_column("Median", "median", "percentile"),
    number_column("70 %", "p70", "percentile"),
    number_column("80 %", "p80", "percentile"),
    number_column("95 %", "p95", "percentile"),
    number_column("Largest", "max"),
    number_column("Bias", "bias", "bias"),
    number_column("Predictions", "count"),
    number_column("Refused", "refused", "refused"),
)
TABLE_5_COLUMNS = (
    TableColumn("Machines", itemgetter("platforms")),
    TableColumn("Part", itemgetter("part")),
    number_column("Average", "av"),
    number_column("Median", "med"),
    number_column("Smallest", "min"),
    number_column("Largest", "max"),
    number_column("70 %", "p70", "percentile"),
    number_column("80 %", "p80", "percentile"),
    number_column("95 %", "p95", "percentile"),
    number_column("Predictions", "count"),
)


@require_safe
def accuracy(request: HttpRequest) -> HttpResponse:
    """Show the published figures, the latest evaluation of one origin, its history, and the paper's tables.

    `?origin=` selects the origin.
    """
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
        "evaluations": PageTable("Evaluations", EVALUATION_COLUMNS, stored.filter(origin=origin)[:EVALUATIONS_LISTED]),
        "report": report,
        "table5": PageTable(
            "Table 5",
            TABLE_5_COLUMNS,
            [row for row in report.results["table5"] if row["count"]] if report else (),
            "Table 5: error in %, with all machines, and inside one class of machines",
        ),
        "paper_charts": charts_with_rows(paper_charts(report.results), origin) if report else [],
        "shown": shown,
        "histogram": [error_histogram(shown.errors.tolist())] if shown else [],
        "own": own_measurements(),
        "published": PageTable("Published figures", PUBLISHED_COLUMNS, published_measurements()),
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
        "methods": PageTable("Methods", METHOD_COLUMNS, stored.methods.all()),
        "charts": charts_with_rows([methods_chart(method_statistics(stored, "full"))], stored.origin),
        "section": "accuracy",
        "twin": json_address("api-evaluation", stored.uid),
    }
    return render(request, "predictor/evaluation.html", context)


def charts_with_rows(charts: list[Chart], origin: str) -> list[Chart]:
    """Return the charts that have rows, and mark those about simulated profiles."""
    return mark_origin([chart for chart in charts if chart.table.rows], origin)


def part_tables(evaluation: Evaluation) -> list[PageTable]:
    """Return one table per part (full curve, t(1), scaling) with one row per method and the noise floor as the last
    row."""
    tables = []
    floor = evaluation.noise_floor
    for part, title in PART_TITLES:
        rows = [{"name": name} | statistics for name, statistics in method_statistics(evaluation, part)]
        if floor and floor[part]["count"]:
            rows.append({"name": NOISE_FLOOR} | floor[part])
        tables.append(PageTable(f"Errors: {title}", ERROR_TABLE_COLUMNS, rows, f"{title}: error in %"))
    return tables


def method_statistics(evaluation: Evaluation, part: str) -> list[tuple[str, dict[str, Any]]]:
    return [(method.name, method.statistics[part]) for method in evaluation.methods.all()]
