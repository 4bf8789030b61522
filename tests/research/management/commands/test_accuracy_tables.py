"""The tables of docs/accuracy/ are what the command writes from the stored results, and these can be measured again."""

import json
from datetime import date
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from predictor.core.methods import METHODS
from research.accuracy.pages import rounded_percent
from research.accuracy.studies import (
    published_studies,
    read_stored_results,
    result_document,
)
from research.management.commands import accuracy_tables
from research.management.commands.accuracy_tables import chosen_studies, measure_study

STATISTICS = {"mean", "median", "p70", "p80", "p95", "max", "bias", "count", "refused"}
INTERVAL = ("coverage", "interval_width")


@pytest.fixture
def results():
    return read_stored_results()


def test_every_page_is_what_the_command_would_write():
    call_command("accuracy_tables", "--check")


def test_a_changed_number_is_noticed(results, monkeypatch):
    results["gbm.pair"]["results"]["mpet"]["full"]["median"] += 1
    monkeypatch.setattr("research.management.commands.accuracy_tables.read_stored_results", lambda: results)
    with pytest.raises(CommandError, match=r"docs/accuracy/gbm\.md"):
        call_command("accuracy_tables", "--check")


def test_pages_are_written_where_they_differ(results, monkeypatch, tmp_path, capsys):
    page = tmp_path / "page.md"
    monkeypatch.setattr("research.management.commands.accuracy_tables.accuracy_documents", lambda _: {page: "text\n"})
    call_command("accuracy_tables")
    assert page.read_text() == "text\n"
    call_command("accuracy_tables")
    assert capsys.readouterr().out.splitlines() == ["1 pages, 1 written", "1 pages, 0 written"]


def test_every_study_has_a_stored_result_and_every_result_a_study():
    assert {*read_stored_results()} - {"independent"} == {study.name for study in published_studies()}


def test_every_stored_result_says_how_it_was_made(results):
    by_name = {study.name: study for study in published_studies()}
    for name, study in by_name.items():
        stored = results[name]
        assert stored["command"].endswith(" ".join(study.arguments()))
        assert set(stored["methods"]) == set(stored["results"])
        assert {"python", "numpy", "scipy", "scikit-learn"} == set(stored["versions"])
        assert stored["seconds"] > 0
        assert all(set(of_method["full"]) == STATISTICS for of_method in stored["results"].values())


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["gbm.pair", "rrze-likwid.pair"])
def test_a_small_study_measured_anew_gives_the_stored_numbers(shared_data, tmp_path, results, name):
    (study,) = chosen_studies([name])
    report = tmp_path / "report.json"
    call_command(study.command, *study.arguments(str(shared_data)), "--json", str(report))
    measured, stored = json.loads(report.read_text()), results[name]
    assert stored["methods"] == {method: METHODS[method].version for method in measured["methods"]}
    assert measured["methods"].keys() == stored["results"].keys()
    for method, of_method in measured["methods"].items():
        expected = stored["results"][method]
        for part in ("full", "t1", "scaling"):
            found = numbers(of_method[part])
            assert found == pytest.approx(numbers(expected[part]), rel=1e-4, abs=1e-4), (method, part)
        intervals = [numbers({name: statistics[name] for name in INTERVAL}) for statistics in (of_method, expected)]
        assert intervals[0] == pytest.approx(intervals[1], rel=1e-4), method
    for part, floor in measured["noise_floor"].items():
        assert numbers(floor) == pytest.approx(numbers(stored["noise_floor"][part]), rel=1e-4, abs=1e-4)


def numbers(statistics):
    """Those that are there."""
    return {name: value for name, value in statistics.items() if value is not None}


def test_the_weights_of_mpet2020_are_stored_with_its_version():
    (study,) = chosen_studies(["gbm.pair.weights"])
    names = ["mpet2020", "mpet2020: fit error"]
    report = {"methods": {name: {"seconds": 1.0} for name in names}, "noise_floor": None}
    stored = result_document(study, report, 1.0, date(2026, 1, 2))
    assert stored["methods"] == dict.fromkeys(names, METHODS["mpet2020"].version)
    assert "applications" not in stored


def test_of_each_application_errors_and_intervals_are_stored():
    (study,) = chosen_studies(["sparecores-suites.references-1"])
    full = {"mean": 1.23456789, "median": 1.0, "count": 2, "p95": 3.0}
    methods = {
        "mpet": {"full": full, "coverage": 0.9, "interval_width": 0.5, "seconds": 1.0},
        "ridge": {"full": full, "coverage": None, "interval_width": None, "seconds": 1.0},
    }
    report = {"methods": {}, "noise_floor": None, "applications": {"gb6": methods}}
    rounded = {"mean": 1.23457, "median": 1.0, "count": 2}
    assert result_document(study, report, 1.0, date(2026, 1, 2))["applications"] == {
        "gb6": {
            "mpet": {"full": rounded, "coverage": 0.9, "interval_width": 0.5},
            "ridge": {"full": rounded, "coverage": None, "interval_width": None},
        }
    }


def test_the_repository_is_measured_in_the_database_that_is_named(monkeypatch, tmp_path):
    """Nothing is made or migrated there, and nothing is kept there."""
    (study,) = chosen_studies(["repository.pair"])
    assert {"--database", "--no-save"} < set(study.arguments())
    asked, stored = [], []

    def run(arguments, state):
        asked.append((arguments[0], state))
        Path(arguments[arguments.index("--json") + 1]).write_text(
            json.dumps({"methods": {}, "noise_floor": None, "applications": {}})
        )

    monkeypatch.setattr(accuracy_tables, "run_command", run)
    monkeypatch.setattr(accuracy_tables, "write_result", lambda _, document: stored.append(document))
    measure_study(study, tmp_path / "data", 1, tmp_path / "state")
    assert asked == [("evaluate", str(tmp_path / "state"))]
    assert stored[0]["command"].startswith("manage.py fetch_data sparecores && manage.py evaluate --database")


def test_without_its_database_the_repository_is_left_out_with_the_reason(monkeypatch, capsys):
    monkeypatch.setattr(accuracy_tables, "measure_study", lambda *_: pytest.fail("nothing is there to measure"))
    call_command("accuracy_tables", "--run", "repository.pair")
    assert "repository.pair: skipped, because --repository is not given" in capsys.readouterr().out


def test_an_unknown_study_is_refused():
    with pytest.raises(CommandError, match=r"unknown study gbm\.everything"):
        call_command("accuracy_tables", "--run", "gbm.everything")


def test_the_list_names_every_study(capsys):
    call_command("accuracy_tables", "--list")
    names = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [study.name for study in published_studies()]


@pytest.mark.parametrize(
    "value, text",
    [(None, "–"), (2.345, "2.35"), (9.999, "10.0"), (99.99, "100"), (22.94, "22.9"), (717.4, "717"), (10843, "10800")],
)
def test_numbers_have_three_digits(value, text):
    assert rounded_percent(value) == text
