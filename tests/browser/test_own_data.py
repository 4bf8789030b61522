"""Journey 4, "it is my data": from a new account over an upload, its publication and a prediction to an empty one."""

import io
import tarfile

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse
from playwright.sync_api import expect

from benchmarks.models import Upload
from predictor.models import Prediction
from profiles.models import Platform, Profile
from tests.benchmarks.tarballs import packed
from tests.benchmarks.uploads import kept_files
from tests.pages import PASSWORD, store_public
from tests.profiles.deliveries import stored_counts
from tests.samples import sample_measurements, sample_platform

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def own_tarball() -> bytes:
    measurements = sample_measurements(1, 3, seed=4)
    measurements.platforms[0] = sample_platform(8, name="my-machine")
    return packed(measurements)


def sign_up(page) -> None:
    page.get_by_role("link", name="Sign in").click()
    page.get_by_role("main").get_by_role("link", name="Create account").click()
    page.get_by_label("Email").fill("ada@example.org")
    page.locator("#id_password1").fill(PASSWORD)
    page.get_by_label("Password (again)").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()


def upload(page) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Measure").click()
    page.get_by_role("navigation", name="Measure").get_by_role("link", name="Upload", exact=True).click()
    page.locator("#id_file").set_input_files(
        {"name": "mine.tar.gz", "mimeType": "application/gzip", "buffer": own_tarball()}
    )
    page.get_by_label("Private").check()
    page.get_by_label("Licence").select_option("CC0")
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/uploads/*-*/")


def predict(page, public_only: bool) -> None:
    page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + reverse("predict"))
    page.locator("#id_workload").fill("app0-section0")
    page.get_by_label("Target machine").fill("machine-1")
    page.get_by_label("Public data only").set_checked(public_only)
    page.get_by_role("button", name="Predict").click()
    page.wait_for_url("**/predictions/*-*/")


def from_user_menu(page, name: str) -> None:
    """Opens a page of the menu behind the button "Account"."""
    page.get_by_role("button", name="Account", exact=True).click()
    page.get_by_role("navigation", name="Account").get_by_role("link", name=name, exact=True).click()


def confirm(page, link: str, button: str) -> None:
    page.get_by_role("link", name=link, exact=True).click()
    page.get_by_role("button", name=button, exact=True).click()


@pytest.mark.lab
def test_from_a_new_account_to_an_empty_one(visit, media):
    store_public()
    before = stored_counts()
    page = visit(reverse("home"))
    sign_up(page)
    upload(page)
    assert "private" in page.locator("h1").inner_text()
    expect(page.get_by_role("link", name="Profile of")).to_have_count(3)
    predict(page, public_only=False)
    expect(page.locator("h1 .badge.private")).to_have_count(1)
    predict(page, public_only=True)
    expect(page.locator("h1 .badge.private")).to_have_count(0)
    assert Prediction.objects.filter(private_to=None).count() == 1

    from_user_menu(page, "Your uploads")
    page.get_by_role("link", name="mine.tar.gz").click()
    confirm(page, "Make it public", "Make it public")
    assert "mine.tar.gz is public" in page.get_by_role("status").inner_text()
    assert Platform.objects.visible_to(None).filter(name="my-machine").count() == 1

    from_user_menu(page, "Settings")
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Export my data").click()
    content = io.BytesIO(downloading.value.path().read_bytes())
    with tarfile.open(fileobj=content, mode="r:") as archive:
        names = archive.getnames()
    assert len([name for name in names if name.startswith("profiles/")]) == 3
    assert len([name for name in names if name.startswith("predictions/")]) == 2

    page.get_by_role("link", name="Your predictions").first.click()
    page.get_by_role("link", name="Delete app0/section0 on machine-1").first.click()
    page.get_by_role("button", name="Delete it").click()
    confirm(page, "Delete all", "Delete all")
    page.get_by_text("You have no predictions yet").wait_for()

    from_user_menu(page, "Your uploads")
    page.get_by_role("link", name="mine.tar.gz").click()
    confirm(page, "Delete it", "Delete it")
    page.get_by_text("You have uploaded nothing yet").wait_for()

    from_user_menu(page, "Settings")
    page.get_by_role("link", name="Delete the account").click()
    page.get_by_label("Delete them and their profiles").check()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Delete the account").click()
    page.get_by_text("The account is deleted").wait_for()
    expect(page.get_by_role("link", name="Sign in").first).to_be_visible()

    assert stored_counts() == before
    assert kept_files(media) == []
    assert not any(model.objects.exists() for model in (get_user_model(), Upload, Prediction))
    assert not Profile.objects.exclude(private_to=None).exists()
