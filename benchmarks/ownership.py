"""What owners do with their uploads once these are here: they publish them, or take them back."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from benchmarks.models import Upload, UploadQuerySet
from profiles.ingest.publication import PublicationError, publish_source
from profiles.ingest.withdrawal import sweep_withdrawn, withdraw_in_transaction
from profiles.models import Revision, Source


def publish_upload(upload: Upload) -> Upload:
    """Make an accepted upload public; nothing happens where it is. Raises PublicationError."""
    with transaction.atomic():
        Revision.hold()
        row = Upload.objects.select_for_update().get(pk=upload.pk)
        if row.status != Upload.Status.ACCEPTED or row.source is None:
            raise PublicationError(f"Only an accepted upload can be published; this one is {row.status}.")
        if row.visibility != Upload.Visibility.PUBLIC:
            warnings = publish_source(row.source)
            row.visibility = Upload.Visibility.PUBLIC
            row.report = row.report | {"warnings": [*row.report.get("warnings", ()), *warnings]}
            row.save(update_fields=["visibility", "report"])
    return row


def delete_uploads(uploads: UploadQuerySet) -> int:
    """Delete these uploads with their files and all that came of them. Returns their number. A process that is reading
    one finds that it is gone, and stores nothing."""
    with transaction.atomic():
        Revision.hold()
        rows = list(uploads.select_related(None).order_by("pk").select_for_update())
        Upload.objects.filter(pk__in=[row.pk for row in rows]).delete()
        staged = withdraw_in_transaction(Source.objects.filter(pk__in=[row.source_id for row in rows if row.source_id]))
        for row in rows:
            if row.file:
                transaction.on_commit(partial(row.file.storage.delete, row.file.name))
    sweep_withdrawn(staged)
    return len(rows)
