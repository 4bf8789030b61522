"""A program of one's own, from the upload to the ranking of all machines: on the reference machines alone."""

from dataclasses import replace
from urllib.parse import urljoin

import pytest
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import expect

from benchmarks.archive import read_archive
from benchmarks.reading import archive_limits
from tests.benchmarks.uploads import receive, tarball
from tests.browser.walk import drawn
from tests.pages import store_public
from tests.paths import ROOT
from tests.predictor.predictions.test_costs import price
from tests.programs import program_measurements

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
REFERENCE = ROOT / "benchmarks" / "reference"
OWN = "amd-epyc-kvm-2vcpu.tar.gz"
OTHERS = {
    "KVM guest, 2 vCPUs of an AMD EPYC, Zen 4",
    "KVM guest, 2 vCPUs of an Intel Xeon with AMX",
    "KVM guest, 2 vCPUs of an Intel Xeon with AMX, 105 MB L3",
    "KVM guest, 16 vCPUs of an Intel Xeon, 300 MB L3",
}


def own_machine():
    """The reference machine, as `mpet-profile` describes it there: by another compiler."""
    with (REFERENCE / OWN).open("rb") as file:
        (platform,) = read_archive(file, limits=archive_limits()).platforms
    return replace(platform, compiler="clang 18.1", compiler_flags="as the program was built")


@pytest.fixture
def references(db):
    call_command("import_results", *(str(path) for path in sorted(REFERENCE.glob("*.tar.gz"))), verbosity=0)


def send(page, content: bytes, name: str, visibility: str) -> None:
    """Upload it on the page, as somebody who is signed in."""
    page.goto(urljoin(page.url, reverse("upload")))
    page.set_input_files("input[type=file]", {"name": name, "mimeType": "application/gzip", "buffer": content})
    page.get_by_label(visibility).check()
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/uploads/*-*/", timeout=60_000)
    assert "accepted" in page.locator("h1").inner_text()


def test_from_the_empty_front_page_to_what_would_narrow_the_interval_of_ones_own_program(visit, db):
    """Nothing is on the server but what this visitor sends: the reference tarballs, and the program that was profiled
    on the machine of one of them."""
    page = visit(reverse("home"))
    page.get_by_role("link", name="Measure your machine").first.click()
    assert "./mpet-profile --upload" in page.locator("main").inner_text()
    page.goto(urljoin(page.url, reverse("signup")))
    page.get_by_label("Email").fill("ada@example.org")
    for field in page.locator("input[type=password]").all():
        field.fill("a word of her own 7")
    page.get_by_role("button", name="Create account").click()
    page.get_by_role("button", name="Account", exact=True).wait_for()
    for path in sorted(REFERENCE.glob("*.tar.gz")):
        send(page, path.read_bytes(), path.name, "Public")
    send(page, tarball(program_measurements(own_machine())), "sort.tar.gz", "Private")
    page.get_by_role("link", name="sort on all machines").click()
    drawn(page)
    ranking = page.get_by_role("region", name="Ranking of the machines")
    rows = ranking.locator("tbody tr")
    expect(rows).to_have_count(4, timeout=60_000)
    lines = {line for row in rows.all_inner_texts() for line in row.replace("\t", "\n").splitlines()}
    assert lines >= OTHERS
    assert ranking.locator("thead th").all_inner_texts()[-3:] == ["merge:12", "split:40", "Serial rest"]
    page.get_by_role("link", name="What to measure next for").click()
    narrowing = page.get_by_role("region", name="What to measure next")
    narrowing.wait_for()
    assert "sort/merge:12" in narrowing.inner_text()
    rows.first.get_by_role("link", name="merge:12 on").click()
    page.wait_for_url("**/predictions/answer/**")
    assert "sort/merge:12" in page.locator("h1").inner_text()


def test_nothing_is_wider_than_the_window_and_the_missing_rest_is_said(visit, references):
    upload = receive(tarball(program_measurements(own_machine(), serial_rest=False)))
    for width, scheme in ((1280, "light"), (390, "dark")):
        page = visit(reverse("upload-report", args=[upload.uid]), width=width, scheme=scheme)
        page.get_by_role("link", name="sort on all machines").click()
        drawn(page)
        expect(page.locator(".notice").first).to_contain_text("The serial rest is unknown")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_names_in_the_chart_of_costs_stand_where_there_is_room(visit, db):
    store_public()
    price(0, "3.6")
    price(1, "0.36")
    for width, names in ((1280, True), (390, False)):
        page = visit(f"{reverse('ranking')}?workload=app0-section0&by=cost", width=width)
        drawn(page)
        assert bool(page.locator('[data-figure="cost"] .textpoint').count()) is names


def test_the_badge_is_shown_by_a_relative_address_and_copied_with_the_whole_one(visit, db):
    """Behind a proxy that the server is not told of, the whole one is of another origin, which the policy forbids."""
    upload = receive(tarball(program_measurements(own_machine())))
    page = visit(reverse("upload-report", args=[upload.uid]))
    page.get_by_role("link", name="sort on all machines").click()
    badge = page.get_by_role("img", name="Badge: the time of sort")
    assert badge.get_attribute("src").startswith("/programs/")
    assert badge.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    assert f"]({urljoin(page.url, 'badge.svg')})](" in page.locator("#share-badge").inner_text()
