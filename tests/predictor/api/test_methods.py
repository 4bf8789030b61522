"""Every registered method can be asked through the API, and its answer read on its page."""

import pytest
from django.urls import reverse

from predictor.core.methods import METHODS
from tests.mpet_site.api_samples import API, client_of, make_user, store, strict_json
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", METHODS)
def test_a_prediction_and_its_page(client, name):
    store(sample_measurements(4, 5))
    request = {"workload": "app0-section0", "target": "machine-0", "method": name, "n": [1, 3, 16]}
    response = client_of(make_user("ada"), scope="predict").post(API + "predictions/", request, format="json")
    assert response.status_code == 201, response.content
    answer = strict_json(response.content)
    assert answer["method"] == name
    assert all(point["time_s"] > 0 for point in answer["curve"])
    assert answer["measured"]["error_percent"] > 0
    assert len(answer["scaling_curves"]["redundancy"]) == 3
    if METHODS[name].baseline:
        assert any("baseline" in warning for warning in answer["warnings"])
    assert client.get(reverse("prediction", args=[answer["id"]])).status_code == 200


def test_the_list_has_what_is_registered_and_says_which_are_baselines(django_assert_num_queries):
    client = client_of()
    with django_assert_num_queries(0):
        listed = client.get(API + "methods/").json()
    methods = {row["name"]: row for row in listed["results"]}
    assert list(methods) == list(METHODS)
    assert listed["count"] == len(METHODS)
    assert sum(method["is_default"] for method in methods.values()) == 1
    assert methods["ridge"]["baseline"] and not methods["mpet2020"]["baseline"]
    assert methods["mpet2020"]["settings"]["scaling_k"] == {"type": "int", "default": 3}
