"""A platform's page shows the ceilings that were measured, and the workloads below them."""

import pytest
from django.urls import reverse

from tests.pages import figures_of, text_of
from tests.profiles.deliveries import deliver
from tests.profiles.scaling.ceilings import MEASURED
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


def page_of_platform(client, workloads, ceilings):
    deliver(sample_measurements(1, workloads, environment={"roofline": ceilings}))
    return client.get(reverse("platform", args=["machine-0"]))


def test_the_page_of_a_platform_draws_it_with_its_workloads(client):
    page = page_of_platform(client, 2, MEASURED)
    figure = figures_of(page)["roofline"]
    assert [trace["name"] for trace in figure["data"]] == ["1 thread", "2 threads", "workloads, by instructions"]
    assert figure["data"][2]["text"] == ["app0/section0, 16 threads", "app0/section1, 16 threads"]
    for words in ("CPU 0 and CPU 1 61.7 ns", "2 threads 64.4 ns", "Measured ceilings"):
        assert words in text_of(page)


def test_a_platform_whose_ceilings_nobody_measured_has_no_empty_section(client):
    page = page_of_platform(client, 1, {"peak_flops": "?"})
    assert "Measured ceilings" not in text_of(page)
    assert "plotly" not in page.content.decode()
