"""The pages about accuracy, and their figures."""

import json
import subprocess
from datetime import UTC, datetime

import pytest
from django.urls import reverse

from predictor.accuracy import own_evaluation
from predictor.accuracy.published import published_measurements
from predictor.figures.accuracy import error_histogram, history_chart, methods_chart, paper_charts
from predictor.management.commands import evaluate
from predictor.models import PaperReport
from profiles.templatetags.quantities import as_percent, significant
from research.accuracy.studies import published_studies
from tests.figures import plotly_figure
from tests.pages import figures_of, store_public, text_of
from tests.predictor.conftest import store
from tests.predictor.stored_evaluations import evaluate_and_store, store_report
from tests.samples import sample_measurements


def statistics(median):
    return {"median": median, "mean": 2 * (median or 0), "p95": 5 * (median or 0), "count": 9, "refused": 1}


@pytest.fixture
def evaluation(public):
    return evaluate_and_store()


def test_without_any_evaluation_the_published_figures_stand_there(client, db):
    page = client.get(reverse("accuracy"))
    words = text_of(page)
    assert "980 hidden measurements: half within 2.47 %, 90 % intervals cover 92.5 %." in words
    assert "after it starts, once 20 are" in words
    assert set(figures_of(page)) == {"error-histogram"}
    for published in published_measurements():
        assert f"{published.name} {len(published.errors)} {as_percent(published.median)}" in words
        assert client.get(f"/docs/accuracy/{published.name}.md").status_code == 200
        study = next(one for one in published_studies() if one.name == f"{published.name}.pair.errors")
        stored = json.loads(study.result.read_text())["results"]["mpet"]["full"]
        assert (stored["median"], stored["count"]) == (pytest.approx(published.median, rel=1e-3), len(published.errors))
        assert published.command.endswith(" ".join(study.arguments()))


def test_the_histogram_counts_every_error_once():
    errors = [0.0, 0.4, 1.7, 1.7, 3.2, 250.0]
    chart = error_histogram(errors)
    assert sum(count for _, count in chart.table.rows) == len(errors)
    assert plotly_figure(chart)


def test_a_server_evaluates_a_sample_of_its_own_once(db, settings, tmp_path, monkeypatch):
    store_public(platforms=4, workloads=6)
    settings.STATE_DIR, commands = tmp_path, []

    def run(command, **_):
        commands.append(command)
        evaluate_and_store(("mpet",))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("predictor.accuracy.own_evaluation.subprocess.run", run)
    evaluated = []
    for settings.EVALUATION_HOURS in (0.0, 24.0, 24.0):  # off, due, of this revision already
        evaluated.append(bool(own_evaluation.evaluate_if_due()))
    assert evaluated == [False, True, False]
    (command,) = commands
    parser = evaluate.Command().create_parser("manage.py", "evaluate")
    assert parser.parse_args(command[command.index("evaluate") + 1 :]).sample == own_evaluation.SAMPLE
    assert own_evaluation.own_measurements().machines == 3, "of the profiles that were drawn"


def test_the_page_shows_the_errors_that_were_found_and_the_papers_tables(client, evaluation):
    page = client.get(reverse("accuracy"))
    words = text_of(page)
    for method in evaluation.methods.all():
        assert f"{method.name} {significant(method.statistics['full']['mean'])}" in words
    assert f"noise-floor {evaluation.noise_floor['full']['mean']:.3g}" in words
    assert set(figures_of(page)) == {"error-histogram", "methods", "history"}
    report = store_report()
    page = client.get(reverse("accuracy"))
    names = set(figures_of(page))
    assert {"figure10-t1", "figure10-scaling", "figure11", "influence", "ablation-t1", "ablation-scaling"} <= names
    assert f"{report.results['table5'][0]['av']:.3g}" in text_of(page)


def test_measured_and_simulated_are_told_apart(client, evaluation):
    store(sample_measurements(3, 4, seed=5, origin="simulated"), "demo", kind="simulator")
    other = evaluate_and_store(origin="simulated")
    PaperReport.objects.all().delete()
    for query, shown, hidden, badges in (("", evaluation, other, 0), ("?origin=simulated", other, evaluation, 2)):
        content = client.get(reverse("accuracy") + query).content.decode()
        assert str(shown.uid) in content and str(hidden.uid) not in content
        assert content.count('class="badge simulated"') == badges


