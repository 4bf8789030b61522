"""Stored predictions that go: because a user wants them gone, or because what they rest on was taken back.

docs/decisions/deletions.md says which stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from predictor.models import AskedPrediction, Computation, Prediction
from predictor.models.querysets import PredictionQuerySet
from profiles.models import Source

REMOVED_AT_ONCE = 500


@transaction.atomic
def remove_predictions(rows: PredictionQuerySet, user: Any) -> int:
    """Take these predictions off the user's own. Returns their number. Private ones are deleted. A public one is
    deleted where nobody else asked for it and no measurement validated it: it counts for the track record from then
    on."""
    own = rows.asked_by(user).order_by()
    removed = 0
    while keys := list(own.values_list("pk", flat=True)[:REMOVED_AT_ONCE]):
        first = AskedPrediction.objects.filter(user=user, prediction__in=keys, is_first=True)
        made = list(first.values_list("prediction", flat=True))
        AskedPrediction.objects.filter(user=user, prediction__in=keys).delete()
        Prediction.objects.filter(pk__in=keys, private_to=user).delete()
        Prediction.objects.filter(pk__in=made, private_to=None, askers=None, settled_at=None).delete()
        removed += len(keys)
    return removed


def remove_what_rests_on(sources: Sequence[Source]) -> None:
    """Delete the owners' private predictions that rest on these deliveries, or may do: of old ones that was not noted.
    Computations, which are kept to be quick, go with them."""
    for source in sources:
        if source.private_to_id is None:
            Computation.objects.all().delete()
            continue
        private = Prediction.objects.filter(private_to=source.private_to_id).order_by("pk")
        named = private.values_list("pk", "source_uids").iterator(chunk_size=REMOVED_AT_ONCE)
        resting = [key for key, uids in named if uids is None or str(source.uid) in uids]
        for start in range(0, len(resting), REMOVED_AT_ONCE):
            Prediction.objects.filter(pk__in=resting[start : start + REMOVED_AT_ONCE]).delete()
        Computation.objects.filter(private_to=source.private_to_id).delete()
