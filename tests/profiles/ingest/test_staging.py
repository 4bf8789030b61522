"""The bulk of a delivery is there before the delivery is, and nobody sees it; what is left of a killed one is swept."""

import uuid

import numpy as np
import pytest

from profiles.ingest import staging
from profiles.ingest.service import IngestError
from profiles.ingest.staging import insert_instances, sweep_abandoned
from profiles.models import CounterReading, FeatureVector, Profile, Revision, Run, ScalingCurves, Source, StagedDelivery
from tests.profiles.deliveries import deliver, let_lapse, stored_counts
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


def killed_delivery(monkeypatch, measurements=None):
    """What a delivery leaves whose process was killed before the last transaction."""

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(staging, "sweep", lambda staged: None)
        with pytest.raises(KeyboardInterrupt):
            deliver(measurements or sample_measurements(1, 3), progress=die)
    return StagedDelivery.objects.get()


def test_nobody_sees_what_is_staged(monkeypatch):
    monkeypatch.setattr(staging, "STAGED_PROFILES_AT_ONCE", 2)
    deliver(sample_measurements(1, 1))
    before, seen = stored_counts(), []

    def look(done):
        now = stored_counts()
        assert now["Run"] > before["Run"]
        assert now["StagedDelivery"] == 1
        seen.append({name: now[name] for name in ("Source", "Platform", "Workload", "Profile")})
        assert Run.objects.filter(profile__in=Profile.objects.all()).count() == before["Run"]
        assert Revision.current() == (1, 0)

    deliver(sample_measurements(2, 2, seed=1), progress=look)
    assert seen == [{name: before[name] for name in seen[0]}] * 2
    assert StagedDelivery.objects.count() == 0
    assert Run.objects.filter(profile__in=Profile.objects.all()).count() == Run.objects.count() > before["Run"]


def test_staged_rows_are_written_in_short_transactions(monkeypatch):
    """trust 6: one transaction held the database for 83 s."""
    largest = []
    monkeypatch.setattr(staging, "INSERTED_AT_ONCE", 100)
    monkeypatch.setattr(staging, "sleep_for_other_writers", lambda seconds: largest.append(Run.objects.count()))
    deliver(sample_measurements(1, 4))
    steps = [after - before for before, after in zip([0, *largest], largest, strict=False)]
    assert max(steps) == 100
    assert largest[-1] == Run.objects.count() == 4 * 66


def test_what_a_killed_process_staged_is_swept_when_its_lease_has_lapsed(monkeypatch):
    killed_delivery(monkeypatch)
    assert Run.objects.exists()
    assert CounterReading.objects.exists()
    assert sweep_abandoned() == 0
    let_lapse(StagedDelivery.objects)
    monkeypatch.setattr(staging, "INSERTED_AT_ONCE", 50)
    assert sweep_abandoned() == 1
    assert set(stored_counts().values()) == {0}


def test_the_same_delivery_again_does_not_wait_for_the_sweep(monkeypatch):
    measurements = sample_measurements(1, 3)
    staged = killed_delivery(monkeypatch, measurements)
    profiles = deliver(measurements).profiles
    assert min(profile.pk for profile in profiles) > staged.last_profile
    let_lapse(StagedDelivery.objects)
    sweep_abandoned()
    assert Run.objects.count() == sum(len(record.runs) for record in measurements.profiles)


def test_one_that_slept_for_longer_than_its_lease_stores_nothing(monkeypatch):
    def sleep(done):
        let_lapse(StagedDelivery.objects)
        assert sweep_abandoned() == 1

    with pytest.raises(IngestError, match="exceeded the time limit"):
        deliver(sample_measurements(1, 2), progress=sleep)
    assert set(stored_counts().values()) == {0}


def test_the_rows_of_a_stored_profile_are_never_swept():
    """A database that was restored may have a reservation of ids that are profiles by now."""
    profiles = deliver(sample_measurements(1, 2)).profiles
    before = stored_counts()
    keys = [profile.pk for profile in profiles]
    StagedDelivery.objects.create(first_profile=min(keys), last_profile=max(keys))
    let_lapse(StagedDelivery.objects)
    assert sweep_abandoned() == 1
    assert stored_counts() == before


def test_reserved_ids_are_nobody_else_s():
    first = deliver(sample_measurements(1, 2)).profiles
    second = deliver(sample_measurements(1, 2, seed=1)).profiles
    ids = {profile.pk for profile in (*first, *second)}
    assert len(ids) == 4
    source = Source.objects.create(kind="dataset", origin="measured", label="x", sha256="0" * 64)
    copy = Profile.objects.get(pk=second[0].pk)
    copy.pk, copy.uid, copy.source = None, uuid.uuid4(), source
    copy.save()
    assert copy.pk not in ids
    assert Profile.objects.count() == 5


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
    insert_instances([])
    assert not Profile.objects.exists()
    profile = deliver(sample_measurements(1, 1)).profiles[0]
    stored = Profile.objects.get()
    assert (profile._state.adding, profile.created_at, profile.uid) == (False, stored.created_at, stored.uid)
