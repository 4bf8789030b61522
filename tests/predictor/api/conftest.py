import pytest

from tests.mpet_site.api_samples import client_of, make_user


@pytest.fixture
def ada():
    """Return an API client with a token that may predict."""
    return client_of(make_user("ada"), scope="predict")
