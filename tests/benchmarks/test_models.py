"""What the database holds to of uploads."""

import pytest
from django.db import IntegrityError, transaction

from benchmarks.models import Upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.mark.parametrize("owned", [True, False])
def test_the_database_keeps_an_upload_once(alice, owned):
    owner = alice if owned else None
    fields = {"owner": owner, "filename": "x", "sha256": "a" * 64, "size_bytes": 1}
    Upload.objects.create(**fields, status="rejected")
    Upload.objects.create(**fields, status="rejected")
    Upload.objects.create(**fields)
    with pytest.raises(IntegrityError), transaction.atomic():
        Upload.objects.create(**fields, status="accepted")
