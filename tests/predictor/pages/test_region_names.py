"""Regions of a program are renamed by its owner: the shown name alone, everywhere the region is shown."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import ApiToken
from accounts.user_data import close_account
from benchmarks.models import Upload
from profiles.identity.programs import programs_by_source
from profiles.models import Profile, RegionLabel
from tests.benchmarks.uploads import receive, tarball
from tests.pages import figures_of, text_of, user
from tests.programs import program_measurements

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kit")]
MERGE, SPLIT = "sort-merge12", "sort-split40"


@pytest.fixture
def ada(client):
    owner = user("ada")
    client.force_login(owner)
    return owner


@pytest.fixture
def program(ada):
    receive(tarball(program_measurements(counts=(1, 2, 4))), ada, "public", "sort.tar.gz")
    return address_of(Upload.objects.get())


def address_of(upload, view="program"):
    (name,) = programs_by_source([upload.source_id], upload.owner)[upload.source_id]
    return reverse(view, args=name.address)


def rename(client, address, label, region=MERGE, follow=True):
    return client.post(f"{address}rename/", {"region": region, "label": label}, follow=follow)


def test_the_new_name_is_shown_wherever_the_region_is(client, program):
    before = list(Profile.objects.order_by("pk").values("uid", "workload__slug", "workload__section"))
    page = rename(client, program, "  the   merge step ")
    assert "The region was renamed to the merge step." in text_of(page)
    assert [row["label"] for row in page.context["home"].parts] == ["the merge step", "split:40", "serial rest"]
    assert "the merge step merge:12, parallel region at merge:12" in text_of(page)  # where it is in the program
    assert page.context["columns"][0] == "the merge step"
    assert next(band["name"] for band in figures_of(page)["program"]["data"]) == "the merge step"
    assert any(sentence.startswith("the merge step: ") for sentence in page.context["home"].limits)
    visitor = Client().get(program)
    assert "the merge step" in text_of(visitor) and "Rename" not in text_of(visitor)
    parts = Client().get(f"/api/v1{program}").json()["parts"]
    assert (parts[0]["workload"], parts[0]["section"], parts[0]["label"]) == (MERGE, "merge:12", "the merge step")
    assert parts[0]["description"] == "parallel region at merge:12"
    report = client.get(f"/api/v1/uploads/{Upload.objects.get().uid}/").json()
    assert report["programs"][0]["labels"] == {"sort/merge:12": "the merge step"}
    assert list(Profile.objects.order_by("pk").values("uid", "workload__slug", "workload__section")) == before


def test_later_uploads_have_the_name_and_an_empty_one_gives_back_the_measured(client, ada, program):
    rename(client, program, "merging")
    receive(tarball(program_measurements(counts=(1, 2))), ada, "private", "again.tar.gz")
    newest = Upload.objects.order_by("-pk").first()
    assert client.get(address_of(newest)).context["home"].parts[0]["label"] == "merging"
    newest.refresh_from_db()
    client.post(reverse("publish-upload", args=[newest.uid]))
    assert client.get(address_of(newest)).context["home"].parts[0]["label"] == "merging"
    assert "merging" in text_of(client.get(program))
    rename(client, program, "")
    assert not RegionLabel.objects.exists()
    assert "merging" not in text_of(client.get(program)).replace("called merge:12", "")


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("split:40", "Two parts of the program would be called"),
        ("Serial Rest", "Two parts of the program would be called"),
        ("x" * 81, "A name has at most 80 printable characters."),
        ("a\x00b", "A name has at most 80 printable characters."),
    ],
)
def test_a_name_is_unique_in_the_program_and_short(label, reason, client, program):
    assert reason in text_of(rename(client, program, label))
    assert not RegionLabel.objects.exists()


def test_two_regions_swap_their_names_at_once_and_a_region_of_no_program_is_refused(client, ada, program):
    address = f"/api/v1{program}"
    kind = "application/json"
    swapped = client.patch(address, {"labels": {MERGE: "split:40", SPLIT: "merge:12"}}, content_type=kind)
    assert [part["label"] for part in swapped.json()["parts"]] == ["split:40", "merge:12", "serial rest"]
    refused = client.patch(address, {"labels": {"sort-serial-rest": "rest"}}, content_type=kind)
    assert (refused.status_code, refused.json()["detail"]) == (409, "The program has no region 'sort-serial-rest'.")
    assert client.patch(address, {"labels": {}}, content_type=kind).status_code == 400


def test_only_its_owner_renames_or_a_token_with_its_scope_and_the_etag_changes(client, ada, program):
    address, body = f"/api/v1{program}", {"labels": {MERGE: "mine"}}
    visitor, bob, careful = Client(), Client(), Client(enforce_csrf_checks=True)
    bob.force_login(user("bob"))
    careful.force_login(ada)
    assert rename(bob, program, "mine").status_code == 404
    assert rename(visitor, program, "mine", follow=False)["Location"].startswith("/accounts/login")
    assert rename(careful, program, "mine").status_code == 403
    assert visitor.patch(address, body, content_type="application/json").status_code in (401, 403)
    assert bob.patch(address, body, content_type="application/json").status_code == 404
    before = visitor.get(address)
    for scope, status in (("predict", 403), ("upload", 200)):
        assert not RegionLabel.objects.exists()
        headers = {"Authorization": f"Bearer {ApiToken.issue(ada, scope)[1]}"}
        sent = Client().patch(address, body, content_type="application/json", headers=headers)
        assert sent.status_code == status, sent.content
    assert visitor.get(address, headers={"If-None-Match": before["ETag"]}).status_code == 200


def test_the_names_go_with_the_account(client, ada, program):
    rename(client, program, "merging")
    assert client.get("/api/v1/account/").json()["counts"]["region names"] == 1
    assert b"merging" in client.get("/accounts/export/").getvalue()
    close_account(ada, keep_public=True)
    assert not RegionLabel.objects.exists()
    assert "merging" not in text_of(Client().get(program))
