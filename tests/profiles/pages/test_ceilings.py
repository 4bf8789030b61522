"""A platform's page shows the ceilings that were measured, and the workloads below them."""

import pytest
from django.urls import reverse

from profiles.ingest.service import ingest
from tests.pages import figures_of, text_of
from tests.profiles.scaling.ceilings import MEASURED
from tests.samples import sample_measurements


@pytest.mark.django_db
def test_the_page_of_a_platform_draws_it_with_its_workloads(client):
    measurements = sample_measurements(1, 2, environment={"roofline": MEASURED})
    ingest(measurements, kind="tarball", label="x", sha256="a" * 64, owner=None, private=False)
    page = client.get(reverse("platform", args=["machine-0"]))
    figure = figures_of(page)["roofline"]
    assert [trace["name"] for trace in figure["data"]] == ["1 thread", "2 threads", "workloads, by instructions"]
    assert figure["data"][2]["text"] == ["app0/section0, 16 threads", "app0/section1, 16 threads"]
    words = text_of(page)
    assert "CPU 0 and CPU 1 61.7 ns" in words
    assert "2 threads 64.4 ns" in words


@pytest.mark.django_db
def test_a_platform_whose_ceilings_nobody_measured_has_no_empty_section(client):
    measurements = sample_measurements(1, 1, environment={"roofline": {"peak_flops": "?"}})
    ingest(measurements, kind="tarball", label="x", sha256="a" * 64, owner=None, private=False)
    page = client.get(reverse("platform", args=["machine-0"]))
    assert "Ceilings" not in text_of(page)
    assert "plotly" not in page.content.decode()
