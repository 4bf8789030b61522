"""What figures that are no Plotly charts save as files."""

import json

import pytest
from django.urls import reverse

from tests.pages import store_public

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def saved(page, format_: str) -> bytes:
    with page.expect_download() as file:
        page.locator(f'[data-multiples] [data-save="{format_}"]').click()
    assert file.value.suggested_filename.endswith(f"speedups.{format_}")
    return file.value.path().read_bytes()


def test_small_multiples_are_saved_as_one_picture_and_their_numbers(visit):
    store_public()
    page = visit(reverse("platform", args=["machine-0"]))
    lines = saved(page, "csv").decode().splitlines()
    assert lines[0] == "workload,threads n (count),speedup t(1)/t(n) (ratio)"
    assert len(lines) == 1 + 4 * 11
    assert lines[1].split(",")[1:] == ["1", "1"]
    document = json.loads(saved(page, "json"))
    assert len(document["rows"]) == 4 * 11
    assert document["origin"] is None
    picture = saved(page, "svg").decode()
    assert picture.count("<path") == 8
    assert "app1/section1" in picture
    assert saved(page, "png").startswith(b"\x89PNG\r\n")
