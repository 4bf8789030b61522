"""Sends the signal `delivered` for each stored delivery; another process does so where the first one was killed."""

from __future__ import annotations

import logging

from profiles.models import Source, held
from profiles.models.leases import MOST_ATTEMPTS, is_lapsed, lease_end
from profiles.signals import delivered

logger = logging.getLogger(__name__)


def claim_announcement(source: Source) -> None:
    """Take the lease in the transaction that stores the delivery, so that it is never without a holder."""
    source.attempts, source.lease_until = 1, lease_end()
    source.save(update_fields=["attempts", "lease_until"])


def announce(source: Source) -> None:
    """Send the signal `delivered`, unless another process took that over."""
    if source.renew():
        with held(source):
            delivered.send_robust(Source, source=source)
        source.release()


def announce_forgotten() -> int:
    """Announce the deliveries of processes that ended. Returns the number of deliveries.

    After MOST_ATTEMPTS one is not tried again: it is stored, and `manage.py find_outliers` judges it.
    """
    forgotten = list(Source.objects.filter(is_lapsed()))
    for source in forgotten:
        if source.attempts > MOST_ATTEMPTS:
            logger.error("delivery %s was not announced: %d processes ended meanwhile", source.uid, source.attempts)
            source.release()
        elif source.claim():
            announce(source)
    return len(forgotten)
