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


def test_methods_say_which_of_them_are_baselines():
    listed = {row["name"]: row["baseline"] for row in client_of().get(API + "methods/").json()["results"]}
    assert listed["ridge"]
    assert not listed["mpet2020"]
