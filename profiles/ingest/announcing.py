"""Other applications are told of each delivery once it is stored; by another process where the first was killed."""

from __future__ import annotations

import logging

from profiles.models import Source, held
from profiles.models.leases import MOST_ATTEMPTS, is_lapsed, lease_end
from profiles.signals import delivered

logger = logging.getLogger(__name__)


def take_announcement(source: Source) -> None:
    """Have it in hand, from the transaction on that stores the delivery: there is no moment at which nobody has."""
    source.attempts, source.lease_until = 1, lease_end()
    source.save(update_fields=["attempts", "lease_until"])


def announce(source: Source) -> None:
    """Send the signal `delivered`, unless another process took that over."""
    if source.renew():
        with held(source):
            delivered.send_robust(Source, source=source)
        source.release()


def announce_forgotten() -> int:
    """Announce what was stored by processes that are gone; how many deliveries. One that took too many along is not
    tried again: it is stored, and `manage.py find_outliers` judges it."""
    forgotten = list(Source.objects.filter(is_lapsed()))
    for source in forgotten:
        if source.attempts > MOST_ATTEMPTS:
            logger.error("delivery %s was not announced: %d processes ended meanwhile", source.uid, source.attempts)
            source.release()
        elif source.claim():
            announce(source)
    return len(forgotten)
