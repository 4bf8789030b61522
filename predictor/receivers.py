"""Reactions to deliveries, withdrawals and merges of platforms.

After a delivery its profiles are judged, and predictions of its pairs are validated. After a merge, predictions for the
platform that is gone are validated by measurements of the other one, until the merge is undone. After a withdrawal,
predictions that its deliveries validated are open again, and profiles that they contradicted are judged again.

All reactions but `before_withdrawal` run after the commit: a failure is logged, and the delivery, the merge or the
withdrawal is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from mpet_site.web.background import waiting
from predictor.accuracy.outliers import contradicted_outliers, judge_delivery, judge_profiles
from predictor.accuracy.settlement import settle_delivery, settle_merged, settle_pairs, unsettle, unsettle_separated
from predictor.models import Prediction
from predictor.predictions.service import remove_what_rests_on
from predictor.snapshot.cache import remove_of_viewer
from profiles.ingest.service import delivered
from profiles.ingest.withdrawal import withdrawing
from profiles.models import Platform, Source
from profiles.moderation import merged, separated

logger = logging.getLogger(__name__)


def connect() -> None:
    delivered.connect(after_delivery, dispatch_uid="predictor.receivers")
    merged.connect(after_merge, dispatch_uid="predictor.receivers.merged")
    separated.connect(after_separation, dispatch_uid="predictor.receivers.separated")
    withdrawing.connect(before_withdrawal, dispatch_uid="predictor.receivers.withdrawing")


def after_delivery(sender: Any, source: Source, **_: Any) -> None:
    """Judge the profiles of the delivery, and validate predictions with them. Datasets and simulated machines are
    judged by `manage.py find_outliers` instead, because they can be as large as all other data."""
    try:
        if source.kind in (Source.Kind.TARBALL, Source.Kind.FILES):
            with waiting():
                judge_delivery(source)
        settle_delivery(source)
    except Exception:
        logger.exception("delivery %s was stored, but its profiles or predictions could not be checked", source.uid)


def after_merge(sender: Any, platform: Platform, **_: Any) -> None:
    try:
        settle_merged(platform)
    except Exception:
        logger.exception("platforms were merged into %s, but their predictions could not be validated", platform.slug)


def after_separation(sender: Any, platforms: Sequence[Platform], **_: Any) -> None:
    """Reopen the predictions that one platform validated for the other, and validate them by measurements of their own
    platform."""
    try:
        settle_pairs(unsettle_separated(platforms))
    except Exception:
        slugs = " and ".join(platform.slug for platform in platforms)
        logger.exception("%s were separated, but their predictions could not be validated again", slugs)


def before_withdrawal(sender: Any, sources: Sequence[Source], takes_away: bool, **_: Any) -> None:
    """Reopen and remove predictions in the transaction that deletes the deliveries. Everything else is done after the
    commit."""
    doubtful = contradicted_outliers(sources)
    pairs = unsettle(Prediction.objects.filter(settled_by__source__in=[source.pk for source in sources]))
    if takes_away:
        remove_what_rests_on(sources)
    owners = {source.private_to_id for source in sources if source.private_to_id is not None}
    transaction.on_commit(lambda: after_withdrawal(doubtful, pairs, owners))


def after_withdrawal(doubtful: list[int], pairs: set[tuple[str, str]], owners: set[int]) -> None:
    try:
        for owner in owners:
            remove_of_viewer(owner)
        with waiting():
            judge_profiles(doubtful)
        settle_pairs(pairs)
    except Exception:
        logger.exception("deliveries were withdrawn, but dependent profiles or predictions could not be checked again")
