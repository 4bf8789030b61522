"""Processing of received uploads: they are read, checked, ingested and reported on. Uploads are processed later if the
request could not wait or its process was killed. Files that killed processes left behind are deleted."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import OperationalError
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.archive import ArchiveError
from benchmarks.models import LeaseLostError, Quarantine, Upload, UploadQuerySet, error_entries, report_entry
from benchmarks.reading import ReaderBusyError, one_request_at_a_time, read_upload
from mpet_site.state_folder import is_older_than
from mpet_site.web.database_unavailable import is_storage_failure
from profiles.ingest.service import IngestError, IngestResult, ingest
from profiles.jobs.queue import begin_in_background, uses_workers
from profiles.models import Source, held

logger = logging.getLogger(__name__)
GIVEN_UP = "failed {count} times: each time, the process that read it ended early"
FILE_GONE = "the stored file is missing: upload it again"
MEMBER_OF = {"platform": "platform.json", "workload": "workloads.json"}
INTERNAL_ERROR = "internal error: nothing was stored, and the operators were notified"
UPLOADS_FOLDER = "uploads"
ORPHANED_AFTER_LEASES = 10  # after so many leases, a file without a row is an orphan


def process_in_request(upload: Upload) -> None:
    """Process the upload. If another request is waiting for a file, leave the upload to the next periodic task."""
    try:
        with one_request_at_a_time():
            process(upload)
    except ReaderBusyError:
        Upload.objects.unheld().filter(pk=upload.pk, status=Upload.Status.RECEIVED).update(
            status=Upload.Status.PROCESSING
        )
        begin_in_background("uploads")
    except OperationalError:
        logger.warning("upload %s is left for later: it cannot be claimed now", upload.uid, exc_info=True)


def process(upload: Upload) -> Upload:
    """Read, check and ingest a waiting upload. Do nothing if it was processed before or another process has claimed
    it."""
    if not upload.claim_to_process():
        upload.refresh_from_db()
        return upload
    process_claimed(upload)
    return Upload.objects.filter(pk=upload.pk).first() or upload


def process_claimed(upload: Upload) -> None:
    try:
        with held(upload):
            _process_held(upload)
    except LeaseLostError:
        logger.warning("upload %s was taken over by another process", upload.uid)
    except (OperationalError, OSError):
        logger.warning("upload %s is left for later: nothing can be stored now", upload.uid, exc_info=True)
        # The attempt does not count, because no process was killed.
        with suppress(OperationalError):
            upload.while_held().update(attempts=F("attempts") - 1)


def _process_held(upload: Upload) -> None:
    if upload.attempts > settings.UPLOAD_MAX_ATTEMPTS:
        upload.reject([report_entry(GIVEN_UP.format(count=settings.UPLOAD_MAX_ATTEMPTS))])
        return
    try:
        _ingest_upload(upload)
    except (LeaseLostError, OperationalError):
        raise
    except ArchiveError as error:
        upload.reject(error_entries(error))
    except FileNotFoundError:
        upload.reject([report_entry(FILE_GONE)])
    except IngestError as error:
        upload.reject([report_entry(str(error), MEMBER_OF.get(error.noun))])
    except Exception as error:
        if is_storage_failure(error):
            raise
        logger.exception("upload %s was not processed", upload.uid)
        upload.reject([report_entry(INTERNAL_ERROR)])


def _ingest_upload(upload: Upload) -> None:
    reading = upload.foreign_reading
    # Uploads without an account have a lower limit of rows, because their senders cannot be contacted.
    is_anonymous = Quarantine.objects.filter(holder=upload.owner_id).exists()
    with upload.file.open("rb") as file:
        measurements, doubts = read_upload(
            file, upload.filename, reading, settings.QUARANTINE_MAX_ROWS if is_anonymous else None
        )
    if upload.licence != Upload.Licence.AS_SOURCE:
        measurements = replace(measurements, licence=upload.licence)

    def accept(result: IngestResult) -> None:
        """Finish the upload in the transaction that makes the profiles visible."""
        upload.source = result.source
        warnings = [*_take_visibility(upload, result), *result.warnings, *doubts]
        upload.finish(Upload.Status.ACCEPTED, [], list(dict.fromkeys(warnings)))

    ingest(
        measurements,
        kind=Source.Kind.FILES if upload.form else Source.Kind.TARBALL,
        label=upload.filename,
        sha256=upload.sha256,
        owner=upload.owner,
        private=upload.visibility != Upload.Visibility.PUBLIC,
        on_stored=accept,
    )


def _take_visibility(upload: Upload, result: IngestResult) -> list[str]:
    """Set the upload's visibility to that of the stored delivery. Return a warning if it differs from the requested
    one."""
    stored = Upload.Visibility.PUBLIC if result.source.private_to_id is None else Upload.Visibility.PRIVATE
    if stored == upload.visibility:
        return []
    upload.visibility = stored
    return [] if result.existing else [f"stored as {stored}: the measurements are {result.source.origin}"]


def unclaimed_uploads() -> UploadQuerySet:
    """Return the waiting uploads that no process has claimed. Without workers, a received upload is reserved for its
    own request for the length of a lease. A request that leaves its upload to others sets the status to
    `processing`."""
    unclaimed = Upload.objects.waiting().unheld().select_related("owner").order_by("pk")
    if uses_workers():
        return unclaimed
    lease_ago = timezone.now() - timedelta(seconds=settings.LEASE_SECONDS)
    return unclaimed.exclude(Q(status=Upload.Status.RECEIVED, created_at__gte=lease_ago))


def sweep_files() -> int:
    """Delete uploaded files without a row, and the temporary files of killed processes. Return the number of files."""
    old = _old_files(Path(default_storage.path(UPLOADS_FOLDER)))
    # Read the rows after the folder, because the row of a file may be inserted in between.
    known = set(Upload.objects.exclude(file="").values_list("file", flat=True)) if old else set()
    orphans = [path for path in old if f"{UPLOADS_FOLDER}/{path.name}" not in known]
    orphans += _old_files(Path(settings.FILE_UPLOAD_TEMP_DIR))
    for path in orphans:
        path.unlink(missing_ok=True)
    return len(orphans)


def _old_files(folder: Path) -> list[Path]:
    left_after = ORPHANED_AFTER_LEASES * settings.LEASE_SECONDS
    return [path for path in folder.glob("*") if path.is_file() and is_older_than(path, left_after)]
