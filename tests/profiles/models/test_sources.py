"""What the database refuses of sources, and how revisions rise."""

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from profiles.models import Revision, Source

pytestmark = pytest.mark.django_db


def test_emulated_sources_cannot_be_public():
    with pytest.raises(IntegrityError), transaction.atomic():
        Source.objects.create(kind="tarball", origin="emulated", label="x", sha256="0")


def test_revisions_of_owners_and_of_the_public_rise_apart():
    alice = get_user_model().objects.create(username="alice")
    bob = get_user_model().objects.create(username="bob")
    assert Revision.current() == (0, 0)
    Revision.raise_for(None)
    Revision.raise_for(alice)
    assert Revision.raise_for(alice) == 2
    assert Revision.current() == (1, 0)
    assert Revision.current(alice) == (1, 2)
    assert Revision.current(bob) == (1, 0)
