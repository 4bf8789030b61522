"""How revisions rise."""

import pytest

from profiles.models import Revision

pytestmark = pytest.mark.django_db


def test_revisions_of_owners_and_of_the_public_rise_apart(alice, bob):
    assert Revision.current() == (0, 0)
    Revision.raise_for(None)
    Revision.raise_for(alice)
    assert Revision.raise_for(alice) == 2
    assert [Revision.current(viewer) for viewer in (None, alice, bob)] == [(1, 0), (1, 2), (1, 0)]
