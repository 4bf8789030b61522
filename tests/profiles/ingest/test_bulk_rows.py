"""Rows inserted at once are those that `bulk_create` would have stored."""

import numpy as np
import pytest

from profiles.ingest.bulk_rows import insert_instances
from profiles.models import FeatureVector, Profile, ScalingCurves
from tests.profiles.deliveries import deliver
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
OWN = ("id", "pk", "uid", "created_at", "platform_id", "workload_id", "source_id")


def stored(model):
    """Each row as plain values, arrays as bytes."""
    rows = []
    for row in model.objects.order_by("pk"):
        values = [getattr(row, field.attname) for field in model._meta.concrete_fields if field.attname not in OWN]
        rows.append([value.tobytes() if isinstance(value, np.ndarray) else value for value in values])
    return rows


@pytest.mark.parametrize("model", [Profile, ScalingCurves, FeatureVector])
def test_rows_are_those_of_bulk_create(model):
    deliver(sample_measurements(2, 3))
    rows, before = list(model.objects.order_by("pk")), stored(model)
    model.objects.all()._raw_delete("default")
    insert_instances(rows)
    assert len(before) >= 6
    assert stored(model) == before
    rows = list(model.objects.order_by("pk"))
    model.objects.all()._raw_delete("default")
    model.objects.bulk_create(rows)
    assert stored(model) == before


def test_instances_are_stored_ones_afterwards_and_of_the_time_they_were_inserted():
    profile = deliver(sample_measurements(1, 1)).profiles[0]
    assert not profile._state.adding
    assert profile.created_at == Profile.objects.get().created_at
    assert profile.uid == Profile.objects.get().uid


def test_nothing_is_inserted_of_nothing():
    insert_instances([])
    assert not Profile.objects.exists()
