"""What follows a delivery: its profiles are judged, and what was predicted of its pairs is settled. What follows a
merge of platforms: what was predicted of the one that is gone is settled by measurements of the other.

Runs after that is committed: whatever fails here is logged, and the delivery or the merge stays.
"""

from __future__ import annotations

import logging
from typing import Any

from mpet_site.web.patience import waiting
from predictor.accuracy.outliers import judge_delivery
from predictor.accuracy.settlement import settle_delivery, settle_merged
from profiles.models import Platform, Source
from profiles.signals import delivered, merged

logger = logging.getLogger(__name__)


def connect() -> None:
    delivered.connect(after_delivery, dispatch_uid="predictor.receivers")
    merged.connect(after_merge, dispatch_uid="predictor.receivers.merged")


def after_delivery(sender: Any, source: Source, **_: Any) -> None:
    """Datasets and simulated machines are judged by `manage.py find_outliers`: they can be as large as the rest."""
    try:
        if source.kind == Source.Kind.TARBALL:
            with waiting():
                judge_delivery(source)
        settle_delivery(source)
    except Exception:
        logger.exception("delivery %s was stored, but not judged, or its predictions not validated", source.uid)


def after_merge(sender: Any, platform: Platform, **_: Any) -> None:
    try:
        settle_merged(platform)
    except Exception:
        logger.exception("platforms were merged into %s, but predictions of them not validated", platform.slug)
