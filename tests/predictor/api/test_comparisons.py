from dataclasses import replace

import numpy as np
import pytest

from predictor.core.methods import Query
from predictor.core.mpet2020.candidates import find_neighbourhood
from predictor.snapshot.cache import read_database
from profiles.ingest.service import ingest
from tests.mpet_site.api_samples import API, client_of, store, strict_json
from tests.mpet_site.web.test_problems import problem_in
from tests.predictor.conftest import without_pair
from tests.samples import sample_measurements, sample_workload

pytestmark = pytest.mark.django_db


def get(query):
    response = client_of().get(f"{API}distances/{query}")
    assert response.status_code == 200, response.content
    return strict_json(response.content)


def by_hand(a, b, low, high):
    """Eq. 10-13, element by element."""
    squares = []
    for x, y, least, most in zip(a, b, low, high, strict=True):
        if not (np.isnan(x) or np.isnan(y)):
            squares.append(((x - y) / (most - least)) ** 2 if most > least else 0.0)
    return (sum(squares) / len(squares)) ** 0.5, len(squares)


@pytest.mark.parametrize(("over", "other"), [("platforms", "workloads"), ("workloads", "platforms")])
def test_distances_are_those_of_the_equations(over, other, django_assert_num_queries):
    dataset = sample_measurements(3, 2, licence="CC BY 4.0", source="Somebody 2020")
    ingest(dataset, kind="dataset", label="set", sha256="e" * 64, owner=None, private=False)
    database = read_database()
    low, high = np.fmin.reduce(database.features, axis=0), np.fmax.reduce(database.features, axis=0)
    (a, b), others = getattr(database, over)[:2], getattr(database, other)
    document = get(f"{over}/?a={a}&b={b}")
    assert document["sources"] == [{"label": "set", "licence": "CC BY 4.0", "citation": "Somebody 2020"}]
    assert [row[other[:-1]] for row in document["individual"]] == list(others)
    for position, row in enumerate(document["individual"]):
        rows = [database.lookup(*((i, position) if over == "platforms" else (position, i)), 0) for i in (0, 1)]
        expected = by_hand(*(database.features[index] for index in rows), low, high)
        assert (row["distance"], row["dim"]) == (pytest.approx(expected[0]), expected[1])
    distances = [row["distance"] for row in document["individual"]]
    mean = {"distance": pytest.approx(sum(distances) / len(distances)), "count": len(others)}
    assert document["mean"] == mean | {"dim": min(row["dim"] for row in document["individual"])}
    assert 0 < document["mean"]["distance"] <= 1
    # symmetric, zero to itself; revision, newest profile (both: which snapshot), revision (for the ETag), datasets
    with django_assert_num_queries(4):
        back = get(f"{over}/?a={b}&b={a}")
    assert (back["mean"], back["individual"]) == (document["mean"], document["individual"])
    assert get(f"{over}/?a={a}&b={a}")["mean"]["distance"] == 0
    if over == "workloads":
        alone = get(f"{over}/?a={a}&b={b}&platform=machine-1")
        assert alone["individual"] == [row for row in document["individual"] if row["platform"] == "machine-1"]
        assert alone["mean"]["distance"] == alone["individual"][0]["distance"]


def test_they_agree_with_a_prediction_s_where_nothing_is_hidden():
    """A prediction of app1-section1 on machine-2, which was not measured there, hides no row."""
    measurements = sample_measurements(3, 4)
    store(without_pair(measurements, 2, 3))
    database = read_database()
    near = find_neighbourhood(database, Query(workload=3, target=2))
    document = get("platforms/?a=machine-0&b=machine-2")
    assert document["mean"]["distance"] == pytest.approx(near.platform_mean[0])
    document = get(f"workloads/?a={database.workloads[3]}&b={database.workloads[0]}")
    assert document["mean"]["distance"] == pytest.approx(near.workload_mean[0])


def test_nothing_comparable_is_null():
    """Runtimes are never mixed; neither are time-only and decomposed profiles."""
    measurements = sample_measurements(1, 2)
    measurements.workloads[1] = sample_workload(1, runtime="libgomp")
    store(measurements)
    document = get("workloads/?a=app0-section0&b=app0-section1")
    assert (document["mean"], document["individual"]) == ({"distance": None, "dim": 0, "count": 0}, [])


def test_without_a_common_valid_element_the_distance_is_null():
    measurements = sample_measurements(2, 1, counters=False, decomposed=False)
    record = measurements.profiles[1]
    first = {name: value if value is None else value[:3] for name, value in vars(record.runs).items()}
    measurements.profiles[1] = replace(record, runs=type(record.runs)(**first))
    store(measurements)
    document = get("platforms/?a=machine-0&b=machine-1")
    assert [(row["distance"], row["dim"]) for row in document["individual"]] == [(None, 0)]
    assert document["mean"] == {"distance": None, "dim": 0, "count": 0}


def test_simulated_ones_where_nothing_was_measured_or_on_request():
    """As predictions have it: alone where nothing that was asked for was measured, beside measured ones on request."""
    store(sample_measurements(2, 2, origin="simulated"))
    pair = "platforms/?a=machine-0&b=machine-1"
    assert get(pair)["mean"]["count"] == 2
    assert (get(pair)["origin"], get(pair)["hint"]) == ("simulated", None)
    left_out = get(f"{pair}&include_simulated=false")
    assert (left_out["mean"]["count"], left_out["origin"]) == (0, "measured")
    assert "include_simulated=true" in left_out["hint"]
    store(sample_measurements(1, 2, seed=3), label="measured")
    assert "include_simulated=true" in get(pair)["hint"]
    both = get(f"{pair}&include_simulated=true")
    assert (both["mean"]["count"], both["origin"], both["hint"]) == (2, "mixed", None)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("platforms/", "a"),
        ("platforms/?a=machine-0", "b"),
        ("platforms/?a=machine-0&b=none", "b"),
        ("platforms/?a=machine-0&b=machine-1&platform=machine-0", "platform"),
        ("platforms/?a=machine-0&b=machine-1&include_simulated=1", "include_simulated"),
        ("workloads/?a=app0-section0&b=none", "b"),
        ("workloads/?a=app0-section0&b=app0-section1&platform=none", "platform"),
    ],
)
def test_what_is_missing_or_unknown_is_400(query, name):
    store(sample_measurements(2, 2))
    document = problem_in(client_of().get(f"{API}distances/{query}"), 400)
    assert [error["name"] for error in document["errors"]] == [name]
