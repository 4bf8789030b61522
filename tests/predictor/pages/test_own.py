"""The page of one's own predictions and its twin; deleting them on both."""

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse

from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from tests.mpet_site.api_samples import API, client_of, read
from tests.pages import store_private, text_of, twin_of, user

pytestmark = pytest.mark.django_db
QUESTION = PredictionRequest("app0-section0", "machine-1")


@pytest.fixture
def ada(public):
    return user("ada")


@pytest.fixture
def signed_in(ada):
    client = Client()
    client.force_login(ada)
    return client


def test_the_page_and_the_api_list_the_same(ada, signed_in):
    public = predict(QUESTION, ada)
    predict(PredictionRequest("app1-section0", "machine-0"), user("bob"))
    store_private(ada)
    private = predict(QUESTION, ada)
    page = signed_in.get(reverse("own-predictions"))
    assert [row[0].pk for row in page.context["table"].rows] == [private.pk, public.pk]
    assert "private" in text_of(page)
    assert 'href="/platforms/machine-1/"' in page.content.decode()
    rows = signed_in.get(twin_of(page)).json()["results"]
    assert [(row["id"], row["private"]) for row in rows] == [(str(private.uid), True), (str(public.uid), False)]
    written = csv.DictReader(io.StringIO(read(signed_in.get(page.context["csv"])).decode()))
    assert [row["id"] for row in written] == [str(private.uid), str(public.uid)]


def test_the_list_of_the_api_has_ones_own_without_asking(ada):
    predict(QUESTION, ada)
    address = f"{API}predictions/"
    for viewer, query, count in ((ada, "", 1), (ada, "?settled=true", 0), (user("bob"), "", 0), (None, "", 0)):
        assert client_of(viewer).get(address + query).json()["count"] == count, (viewer, query)
    assert client_of().get(f"{address}?mine=true").status_code == 401


def test_the_list_is_not_the_one_that_was_kept_before_a_prediction(ada):
    client = client_of(ada)
    first = client.get(f"{API}predictions/?mine=true")
    prediction = predict(QUESTION, ada)
    again = client.get(f"{API}predictions/?mine=true", headers={"If-None-Match": first["ETag"]})
    assert again.json()["count"] == 1
    client.delete(f"{API}predictions/{prediction.uid}/")
    assert client.get(f"{API}predictions/?mine=true", headers={"If-None-Match": again["ETag"]}).json()["count"] == 0


def test_one_or_all_are_deleted_on_their_page_after_asking(ada, signed_in):
    prediction = predict(QUESTION, ada)
    address = reverse("delete-prediction", args=[prediction.uid])
    assert address in signed_in.get(reverse("prediction", args=[prediction.uid])).content.decode()
    assert "Cancel" in text_of(signed_in.get(address))
    for target in ("machine-0", "machine-2"):
        predict(PredictionRequest("app0-section0", target), ada)
    other = predict(PredictionRequest("app1-section0", "machine-0"), user("bob"))
    assert signed_in.post(address)["Location"] == reverse("own-predictions")
    assert Prediction.objects.count() == 3
    assert signed_in.get(address).status_code == 404
    signed_in.post(reverse("delete-predictions"))
    assert Prediction.objects.get() == other
    assert "You have no predictions yet" in text_of(signed_in.get(reverse("own-predictions")))


def test_the_api_deletes_ones_own_alone(ada):
    prediction = predict(QUESTION, ada)
    address = f"{API}predictions/{prediction.uid}/"
    bob = user("bob")
    assert client_of().delete(address).status_code == 401
    assert client_of(bob).delete(address).status_code == 403
    store_private(ada)
    private = predict(QUESTION, ada)
    assert client_of(bob).delete(f"{API}predictions/{private.uid}/").status_code == 404
    assert client_of(ada, "predict").delete(address).status_code == 204
    assert client_of(ada).get(address).status_code == 404
    assert client_of(ada).delete(f"{API}predictions/").status_code == 400
    assert client_of(ada).delete(f"{API}predictions/?mine=true").status_code == 204
    assert not Prediction.objects.exists()


def test_somebody_elses_page_is_nobodys_to_delete(ada):
    prediction = predict(QUESTION, ada)
    bob = Client()
    bob.force_login(user("bob"))
    assert bob.get(reverse("prediction", args=[prediction.uid])).context["is_own"] is False
    assert bob.post(reverse("delete-prediction", args=[prediction.uid])).status_code == 404
    assert Prediction.objects.exists()
    assert Client().get(reverse("own-predictions")).status_code == 302
