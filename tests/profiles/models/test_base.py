"""Who has work in hand, and who may take it over; tried on uploads. Arrays in a column."""

import threading
from datetime import timedelta

import numpy as np
import pytest
from django.db import OperationalError
from django.db.models import Q
from django.utils import timezone

from benchmarks.models import Upload
from profiles.models import FeatureVector, held
from profiles.models.base import is_lapsed
from tests.profiles.deliveries import deliver, let_lapse

pytestmark = pytest.mark.django_db


@pytest.fixture
def work():
    return Upload.objects.create(filename="a.tar.gz", sha256="0" * 64, size_bytes=1)


def another(work):
    """The same row as another process reads it."""
    return Upload.objects.get(pk=work.pk)


def test_one_at_a_time_has_work_in_hand(work):
    late = another(work)
    assert work.claim(status="processing")
    assert (work.attempts, work.status) == (1, "processing")
    assert not late.claim()
    assert not another(work).claim()
    assert another(work).status == "processing"
    assert not Upload.objects.unheld().exists()


def test_a_lapsed_lease_is_anybodys_and_its_holder_finds_no_row_until_it_is_released(work):
    assert work.claim()
    let_lapse(Upload.objects)
    assert list(Upload.objects.filter(is_lapsed())) == [work]
    assert work.while_held().exists()  # nobody took it over: what it writes counts
    second = another(work)
    assert second.claim()
    assert second.attempts == 2
    assert not work.while_held().exists()
    assert not work.renew()
    assert not work.release(status="accepted")
    assert second.release(status="rejected")
    assert another(work).status == "rejected"
    assert list(Upload.objects.unheld()) == [work]
    assert not Upload.objects.filter(is_lapsed()).exists()


def test_only_rows_that_are_as_expected_are_claimed(work):
    assert not work.claim(only=Q(status="processing"))
    assert work.attempts == 0
    assert work.claim(only=Q(status="received"))


@pytest.mark.django_db(transaction=True)
def test_a_lease_is_renewed_as_long_as_its_holder_works(work, settings):
    settings.LEASE_SECONDS = 0.4
    assert work.claim()
    until = work.lease_until
    with held(work):
        deadline = timezone.now() + timedelta(seconds=30)
        while another(work).lease_until <= until and timezone.now() < deadline:
            threading.Event().wait(0.05)
    assert another(work).lease_until > until
    assert work.while_held().exists()


@pytest.mark.parametrize("failures", [2, 3])
def test_failed_renewals_are_reported_if_the_lease_may_end(work, settings, monkeypatch, caplog, failures):
    settings.LEASE_SECONDS = 0.04
    outcomes, renewed = iter([OperationalError("database is locked")] * failures), threading.Event()

    def while_held():
        for error in outcomes:
            raise error
        renewed.set()
        return Upload.objects.none()

    monkeypatch.setattr(work, "while_held", while_held)
    with held(work):
        assert renewed.wait(30)
    said = f"the lease of benchmarks.Upload {work.pk} was not renewed: database is locked"
    reported = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert reported == {2: [], 3: [said]}[failures]


def test_arrays_come_back_as_they_were_with_their_invalid_elements():
    profile = deliver().profiles[0]
    values = np.array([1.5, np.nan, -0.0, 1e-300])
    FeatureVector.objects.filter(profile=profile).update(values=values)
    assert FeatureVector.objects.get().values.tobytes() == values.tobytes()
