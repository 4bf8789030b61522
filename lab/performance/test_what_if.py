"""Cost of a slider move: the server's part, and the time from the input event until Chromium has redrawn all figures.

pytest lab/performance/test_what_if.py --benchmark-enable
"""

from itertools import count

import pytest
from django.test import Client
from django.urls import reverse

from lab.performance.conftest import sized
from tests.browser.conftest import chromium, first_visit, shared_context, visit  # noqa: F401 fixtures
from tests.browser.walk import drawn
from tests.pages import store_public

PAIR = "?workload=app0-section0&target=machine-1"
PLATFORMS, WORKLOADS = sized((15, 26), (4, 4))  # the size of the demo
ROUNDS = 30
MOVE = """(value) => new Promise((done) => {
  const plots = [...document.querySelectorAll(".plot")];
  let left = plots.length;
  const drawn = () => --left || requestAnimationFrame(() => done(plots.length));
  for (const plot of plots) plot.once("plotly_afterplot", drawn);
  const slider = document.getElementById("slider-work_imbalance");
  slider.value = value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
})"""


def values():
    """Return an endless iterator of slider positions, where no two successive ones are the same."""
    return (f"{0.1 + (one % 15) / 10:.1f}" for one in count())


@pytest.mark.django_db
@pytest.mark.benchmark(group="a moved slider")
def test_the_server_s_part(benchmark):
    store_public(platforms=PLATFORMS, workloads=WORKLOADS)
    client, positions = Client(), values()
    address = f"{reverse('what-if-answer')}{PAIR}&work_imbalance="
    answer = benchmark.pedantic(lambda: client.get(address + next(positions)), rounds=ROUNDS, warmup_rounds=2)
    assert answer.context["answer"]["baseline"]


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.benchmark(group="a moved slider")
def test_until_it_is_redrawn_in_the_browser(benchmark, visit):  # noqa: F811
    store_public(platforms=PLATFORMS, workloads=WORKLOADS)
    page, positions = visit(reverse("what-if") + PAIR), values()
    drawn(page)
    figures = benchmark.pedantic(lambda: page.evaluate(MOVE, next(positions)), rounds=ROUNDS, warmup_rounds=2)
    assert figures == 3
    assert "baseline:" in page.locator("#answer-facts").inner_text()
