"""A profile beyond what was measured, in a real browser."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from profiles.ingest.service import ingest
from tests.browser.walk import drawn
from tests.research.scaling.studies.kit import sweep

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_models_are_chosen_and_drawn(visit):
    profiles = ingest(sweep(), kind="tarball", label="x", sha256="0" * 64, owner=None, private=False).profiles
    page = visit(reverse("profile", args=[profiles[0].uid]))
    page.get_by_role("link", name="Beyond what was measured").click()
    drawn(page)
    for title in ("Time beyond the measured thread counts", "Parallel penalty", "Serial fraction"):
        expect(page.get_by_role("heading", name=title).first).to_be_visible()
    for name in ("Automatic choice", "MPET curve"):
        page.get_by_label(name, exact=True).uncheck()
    page.get_by_label("Growth of R(n)").check()
    page.get_by_label("Up to n").fill("6")
    page.get_by_role("button", name="Extrapolate").click()
    drawn(page)
    times = page.get_by_role("region", name="Predicted times")
    expect(times.get_by_role("rowheader")).to_have_text(["5", "6"])
    columns = times.get_by_role("columnheader").all_text_contents()
    assert columns[1::2] == ["Growth of R(n) (s)", "Amdahl's law (s)", "Universal scalability law (s)"]
