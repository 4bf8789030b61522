"""Fixture: the members of a good tarball."""

import pytest

from tests.benchmarks.archive.refusals import good_members


@pytest.fixture
def files() -> dict[str, bytes]:
    return dict(good_members())
