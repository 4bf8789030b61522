"""The paper's tables and figures: what their rows mean, on databases where it can be told by hand."""

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.database import Database, Group
from predictor.core.evaluate import Outcome, Protocol, evaluate
from predictor.core.methods import METHODS
from predictor.core.mpet2020.candidates import find_neighbourhood, select_by_tuple
from predictor.core.mpet2020.method import Mpet2020Settings
from predictor.models.evaluations import PAPER_TABLES
from profiles.jobs.executors import Processes
from profiles.scaling.names import FEATURE_NAMES
from research.paper import PAPER_DEVICE_CLASSES, paper_results
from research.paper.ablation import ablation_rows, variants
from research.paper.candidates import errors_by_distance, method_with_candidates, sorted_errors
from research.paper.influence import part_influence_rows, part_loss_shares
from research.paper.statistics import table_5_statistics
from tests.predictor.core.databases import random_arrays

DECOMPOSED = Group(True, "mpal", "measured")


def arrays_of(seed=4, platforms=9, workloads=12):
    found = random_arrays(seed, platforms, workloads, missing=0.1, invalid=0.1, groups=(DECOMPOSED,))
    classes = [("server", "desktop", "embedded")[i % 3] for i in range(platforms)]
    return found | {"platform_table": found["platform_table"] | {"device_class": classes}}


@pytest.fixture(scope="module")
def database():
    return Database.build(**arrays_of())


@pytest.fixture(scope="module")
def results(database):
    return paper_results(database, sample=20, seed=1)


def outcomes_of(*errors):
    """Of the scaling; None = refused."""
    return [Outcome("m", "p", "w", 0.0, errors={} if e is None else {"scaling": e}) for e in errors]


def test_statistics_are_the_columns_of_table_5():
    row = table_5_statistics(outcomes_of(0.1, 0.2, 0.6, None), "scaling")
    assert row["av"] == pytest.approx(30)
    assert row["med"] == pytest.approx(20)
    assert (row["min"], row["max"]) == (pytest.approx(10), pytest.approx(60))
    assert row["p80"] == pytest.approx(np.percentile([10, 20, 60], 80))
    assert (row["count"], row["refused"]) == (3, 1)
    assert table_5_statistics(outcomes_of(None), "scaling")["av"] is None


def test_every_table_has_rows_of_equal_columns(results):
    assert tuple(results) == PAPER_TABLES
    for rows in results.values():
        assert rows
        assert all(list(row) == list(rows[0]) for row in rows)


def test_table_5_has_three_parts_for_all_and_for_each_class(results, database):
    named = [(row["platforms"], row["part"]) for row in results["table5"]]
    parts = ("t(1)", "scaling vector", "full")
    assert named == [(name, part) for name in ("all", *PAPER_DEVICE_CLASSES) for part in parts]
    report = evaluate(database, [METHODS["mpet2020"]], Protocol(sample=20, seed=1)).report().methods["mpet2020"]
    assert results["table5"][2]["av"] == pytest.approx(report.full.mean)
    assert results["table5"][0]["med"] == pytest.approx(report.t1.median)


def test_a_class_is_predicted_from_its_own_platforms_alone():
    """Absurd servers change no desktop's row."""
    arrays = arrays_of()
    servers = np.arange(9) % 3 == 0
    hit = servers[arrays["platform_index"]]
    absurd = arrays | {"features": np.where(hit[:, None], 1e6, arrays["features"])}
    rows = [paper_results(Database.build(**one), sample=9, seed=2)["table5"] for one in (arrays, absurd)]
    assert rows[0][6:9] == rows[1][6:9]
    assert rows[0][0:3] != rows[1][0:3]


@pytest.mark.parametrize("count", [1, 10])
def test_so_many_candidates_and_the_nearest(database, count):
    method = method_with_candidates(count)
    answer = method.predict(database, Query(3, 2), method.settings())
    near = find_neighbourhood(database, Query(3, 2))
    ranked = select_by_tuple(near, len(near.workloads), len(near.platforms))
    assert len(answer.candidates_t1) == len(answer.candidates_scaling) == count
    nearest = [
        (database.platforms[near.platforms[p]], database.workloads[near.workloads[b]])
        for p, b in zip(ranked.platforms[:count], ranked.workloads[:count], strict=True)
    ]
    assert [(c.platform, c.workload) for c in answer.candidates_scaling] == nearest


def test_figure_10_is_sorted_and_ends_at_all_predictions():
    rows = sorted_errors(10, outcomes_of(0.3, None, 0.1, 0.2))
    assert [row["error"] for row in rows] == pytest.approx([10, 20, 30])
    assert [row["share"] for row in rows] == pytest.approx([100 / 3, 200 / 3, 100])
    many = sorted_errors(1, outcomes_of(*np.linspace(0, 1, 5000)))
    assert len(many) == 1000
    assert (many[0]["error"], many[-1]["error"], many[-1]["share"]) == (0, 100, 100)


