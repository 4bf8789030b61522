"""What follows a delivery: its profiles are judged, and what was predicted of its pairs is settled.

Runs after the delivery is committed: whatever fails here is logged, and the delivery stays.
"""

from __future__ import annotations

import logging
from typing import Any

from predictor.outliers import judge_delivery
from predictor.settlement import settle_delivery
from profiles.models import Source
from profiles.signals import delivered

logger = logging.getLogger(__name__)


def connect() -> None:
    delivered.connect(after_delivery, dispatch_uid="predictor.deliveries")


def after_delivery(sender: Any, source: Source, **_: Any) -> None:
    """Datasets and simulated machines are judged by `manage.py find_outliers`: they can be as large as the rest."""
    try:
        if source.kind == Source.Kind.TARBALL:
            judge_delivery(source)
        settle_delivery(source)
    except Exception:
        logger.exception("delivery %s was stored, but not judged or settled", source.uid)
