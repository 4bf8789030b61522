"""What is published about the benchmark is what is stored."""

import json
import re

from mpet_bench.entries import BASELINES
from mpet_bench.leaderboard import leaderboard_page, read_results, result_lines
from mpet_bench.tasks import TASKS

from tests.paths import ROOT

BENCH = ROOT / "research" / "bench"
RESULTS = read_results(BENCH / "results")


def test_the_leaderboard_is_what_the_stored_scores_make():
    assert (ROOT / "research" / "leaderboard.md").read_text() == leaderboard_page(RESULTS)


def test_three_tasks_have_all_baselines_mpet_and_an_entry_of_others():
    everyone = {path.stem.replace("_", "-") for path in BASELINES.glob("[a-z]*.py")} | {"soft-impute"}
    entries = {task: {result["entry"] for result in RESULTS if result["task"] == task} for task in TASKS}
    assert len([task for task, of_task in entries.items() if of_task >= everyone]) >= 3


def test_a_stored_score_is_of_a_frozen_task_and_has_its_name():
    for path in (BENCH / "results").glob("*.json"):
        result = json.loads(path.read_text())
        assert path.stem.replace("_", "-") == f"{result['task']}.{result['entry']}"
        assert result["frozen"]
        assert result["task"] in TASKS


def test_the_best_is_first_and_an_entry_without_intervals_last():
    results = [
        {"entry": name, "mean": mean, "median": 1.0, "coverage": None, "interval_score": score, "seconds": None}
        | {"refused": 0}
        for name, mean, score in (("a", 3.0, None), ("b", 2.0, 0.5), ("c", 4.0, 0.4))
    ]
    by_error, by_interval = (
        result_lines(TASKS[name], results, mark="b") for name in ("hidden-pair-v1", "intervals-v1")
    )
    assert [line.split(" | ")[0] for line in by_error[2:]] == ["| **b**", "| a", "| c"]
    assert [line.split(" | ")[0] for line in by_interval[2:]] == ["| c", "| **b**", "| a"]


def test_the_table_of_pitot_has_the_stored_scores():
    rows = {}
    for line in (ROOT / "docs" / "accuracy" / "pitot.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.match(r"`[\w-]+`$", cells[0]):
            rows[cells[0].strip("`")] = cells[1:]
    assert {"mpet", "matrix-completion"} <= {*rows}
    for entry, cells in rows.items():
        for percent, cell in zip((90, 50, 10), cells, strict=True):
            stored = BENCH / "results" / f"pitot-{percent}-v1.{entry.replace('-', '_')}.json"
            stored = stored if stored.exists() else stored.with_name(f"pitot-{percent}-v1.{entry}.json")
            if cell == "–":
                assert not stored.exists()
                continue
            score = json.loads(stored.read_text())
            assert cell == f"{score['mean']:.3g} / {score['median']:.3g} ({100 * score['coverage']:.1f})"


def test_the_paper_of_the_software_is_short_and_cites_what_it_lists():
    text = (ROOT / "paper.md").read_text()
    assert len(text.split()) < 1000
    cited = {*re.findall(r"@(\w+\d{4}\w+)", text)}
    assert cited == {*re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text(), re.M)}
    for headline in ("Summary", "Statement of need", "State of the field", "Functionality", "Research use"):
        assert f"\n# {headline}\n" in text


def test_the_figures_of_the_paper_are_those_of_the_accuracy_pages():
    text = " ".join((ROOT / "paper.md").read_text().partition("# Accuracy")[2].partition("# Research use")[0].split())
    page = "".join((ROOT / "docs" / name).read_text() for name in ("accuracy.md", "accuracy/harder.md"))
    pairs = re.findall(r"(\d+(?:\.\d+)?) / (\d+(?:\.\d+)?)", text)
    assert len(pairs) == 10
    for mean, median in pairs:
        assert f"{mean} / {median}" in page
    held = re.search(r"hold ([\d.]+), ([\d.]+) and ([\d.]+) %", text).groups()
    assert held == tuple(
        re.search(rf"\| \[sparecores-{name}\][^\n]*? \| ([\d.]+) % \|", page)[1]
        for name in ("gb6", "llama", "stressng")
    )
    strangers = re.search(r"errors are ([\d.]+), ([\d.]+) and ([\d.]+) % in the mean", text).groups()
    rows = (re.search(rf"\| `mpet`, sparecores-{name} \|(.*)", page)[1] for name in ("gb6", "llama", "stressng"))
    assert [row.split(" | ")[2].split(" / ")[0] for row in rows] == list(strangers)
