"""A program measured with two threads, ranked on larger machines: no n whose gain is not credible, and ties."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from django.urls import reverse

from predictor.predictions import ranking_rows
from predictor.predictions.ranking_choice import RankingChoice, with_places
from predictor.predictions.rankings import rank_platforms
from profiles.measurements import Measurements
from tests.pages import text_of
from tests.predictor.conftest import store
from tests.samples import sample_measurements

SERIAL = "app0-section0"


def serial_on_the_laptop() -> Measurements:
    """Four machines of 16 threads, the last two alike, and six workloads that gain by all of these. The first of them
    is known on machine-0 alone, where a second thread gains nothing."""
    measurements = sample_measurements(4, 6, decomposed=False, counters=False)
    platforms = [replace(each, cpu_model="Model A") if p > 1 else each for p, each in enumerate(measurements.platforms)]
    profiles = [one for one in measurements.profiles if one.platform < 3 and (one.workload or not one.platform)]
    profiles = [one if one.workload else serial(one) for one in profiles]
    profiles += [replace(one, platform=3) for one in profiles if one.platform == 2]
    return replace(measurements, platforms=platforms, profiles=profiles)


def serial(profile):
    runs, kept = profile.runs, np.flatnonzero(profile.runs.n <= 2)
    time_ns = np.full(len(kept), runs.time_ns[0])
    columns = {name: getattr(runs, name)[kept] for name in ("n", "repeat", "is_profile_pass", "parts_ns")}
    checksums = ("abc123",) * len(kept)
    return replace(
        profile, runs=replace(runs, **columns, time_ns=time_ns, time_s=time_ns / 1e9, output_checksum=checksums)
    )


@pytest.fixture
def stored(db):
    store(serial_on_the_laptop())


@pytest.mark.parametrize("estimated", [False, True])
def test_n_best_is_no_n_without_a_credible_gain(stored, client, monkeypatch, estimated):
    if estimated:
        monkeypatch.setattr(ranking_rows, "FEWEST_ESTIMATED_PLATFORMS", 1)
        monkeypatch.setattr("predictor.predictions.rankings.FEWEST_ESTIMATED_PLATFORMS", 1)
        monkeypatch.setattr(ranking_rows, "RANKED_PER_PAGE", 1)
    document = client.get(reverse("api-rankings"), {"workload": SERIAL}).json()
    rows = document["results"]
    assert {row["platform"] for row in rows} == {"machine-1", "machine-2", "machine-3"}
    assert any(row["estimated"] for row in rows) == estimated
    for row in rows:
        assert row["n_best"] <= 2
        assert row["limited"]
        assert row["estimated"] or any("a gain beyond n = " in warning for warning in row["warnings"])
    place = {row["platform"]: row["place"] for row in rows}
    assert place["machine-2"] == place["machine-3"] != place["machine-1"]  # two machines of one model
    if not estimated:
        page = text_of(client.get(reverse("ranking"), {"workload": SERIAL}))
        assert f"gain beyond n = {rows[0]['n_best']} is not credible" in page
        assert "times at the same n were not used" not in page  # none was measured


@pytest.mark.parametrize(("workload", "n"), [("app0-section1", None), (SERIAL, 16)], ids=["measured", "asked for"])
def test_at_thread_counts_that_were_measured_or_asked_for_nothing_is_limited(stored, workload, n):
    ranking = rank_platforms(workload, n=n)
    assert {(row["limited"], row["n_best"]) for row in ranking.results} == {(False, 16)}


def row(platform, time_s, n_best=8, *, limited=True, high_s=None):
    return {"platform": platform, "time_s": time_s, "n_best": n_best, "limited": limited, "high_s": high_s}


MODELS = {name: name[0] if name != "unknown" else "" for name in ("a1", "a2", "a3", "b1")}
MODELS |= {"unknown": "", "unnamed": ""}


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        ([row("a1", 1.0, high_s=1.5), row("b1", 1.1), row("a2", 1.4)], [("a1", 1), ("a2", 1), ("b1", 3)]),
        ([row("a1", 1.0, high_s=1.5), row("a2", 1.6, high_s=2.0), row("a3", 1.9)], [("a1", 1), ("a2", 2), ("a3", 3)]),
        ([row("a1", 1.0), row("a2", 1.05), row("a3", 1.2)], [("a1", 1), ("a2", 1), ("a3", 3)]),
        ([row("a1", 1.0, high_s=1.5), row("a2", 1.2, n_best=4)], [("a1", 1), ("a2", 2)]),
        ([row("a1", 1.0, limited=False, high_s=1.5), row("a2", 1.2, limited=False)], [("a1", 1), ("a2", 2)]),
        ([row("unknown", 1.0, high_s=1.5), row("unnamed", 1.2)], [("unknown", 1), ("unnamed", 2)]),
    ],
    ids=["one model", "slower than the interval", "estimates", "another n", "not limited", "of no known model"],
)
def test_machines_tie_that_differ_in_threads_alone(rows, places):
    placed = with_places(rows, MODELS, "time")
    assert [(each["platform"], each["place"]) for each in placed] == places


def test_a_price_tells_machines_apart():
    rows = [row("a1", 1.0, high_s=1.5), row("a2", 1.2)]
    assert [each["place"] for each in with_places(rows, MODELS, "cost")] == [1, 2]


def test_the_rows_of_a_page_are_computed_in_the_order_of_ties(monkeypatch):
    """By time a page of two would be a1 and b1; a2 ties with a1 and stands on the page in place of b1."""
    monkeypatch.setattr(ranking_rows, "RANKED_PER_PAGE", 2)
    platforms = ["b1", "a2", "a1"]
    table = {"cpu_model": [name[0] for name in platforms]}
    database = SimpleNamespace(platforms=platforms, platform_table=table)
    question = SimpleNamespace(
        snapshot=SimpleNamespace(database=database), choice=RankingChoice(), page=1, own_prices=None
    )
    rows = [
        row(name, time_s, high_s=high_s) | {"estimated": high_s is None}
        for name, time_s, high_s in (("b1", 1.1, None), ("a2", 1.2, None), ("a1", 1.0, 1.5))
    ]
    assert ranking_rows.RowOrder(question, rows).still_to_compute() == [1]
