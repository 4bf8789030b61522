"""What a filter takes is what the schema says of it; an empty one is none."""

import pytest

from tests.mpet_site.api_samples import API, client_of, store
from tests.mpet_site.web.test_problems import problem_in
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
REFUSED = [
    ("platforms/", "virtualised", "yes"),
    ("platforms/", "device_class", "Server"),
    ("platforms/", "vendor", "a" * 2001),
    ("workloads/", "strategy", "nonsense"),
    ("workloads/", "bound", "nonsense"),
    pytest.param("workloads/", "runtime", "a" * 60_000, id="trust_4 workloads"),
    pytest.param("profiles/", "platform", "a" * 60_000, id="trust_4 profiles"),
    ("profiles/", "decomposed", "1"),
    ("profiles/", "origin", "measured "),
    ("evaluations/", "revision", "1.5"),
    ("evaluations/", "revision", "-1"),
    ("evaluations/", "revision", "9" * 25),
    ("evaluations/", "revision", "٣"),
    ("predictions/", "settled", "false"),
]


@pytest.mark.parametrize(("path", "name", "value"), REFUSED)
def test_what_is_no_value_is_refused(path, name, value):
    """Trust 16."""
    document = problem_in(client_of().get(API + path, {name: value}), 400)
    assert [error["name"] for error in document["errors"]] == [name]


@pytest.mark.parametrize(("path", "name"), sorted({tuple(getattr(row, "values", row))[:2] for row in REFUSED}))
def test_an_empty_filter_is_none(path, name):
    store(sample_measurements(2, 2))
    whole = client_of().get(API + path).json()
    assert client_of().get(API + path, {name: ""}).json()["count"] == whole["count"]
