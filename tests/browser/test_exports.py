"""What figures, heat maps, small multiples and lists save as files."""

import csv
import json
import re

import pytest
from django.urls import reverse

from tests.browser.walk import drawn
from tests.predictor.conftest import store
from tests.samples import sample_measurements

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def saved(place, format_: str, name: str = "") -> bytes:
    """Return the file that the button saves. `place` is the page or one of its figures."""
    with getattr(place, "page", place).expect_download() as file:
        place.locator(f'[data-save="{format_}"]').first.click()
    assert file.value.suggested_filename.endswith(f"{name}.{format_}")
    return file.value.path().read_bytes()


def numbers(place, name: str = "") -> tuple[list[list[str]], dict]:
    """Return the rows of the CSV and the JSON document. Both have the same columns and number of rows."""
    rows = list(csv.reader(saved(place, "csv", name).decode().splitlines()))
    document = json.loads(saved(place, "json", name))
    assert (document["columns"], len(document["rows"])) == (rows[0], len(rows) - 1)
    return rows, document


def test_a_chart_is_saved_as_pictures_and_numbers_in_full_precision_and_a_list_as_csv(visit, public):
    profile = public[0]
    page = visit(reverse("workload", args=[profile.workload.slug]) + "?show=time")
    drawn(page)
    chart = page.locator("figure.chart", has=page.locator('[data-figure="time"]'))
    assert saved(chart, "png").startswith(b"\x89PNG\r\n")
    assert saved(chart, "svg").startswith(b"<svg")
    rows, _ = numbers(chart)
    assert rows[0] == ["series", "threads n (count)", "time t(n) (s)"]
    measured = {(name, int(n)): float(value) for name, n, value in rows[1:]}
    curves = profile.curves
    assert len(measured) == 3 * len(curves.n)
    for n, time_s in zip(curves.n.tolist(), curves.values[: len(curves.n)].tolist(), strict=True):
        assert measured[profile.platform.name, n] == time_s
    page = visit(reverse("platforms"))
    with page.expect_download() as listed:
        page.locator('a[href*="format=csv"]').first.click()
    assert listed.value.path().read_text().startswith("slug,name,")


def test_a_heat_map_is_saved_as_it_is_sorted(visit, public):
    page = visit(reverse("platform-distances") + "?near=machine-2")
    rows, document = numbers(page)
    assert rows[0][:2] == ["distance to", "machine-2"]
    assert rows[1][:2] == ["machine-2", "0"] and rows[1][2].startswith("0.")
    assert document["origin"] is None
    assert saved(page, "png").startswith(b"\x89PNG\r\n")
    picture = saved(page, "svg").decode()
    assert picture.count("<rect") == 1 + len(document["rows"]) ** 2
    assert set(re.findall(r'fill="([a-z]+)\(', picture)) == {"rgb"}


def test_small_multiples_are_saved_as_one_picture_and_their_numbers(visit, public):
    multiples = visit(reverse("platform", args=["machine-0"])).locator("[data-multiples]")
    rows, document = numbers(multiples, "speedups")
    assert rows[0] == ["workload", "threads n (count)", "speedup t(1)/t(n) (ratio)"]
    assert (len(rows), rows[1][1:]) == (1 + 4 * 11, ["1", "1"])
    assert document["origin"] is None
    picture = saved(multiples, "svg", "speedups").decode()
    assert picture.count("<path") == 8
    assert "app1/section1" in picture
    assert saved(multiples, "png", "speedups").startswith(b"\x89PNG\r\n")


def test_saved_numbers_say_that_they_are_simulated(visit, db):
    simulated = sample_measurements(1, 1, seed=5, origin="simulated")
    (profile,) = store(simulated, label="model", kind="simulator").profiles
    page = visit(reverse("profile", args=[profile.uid]))
    drawn(page)
    rows, document = numbers(page)
    assert [row[-1] for row in rows] == ["origin"] + ["simulated"] * (len(rows) - 1)
    assert (document["origin"], document["title"][-11:]) == ("simulated", "(simulated)")
    assert "(simulated)" in saved(page, "svg").decode()