def test_figure_11_has_bins_of_rising_distance_with_all_tries(database):
    rows = errors_by_distance(database, Protocol(sample=20, seed=3))
    for count in (1, 10):
        mine = [row for row in rows if row["candidates"] == count]
        distances = [row["distance"] for row in mine]
        assert distances == sorted(distances)
        assert len(mine) == 10
        assert max(row["count"] for row in mine) - min(row["count"] for row in mine) <= 1
        assert 50 < sum(row["count"] for row in mine) <= 160  # where one candidate leaves no time, nothing is counted
        assert all(row["av"] >= 0 and row["med"] >= 0 for row in mine)


def test_processes_change_no_point_of_figure_11(database):
    alone, parallel = (errors_by_distance(database, Protocol(sample=10), executor=Processes(jobs)) for jobs in (1, 2))
    assert alone == parallel


def test_shares_of_a_loss_add_up():
    """Eq. 3-4: n t(n) = t(1) R / U; here R = 1.2, l = 0.1, w = 0.3, so n t = 2 t(1): 0.2 + 0.2 + 0.6 = 1."""
    shares = part_loss_shares(1.2, np.array([0.1, 0.3, 0, 0, 0, 0]))
    np.testing.assert_allclose(shares, [0.2, 0.2, 0.6, 0, 0, 0, 0])
    saved = part_loss_shares(0.5, np.array([0, 0.5, 0, 0, 0, 0]))
    np.testing.assert_allclose(saved, [0.5, 0, 0.5, 0, 0, 0, 0])
    for nothing in (
        part_loss_shares(1.0, np.zeros(6)),
        part_loss_shares(1.0, np.full(6, 0.2)),
        part_loss_shares(np.nan, np.zeros(6)),
    ):
        assert np.isnan(nothing).all()


def test_influence_is_read_from_the_fit_at_the_largest_n():
    """R(n) = 1 + 0.1 (n - 1) alone on one profile; constant w = 0.25 and R = 1.5 on the other: half each."""
    arrays = random_arrays(0, 2, 1, missing=0.0, groups=(DECOMPOSED,))
    first = np.array([0.0 if name.endswith((".m", ".b")) else np.nan for name in FEATURE_NAMES])
    second = first.copy()
    first[FEATURE_NAMES.index("redundancy.m")], first[FEATURE_NAMES.index("redundancy.b")] = 0.1, 0.9
    second[FEATURE_NAMES.index("redundancy.b")] = 1.5
    second[FEATURE_NAMES.index("work_imbalance.b")] = 0.25
    arrays |= {"features": np.array([first, second]), "t1_s": np.ones(2)}
    rows = {row["parameter"]: row for row in part_influence_rows(Database.build(**arrays), np.arange(2))}
    assert rows["redundancy"]["share"] == pytest.approx(75)
    assert rows["work_imbalance"]["share"] == pytest.approx(25)
    assert rows["redundancy"]["count"] == 2


def test_time_only_profiles_have_no_shares():
    database = Database.build(**random_arrays(0, 3, 3, groups=(Group(False, "", "measured"),)))
    assert all(
        row["share"] is None and row["count"] == 0 for row in part_influence_rows(database, np.arange(len(database)))
    )


def test_the_ablation_changes_one_choice_and_marks_the_paper_s():
    chosen = variants()
    for variant in chosen:
        changed = {name for name, value in vars(variant.settings).items() if value != getattr(Mpet2020Settings(), name)}
        parts = {"k"} if variant.varied == "exponent" else {"workloads", "platforms", "distance"}
        assert all(name.split("_", 1)[1].split("_")[-1] in parts for name in changed), variant
    rows = ablation_rows(chosen, {variant.method.name: outcomes_of(0.1) for variant in chosen})
    marked = {(row["part"], row["varied"], row["value"]) for row in rows if row["is_default"]}
    assert marked == {
        ("t(1)", "limits", "5 workloads, 5 platforms"),
        ("t(1)", "exponent", "k = 0"),
        ("t(1)", "distances", "D_a mean, D_p individual"),
        ("scaling vector", "limits", "10 workloads, 3 platforms"),
        ("scaling vector", "exponent", "k = 3"),
        ("scaling vector", "distances", "D_a individual, D_p individual"),
    }


def test_the_paper_s_own_choice_is_the_method_itself(results):
    for part, at in (("t(1)", 0), ("scaling vector", 1)):
        own = [row for row in results["ablation"] if row["part"] == part and row["is_default"]]
        assert len(own) == 3
        assert [row["av"] for row in own] == pytest.approx([results["table5"][at]["av"]] * 3)
