from dataclasses import replace

import numpy as np
import pytest
from django.urls import reverse

from predictor.predictions.rankings import rank_platforms
from tests.pages import figures_of, store_dataset, store_private, text_of, twin_of, user
from tests.predictor.conftest import store
from tests.samples import sample_measurements, sample_runs

pytestmark = pytest.mark.django_db
WORKLOAD = "app0-section0"


def page(client, **parameters):
    return client.get(reverse("ranking"), {"workload": WORKLOAD} | parameters)


def test_platforms_stand_by_rising_time_with_what_was_measured_there(client, public):
    response = page(client)
    results, rows = rank_platforms(WORKLOAD).results, response.context["rows"]
    assert [(row["place"], row["platform"]) for row, _ in rows] == [
        (place, row["platform"]) for place, row in enumerate(results, start=1)
    ]
    relative = [row["relative"] for row, _ in rows]
    assert relative == sorted(relative) and relative[0] == 1
    assert all(row["measured_time_s"] for row, _ in rows) and "Measured" in text_of(response)
    predicted, measured = figures_of(response)["ranking"]["data"]
    assert predicted["x"] == [row["time_s"] for row in results]
    assert predicted["y"] == measured["y"] == [row["platform"] for row in results]
    assert predicted["error_x"]["array"] == pytest.approx([row["high_s"] - row["time_s"] for row in results])
    assert measured["x"] == [row["measured_time_s"] for row in results]


def test_a_time_measured_at_another_n_has_that_n_in_the_table_and_is_not_in_the_chart(client):
    measurements = sample_measurements(4, 4, counters=False)
    [index] = [i for i, one in enumerate(measurements.profiles) if (one.platform, one.workload) == (2, 0)]
    runs = sample_runs(np.random.default_rng(0), counts=(1,))
    measurements.profiles[index] = replace(measurements.profiles[index], runs=runs)
    store(measurements)
    response = page(client)
    [row] = [row for row, _ in response.context["rows"] if row["platform"] == "machine-2"]
    assert (row["measured_n"], row["n_best"]) == (1, 16)
    assert text_of(response).count(" n = 1 ") == 1
    assert "The measured times at the same n were not used for the prediction." in text_of(response)
    predicted, measured = figures_of(response)["ranking"]["data"]
    at_best = [row["platform"] for row, _ in response.context["rows"] if row["measured_n"] == row["n_best"] == 16]
    assert "machine-2" in predicted["y"] and "machine-0" in at_best and measured["y"] == at_best


def test_twin_and_csv_are_the_same_ranking(client, public):
    response = page(client, method="mpet2020")
    csv, twin = f"{twin_of(response)}&format=csv", client.get(twin_of(response)).json()["results"]
    computed = response.context["ranking"].results
    assert [row.items() >= known.items() for row, known in zip(twin, computed, strict=True)] == [True] * 3
    assert len(client.get(csv).getvalue().decode().splitlines()) == 1 + len(twin)
    assert csv.replace("&", "&amp;") in response.content.decode()


def test_filters_keep_the_place_among_all(client, public):
    slowest = rank_platforms(WORKLOAD).results[-1]["platform"]
    profile = next(candidate for candidate in public if candidate.platform.slug == slowest)
    profile.platform.device_class = "embedded"
    profile.platform.save()
    response = page(client, device_class="embedded")
    assert [(row["place"], platform.slug) for row, platform in response.context["rows"]] == [(3, slowest)]
    assert "ranks are among all" in text_of(response)
    nothing = page(client, device_class="embedded", architecture="aarch64")
    assert "No machine with a prediction passes the filters" in text_of(nothing)
    assert figures_of(nothing) == {}


def test_platforms_that_cannot_be_predicted_are_named_with_the_reason(client, public):
    store_dataset()
    response = page(client)
    refused, words = response.context["refused"], text_of(response)
    assert [platform.slug for platform in refused] == ["cloud-0", "cloud-1"]
    assert words.count("2 machines have no prediction") == 1
    assert all(platform.name in words for platform in refused)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"workload": "nothing"}, "There is no workload “nothing”."),
        ({"method": "oracle"}, "There is no method “oracle”."),
        ({"n": "0"}, " n: "),
    ],
)
def test_what_cannot_be_ranked_is_said_once(client, public, parameters, said):
    response = page(client, **parameters)
    assert response.status_code == 422
    assert text_of(response).count(said) == 1


def test_a_misspelt_workload_leads_to_what_may_be_meant(client, public):
    response = page(client, workload="app0-secton0", method="mpet2020")
    assert "Did you mean" in text_of(response)
    address = f"{reverse('ranking')}?workload={WORKLOAD}&method=mpet2020"
    assert f'href="{address.replace("&", "&amp;")}"' in response.content.decode()


def test_a_relative_workload_has_no_seconds(client):
    store_dataset()
    response = page(client, workload="relative-0")
    assert "unknown unit" in text_of(response)
    assert figures_of(response)["ranking"]["layout"]["xaxis"]["title"]["text"] == "time t(n) (unknown unit)"


def test_private_platforms_are_ranked_for_their_owner_alone(client, public):
    ada = user("ada")
    secret = store_private(ada)[0]
    assert "secret" not in page(client).content.decode()
    assert page(client, workload=secret.workload.slug).status_code == 422
    client.force_login(ada)
    assert "secret-machine" in page(client).content.decode()


def test_the_ranking_takes_a_fixed_number_of_queries(client, public, django_assert_num_queries):
    page(client)
    # workloads to offer, and of their names; revision, newest profile; platforms, of their names, and their prices; the
    # workload
    with django_assert_num_queries(8):
        page(client)


def test_workload_and_prediction_pages_lead_here(client, public):
    form = {"workload": WORKLOAD, "target": "machine-1", "method": "mpet"}
    prediction = client.post(reverse("predict"), form, follow=True)
    assert f"{reverse('ranking')}?workload={WORKLOAD}" in prediction.content.decode()
    workload = client.get(reverse("workload", args=[WORKLOAD]))
    assert [row["platform"] for row, _ in workload.context["rows"]] == [
        row["platform"] for row, _ in client.get(reverse("ranking"), {"workload": WORKLOAD}).context["rows"]
    ]
