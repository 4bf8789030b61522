"""What pages of profiles/ say about likeness, and to whom; trust 9: matrices and maps of large databases are computed
behind the request."""

from dataclasses import replace

import pytest
from django.urls import reverse

from mpet_site.web.plain_json import nan_to_null
from predictor.comparisons import MapQuestion, MatrixQuestion, neighbours_of
from predictor.core.assembly import MEASURED
from predictor.core.steps import last_step
from predictor.models import Computation
from predictor.snapshot.cache import read_snapshot
from profiles.jobs.queue import take_up
from profiles.models import Revision
from tests.pages import figures_of, store_private, store_public, text_of, twin_of, user
from tests.predictor.conftest import store
from tests.predictor.core.comparisons.matrices import distance_matrix, workload_map
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db
PAGES = ("workload-map", "platform-distances", "workload-distances")


@pytest.fixture
def public():
    return store_public()


@pytest.mark.parametrize("kind", ["platforms", "workloads"])
def test_steps_lead_to_the_matrix(public, kind):
    snapshot = read_snapshot(None)
    found = last_step(MatrixQuestion(snapshot, MEASURED, kind).steps()).document()
    assert found["of"] == kind
    assert found == nan_to_null(distance_matrix(snapshot.database, kind))


def test_steps_lead_to_the_map(public):
    snapshot = read_snapshot(None)
    found = last_step(MapQuestion(snapshot, MEASURED).steps()).document()
    assert found == nan_to_null(workload_map(snapshot.database))


@pytest.mark.parametrize("origins", [("simulated",), ("measured", "simulated")])
def test_stored_questions_are_understood_again(public, origins):
    snapshot = read_snapshot(None, origins=origins)
    for question in (MatrixQuestion(snapshot, origins, "workloads"), MapQuestion(snapshot, origins)):
        again = type(question).from_canonical(question.canonical(), None)
        assert again.canonical() == question.canonical()
        assert again.snapshot.database.revision == snapshot.database.revision


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_there_before_its_numbers(client, public, started, name):
    response = client.get(reverse(name))
    assert response.status_code == 200
    assert "Waiting for other computations to finish" in text_of(response)
    assert "Nothing" not in text_of(response)
    assert "htmx-2.min" in response.content.decode()
    assert client.get(twin_of(response)).status_code == 202
    take_up("computations")
    assert Computation.objects.count() == 1
    twin = client.get(twin_of(response))
    assert twin.status_code == 200
    assert twin.json()["origin"] == "measured"
    response = client.get(reverse(name))
    assert 'id="computing"' not in response.content.decode()
    assert figures_of(response) or response.context["rows"]


@pytest.mark.parametrize("name", PAGES)
def test_what_was_hidden_since_is_not_in_an_outdated_one(client, public, started, name):
    client.get(reverse(name))
    take_up("computations")
    profile = public[0]
    row = profile.platform if name == "platform-distances" else profile.workload
    assert row.slug in client.get(reverse(name)).content.decode()
    row.private_to = user("owner")
    row.save()
    Revision.raise_for(None)
    response = client.get(reverse(name))
    assert response.context["shown"].is_outdated
    assert f'="{row.slug}"' not in response.content.decode()
    assert f"/{row.slug}/" not in response.content.decode()


def test_private_machines_are_nobody_elses_neighbours(client, public):
    ada = user("ada")
    own = replace(sample_measurements(1, 4, seed=5), platforms=[sample_platform(7, name="secret-machine")])
    store(own, label="own", owner=ada, private=True)
    address = reverse("platform", args=["machine-0"])
    assert "secret" not in text_of(client.get(address))
    client.force_login(user("eve"))
    assert "secret" not in text_of(client.get(address))
    client.force_login(ada)
    assert "secret-machine" in text_of(client.get(address))


def test_a_machine_that_shares_nothing_has_no_neighbours(client, public):
    ada = user("ada")
    profile = store_private(ada)[0]
    client.force_login(ada)
    assert "No distance is defined: no other machine" in text_of(
        client.get(reverse("platform", args=[profile.platform.slug]))
    )
    assert neighbours_of(ada, "platforms", "never-was") == []
