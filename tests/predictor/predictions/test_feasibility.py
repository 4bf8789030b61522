import pytest
from django.urls import reverse

from predictor.predictions.feasibility import possibility
from profiles.models import Profile
from tests.pages import store_private, store_public, text_of, user

pytestmark = pytest.mark.django_db
ADDRESS = "/predict/possible/"


def words(client, workload: str, target: str) -> str:
    return text_of(client.get(ADDRESS, {"workload": workload, "target": target}))


def test_counts_what_there_is_to_predict_from(client):
    store_public()
    text = words(client, "app0-section0", "machine-1")
    assert "Possible: 2 reference platforms have the workload" in text
    assert "known by 3 other workloads" in text
    assert "6 profiles connect the two" in text
    assert "The pair itself was measured" in text


def test_names_stand_for_slugs(client):
    store_public()
    assert words(client, "app0/section0", "machine-1") == words(client, "app0-section0", "machine-1")


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ({"platform__slug": "machine-1"}, "measured on no other platform"),
        ({"workload__slug": "app0-section0"}, "no other workload was measured on the target"),
        ("apart", "nothing connects them"),
    ],
)
def test_says_why_there_can_be_no_prediction(client, kept, reason):
    profiles = {(profile.workload.slug, profile.platform.slug): profile.pk for profile in store_public()}
    if kept == "apart":
        other = next(workload for workload, _ in profiles if workload != "app0-section0")
        pair = [profiles["app0-section0", "machine-0"], profiles[other, "machine-1"]]
        Profile.objects.exclude(pk__in=pair).delete()
    else:
        Profile.objects.exclude(**kept).delete()
    text = words(client, "app0-section0", "machine-1")
    assert "Not possible yet" in text
    assert reason in text
    assert not possibility(None, "app0-section0", "machine-1").is_possible


def test_unknown_names_lead_to_those_that_look_alike(client):
    store_public()
    page = client.get(ADDRESS, {"workload": "app0-secton0", "target": "machine-1"})
    assert "There is no workload “app0-secton0”; did you mean app0-section0" in text_of(page)
    assert 'href="/predict/?workload=app0-section0&amp;target=machine-1"' in page.content.decode()
    assert "There is no platform “zzz”. All platforms" in words(client, "app0-section0", "zzz")


def test_nothing_is_said_before_both_fields_are_filled(client):
    store_public()
    assert words(client, "app0-section0", " ") == ""


def test_private_rows_are_known_to_their_owner_alone(client):
    ada = user("ada")
    private = store_private(ada)[0]
    assert "There is no workload" in words(client, private.workload.slug, private.platform.slug)
    client.force_login(ada)
    assert "measured on no other platform" in words(client, private.workload.slug, private.platform.slug)


def test_the_form_s_page_says_the_same(client):
    store_public()
    page = client.get(reverse("predict"), {"workload": "app0-section0", "target": "machine-1"})
    assert words(client, "app0-section0", "machine-1") in text_of(page)


def test_scenarios_that_counts_decide_nothing_about_are_tried(client):
    store_public()
    Profile.objects.filter(workload__slug="app0-section0").exclude(platform__slug="machine-0").delete()
    parameters = {"workload": "app0-section0", "target": "machine-1", "scenario": "parallelisation"}
    assert text_of(client.get(ADDRESS, parameters)) == ""  # no strategy is chosen yet
    possible = text_of(client.get(ADDRESS, parameters | {"strategy": "dynamic_loop"}))
    assert possible.startswith("Possible: the target is known by 3 other workloads")
    refused = text_of(client.get(ADDRESS, parameters | {"strategy": "pipeline"}))
    assert refused.startswith("Not possible yet:")
    assert "pipeline" in refused
    assert "Possible" in text_of(client.get(ADDRESS, parameters | {"scenario": "sequential"}))
