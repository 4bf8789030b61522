"""Who listens hears of every delivery, though the process that stored it was killed before it said so."""

from datetime import timedelta

import pytest
from django.utils import timezone

from profiles.ingest import announcing
from profiles.ingest.announcing import announce_forgotten
from profiles.models import Source
from profiles.models.leases import MOST_ATTEMPTS
from profiles.signals import delivered
from tests.profiles.deliveries import deliver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def heard():
    sources = []

    def listen(sender, source, **_):
        sources.append(source)

    delivered.connect(listen)
    yield sources
    delivered.disconnect(listen)


@pytest.fixture
def forgotten(heard, monkeypatch):
    """A delivery whose process was killed right after it was committed."""
    with monkeypatch.context() as patch:
        patch.setattr(announcing, "held", killed)
        with pytest.raises(KeyboardInterrupt):
            deliver()
    return Source.objects.get()


def killed(work):
    raise KeyboardInterrupt


def let_lapse():
    Source.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_delivery_is_announced_once(heard):
    source = deliver().source
    assert heard == [source]
    assert Source.objects.get().lease_until is None
    assert announce_forgotten() == 0


def test_a_killed_process_is_followed_by_another(heard, forgotten):
    assert announce_forgotten() == 0
    let_lapse()
    assert announce_forgotten() == 1
    assert heard == [forgotten]
    assert announce_forgotten() == 0


def test_who_was_asleep_leaves_it_to_the_other(heard, forgotten):
    let_lapse()
    assert Source.objects.get().claim()
    announcing.announce(forgotten)
    assert heard == []


def test_one_that_takes_its_processes_along_is_not_announced_for_ever(heard, forgotten, caplog):
    Source.objects.update(attempts=MOST_ATTEMPTS + 1)
    let_lapse()
    announce_forgotten()
    assert heard == []
    assert "was not announced" in caplog.text
    assert announce_forgotten() == 0