def test_an_evaluation_in_which_every_prediction_was_refused_draws_no_empty_charts(client, db):
    store_public(platforms=1)
    refused = evaluate_and_store(("mpet2020",))
    for address in (reverse("accuracy"), reverse("evaluation", args=[refused.uid])):
        page = client.get(address)
        assert "No method could predict" in text_of(page)
        assert "methods" not in figures_of(page)


def test_charts_about_simulated_profiles_say_so(client, db):
    store(sample_measurements(3, 4, origin="simulated"), kind="simulator")
    stored = evaluate_and_store()
    for address in (reverse("accuracy"), reverse("evaluation", args=[stored.uid])):
        assert "Error of each method (simulated)" in client.get(address).content.decode()


def test_one_evaluation_has_a_page_with_its_protocol(client, public):
    stored = evaluate_and_store(holdout="cpu_model", probes=2, targets=(0, 1), sample=5)
    words = text_of(client.get(reverse("evaluation", args=[stored.uid])))
    for phrase in ("cpu model", "2 random workloads", "5 random profiles at most", "2 chosen machines", "baseline"):
        assert phrase in words
    assert client.get(reverse("evaluation", args=["00000000-0000-0000-0000-000000000000"])).status_code == 404


def test_queries_of_the_page(client, evaluation, django_assert_num_queries):
    """1-2 which origins there are, 3-4 the newest and its methods, 5 the report, 6-7 the list and its methods,
    8 the history, 9-10 the newest evaluation of the default method."""
    with django_assert_num_queries(10):
        client.get(reverse("accuracy"))


def test_methods_are_drawn_best_median_first_without_those_that_refused_all():
    chart = methods_chart([("worse", statistics(9.0)), ("better", statistics(2.0)), ("none", statistics(None))])
    median, mean, p95 = plotly_figure(chart).data
    assert [trace.name for trace in (median, mean, p95)] == ["median", "mean", "p95"]
    assert (list(median.y), list(mean.x)) == (["better", "worse"], [4.0, 18.0])
    assert chart.table.rows[0] == ("better", 2.0, 4.0, 10.0, 9, 1)


def test_a_perfect_prediction_can_be_drawn_on_a_logarithmic_axis():
    chart = methods_chart([("perfect", statistics(0.0))])
    assert all(x > 0 for trace in plotly_figure(chart).data for x in trace.x)
    assert chart.table.rows[0][1] == 0.0


def test_history_has_a_line_for_each_method():
    rows = [
        {"revision": revision, "created_at": datetime(2026, 11, 20, tzinfo=UTC), "methods__name": name}
        | {"methods__version": "1", "methods__statistics": {"full": statistics(median)}}
        for revision, name, median in ((1, "a", 5.0), (1, "b", 7.0), (4, "a", 3.0), (5, "b", None))
    ]
    chart = history_chart(rows)
    lines = {trace.name: (list(trace.x), list(trace.y)) for trace in plotly_figure(chart).data}
    assert lines == {"a": ([1, 4], [5.0, 3.0]), "b": ([1], [7.0])}
    assert len(chart.table.rows) == 3


def test_figure_10_s_table_has_percentiles_of_each_line_and_charts_without_numbers_are_left_out():
    rows = [
        {"part": "t(1)", "candidates": count, "share": share, "error": share * count}
        for count in (1, 10)
        for share in range(1, 101)
    ]
    influence = [{"parameter": "redundancy", "share": None, "largest": None, "count": 0}]
    (chart,) = paper_charts({"figure10": rows, "figure11": [], "influence": influence, "ablation": []})
    assert chart.name == "figure10-t1"
    assert [trace.name for trace in plotly_figure(chart).data] == ["1 candidate", "10 candidates"]
    assert (chart.table.rows[0], chart.table.rows[-1]) == ((0, 1.0, 10.0), (100, 100.0, 1000.0))
    assert paper_charts({"figure10": [], "figure11": [], "influence": influence, "ablation": []}) == []
