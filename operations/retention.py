"""Retention: deletion of unclaimed uploads without an account, and of old predictions, reports and tarballs.

Predictions, reports and tarballs are only deleted if the operator sets a number of days. Rows are deleted in steps, so
that no other writer waits long.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from benchmarks.models import Upload
from benchmarks.quarantine import drop_quarantined
from predictor.models import AskedPrediction, Prediction

DELETED_AT_ONCE = 500


def apply_retention() -> dict[str, int]:
    """Delete the data whose retention period has ended. Return the number of deleted rows or files of each kind."""
    now = timezone.now()
    kept_days = (
        ("predictions", drop_predictions, settings.KEEP_PREDICTIONS_DAYS),
        ("reports", drop_reports, settings.KEEP_REPORTS_DAYS),
        ("tarballs", drop_tarballs, settings.KEEP_TARBALLS_DAYS),
    )
    # With 0 days, the data is kept for ever.
    counts = {name: drop(now - timedelta(days=days)) if days else 0 for name, drop, days in kept_days}
    counts["quarantined uploads"] = drop_quarantined(now - timedelta(days=settings.QUARANTINE_DAYS))
    return counts


def drop_predictions(before: datetime) -> int:
    """Delete predictions that were not requested since then, except validated ones, which are the track record."""
    lately = AskedPrediction.objects.filter(prediction=OuterRef("pk"), asked_at__gte=before)
    old = Prediction.objects.filter(~Exists(lately), created_at__lt=before, settled_at=None)
    return delete_in_steps(old)


def drop_reports(before: datetime) -> int:
    """Delete rejected uploads, which consist of a report only."""
    rejected = Upload.objects.filter(status=Upload.Status.REJECTED, finished_at__lt=before)
    return delete_in_steps(rejected.filter(owner__quarantine=None))


def delete_in_steps(rows: QuerySet[Any]) -> int:
    count = 0
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:DELETED_AT_ONCE]):
        rows.filter(pk__in=keys).delete()
        count += len(keys)
    return count


def drop_tarballs(before: datetime) -> int:
    """Delete the files of accepted uploads, and keep their profiles.

    The row is updated before the file is deleted, because a file without a row is deleted later in any case.
    """
    old = Upload.objects.filter(status=Upload.Status.ACCEPTED, finished_at__lt=before).exclude(file="")
    old = old.filter(owner__quarantine=None)
    count = 0
    for upload in old.order_by("pk").iterator(DELETED_AT_ONCE):
        name, storage = str(upload.file.name), upload.file.storage
        count += Upload.objects.filter(pk=upload.pk, file=name).update(file="")
        storage.delete(name)
    return count
