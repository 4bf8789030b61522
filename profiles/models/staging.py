"""Deliveries that are being stored."""

from django.db import models

from profiles.models.leases import LeasedQuerySet, LeasedWork


class StagedDelivery(LeasedWork):
    """A delivery on its way in: its runs, readings, curves and features are stored already, under ids of profiles that
    are not there yet, so that nobody finds them. The transaction that stores the profiles deletes this row; where that
    did not happen and the lease has lapsed, `profiles.ingest.staging` deletes what was stored. One that is withdrawn
    goes out the same way."""

    first_profile = models.PositiveBigIntegerField()
    last_profile = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = LeasedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"profiles {self.first_profile} to {self.last_profile}"
