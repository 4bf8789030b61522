"""Links to the documentation lead somewhere: the types of problem documents, and the index."""

import re
from urllib.parse import urlsplit

import pytest
from django.urls import reverse

from mpet_site.web.problems import DOCS, PROBLEM_TYPES, Problem, problem_response

pytestmark = pytest.mark.django_db


def test_the_table_has_every_type():
    assert set(PROBLEM_TYPES) == set(Problem.__subclasses__())
    assert len({problem.name for problem in PROBLEM_TYPES}) == len(PROBLEM_TYPES)


def test_each_type_is_the_address_of_its_explanation(client):
    for problem in PROBLEM_TYPES:
        error = problem([]) if problem.name == "invalid-request" else problem("no")
        assert problem_response(error).status_code == problem.status_code
        address = urlsplit(DOCS + problem.name)
        page = client.get(address.path)
        assert page.status_code == 200
        section = re.search(rf'<section id="{address.fragment}".*?</section>', page.content.decode(), re.DOTALL)[0]
        assert problem.title in section
        assert str(problem.status_code) in section
        assert len(problem.explanation) > 40


def test_the_index_leads_on_and_is_linked_from_every_page(client):
    assert f'href="{reverse("docs")}"' in client.get(reverse("home")).content.decode()
    for address in re.findall(r'<li><a href="([^"]+)"', client.get(reverse("docs")).content.decode()):
        assert client.get(address).status_code == 200, address


def test_where_nothing_is_stored_a_visitor_reads_what_to_do(client):
    for name in ("platforms", "ranking", "predict", "what-if"):
        page = client.get(reverse(name)).content.decode()
        for step in ("measure", "signup", "upload"):
            assert f'href="{reverse(step)}"' in page.split("<main")[1], (name, step)
    assert "manage.py" not in client.get(reverse("accuracy")).content.decode()
