"""Sending tarballs from the page: dropped or chosen, seen to advance, refused with reasons; and copied commands."""

import base64

import pytest
from django.conf import settings as site
from django.urls import reverse
from playwright.sync_api import expect

from benchmarks.models import Upload
from benchmarks.processing import process
from tests.benchmarks.formats.test_formats import FILES, SPECIMENS
from tests.benchmarks.tarballs import packed
from tests.samples import sample_measurements

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def content() -> bytes:
    return packed(sample_measurements(1, 2, seed=4))


DROP = """([content, name]) => {
  const bytes = Uint8Array.from(atob(content), (mark) => mark.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], name));
  const drop = document.getElementById("drop");
  drop.dispatchEvent(new DragEvent("dragover", { dataTransfer: carried, cancelable: true }));
  drop.dispatchEvent(new DragEvent("drop", { dataTransfer: carried, cancelable: true }));
}"""


def drop(page, content: bytes, name: str) -> None:
    page.evaluate(DROP, [base64.b64encode(content).decode(), name])


def test_a_dropped_tarball_is_sent_and_leads_to_its_report(visit, ada, content):
    page = visit(reverse("upload"), user=ada)
    drop(page, content, "dropped.tar.gz")
    assert "dropped.tar.gz" in page.locator("#chosen").inner_text()
    page.get_by_label("Private").check()
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/uploads/*-*/")
    assert "accepted" in page.locator("h1").inner_text()
    expect(page.get_by_role("link", name="Profile of")).to_have_count(2)
    stored = Upload.objects.get()
    assert (stored.filename, stored.visibility, stored.owner) == ("dropped.tar.gz", "private", ada)
    page = visit(reverse("upload"), user=ada)
    drop(page, b"no tarball", "broken.tar.gz")
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/uploads/*-*/")
    table = page.get_by_role("region", name="Errors")
    expect(table.locator("thead th")).to_have_text(["Member", "Line", "Reason"])
    expect(table.locator("tbody tr")).to_have_count(1)


def test_a_file_over_the_limit_is_not_even_sent(visit, ada, settings, content):
    settings.UPLOAD_MAX_PACKED_BYTES = 100
    page = visit(reverse("upload"), user=ada)
    drop(page, content, "large.tar.gz")
    page.get_by_role("button", name="Upload").click()
    assert "at most" in page.get_by_role("alert").inner_text()
    assert not Upload.objects.exists()


def test_an_upload_that_waits_shows_its_report_once_a_worker_has_done_it(visit, ada, content, settings):
    settings.TASKS = {"default": {"BACKEND": "django_tasks.backends.dummy.DummyBackend"}}
    page = visit(reverse("upload"), user=ada)
    drop(page, content, "later.tar.gz")
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/uploads/*-*/")
    page.get_by_text("Queued").wait_for()
    process(Upload.objects.get())
    page.locator("h1 .badge.accepted").wait_for()


def test_a_session_that_ended_says_so(visit, ada, content):
    page = visit(reverse("upload"), user=ada)
    drop(page, content, "late.tar.gz")
    page.context.clear_cookies(name=site.SESSION_COOKIE_NAME)
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("not signed in any more").wait_for()
    assert not Upload.objects.exists()


def test_files_of_another_tool_are_looked_at_and_then_stored(visit, ada):
    page = visit(reverse("upload"), user=ada)
    page.locator("#id_file").set_input_files([SPECIMENS / name for name in FILES["talp"]])
    assert "talp-1.json and 2 more" in page.locator("#chosen").inner_text()
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("the files do not name the machine").wait_for()
    for label, value in (
        ("Or another machine: name", "laptop"),
        ("Processor", "ACME 1000"),
        ("Number of threads", "8"),
    ):
        page.get_by_label(label).fill(value)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("heading", name="nothing is stored yet").wait_for()
    assert page.get_by_role("region", name="Workloads").locator("tbody tr").count() == 2
    assert not Upload.objects.exists()
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/uploads/*-*/")
    assert "accepted" in page.locator("h1").inner_text()
    assert Upload.objects.get().form == "talp"


def test_what_the_form_refuses_is_told_without_leaving_the_page(visit, ada, content):
    page = visit(reverse("upload"), user=ada, expected="status of 422")
    drop(page, b"no table", "photo.jpg")
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("alert").get_by_text("photo.jpg: unknown file type").wait_for()
    assert not Upload.objects.exists()


def test_the_commands_of_the_kit_can_be_copied(visit, ada):
    page = visit(reverse("measure"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the command: Measure").click()
    assert page.evaluate("navigator.clipboard.readText()").startswith("make NAME=")
