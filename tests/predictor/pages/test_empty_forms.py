"""What pages show before anything is chosen: the first pair with an answer, or what to do in an empty database."""

import pytest
from django.urls import reverse

from tests.pages import text_of
from tests.predictor.pages.test_comparisons import PAGES


@pytest.mark.parametrize("name", ["ranking", "what-if", "predict", *PAGES])
def test_an_empty_database_says_what_to_do(client, db, name):
    page = client.get(reverse(name))
    assert "upload the results" in text_of(page)
    assert 'name="workload"' not in page.content.decode(), "a form that could only be refused"


@pytest.mark.parametrize(
    ("name", "shown", "chosen"),
    [
        ("ranking", "rows", {"workload=app": 1}),
        ("what-if", "answer", {"target=machine-": 1}),
        ("compare-platforms", "shared", {"platform=machine-": 2}),
    ],
)
def test_without_a_choice_the_address_comes_to_hold_one_with_an_answer(client, public, name, shown, chosen):
    page = client.get(reverse(name), follow=True)
    ((address, status),) = page.redirect_chain
    assert (status, {part: address.count(part) for part in chosen}) == (302, chosen)
    assert page.context[shown]


@pytest.mark.parametrize(
    ("name", "given", "address"),
    [
        (
            "compare-platforms",
            "platform=&workload=app1-section0&include_simulated=true",
            "platform=machine-0&platform=machine-1&workload=app1-section0&include_simulated=true",
        ),
        (
            "compare-workloads",
            "workload=&on=machine-2&show=speedup",
            "workload=app0-section0&workload=app0-section1&on=machine-2&show=speedup",
        ),
    ],
)
def test_a_comparison_without_a_choice_keeps_the_other_parameters(client, public, name, given, address):
    response = client.get(f"{reverse(name)}?{given}")
    assert (response.status_code, response.url) == (302, f"{reverse(name)}?{address}")
    page = client.get(response.url)
    assert page.status_code == 200
    if name == "compare-workloads":
        assert page.context["on"].slug == "machine-2"
