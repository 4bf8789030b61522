"""Services for uploads: storing, processing, publishing and deleting them."""

from __future__ import annotations

import hashlib
import os
import uuid
from functools import partial
from pathlib import Path, PurePath
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.conf import settings
from django.core.files import File
from django.db import DatabaseError, IntegrityError, transaction

from benchmarks.formats.deliveries import ForeignReading
from benchmarks.models import Upload, UploadQuerySet, report_entry
from benchmarks.processing import process_in_request
from mpet_site.web.invisible import INVISIBLE
from profiles.ingest.publication import PublicationError, publish_source
from profiles.ingest.withdrawal import sweep_withdrawn, withdraw_in_transaction
from profiles.jobs.queue import enqueue_worker_task, uses_workers
from profiles.models import Revision, Source

UPLOAD_PIECE_BYTES = 1 << 20
UPLOAD_IN_MEMORY_BYTES = 4 << 20


def begin_processing(upload: Upload) -> Upload:
    """Process a stored upload now, or call a worker for it (MPET_TASKS). Do nothing if it is not waiting or a process
    has claimed it."""
    if Upload.objects.waiting().unheld().filter(pk=upload.pk).exists():
        if uses_workers():
            enqueue_worker_task()
        else:
            process_in_request(upload)
        upload.refresh_from_db()
    return upload


def keep_tarball(
    file: IO[bytes],
    owner: Any,
    visibility: str,
    filename: str,
    licence: str = Upload.Licence.AS_SOURCE,
    *,
    reading: ForeignReading | None = None,
    commit: str = "",
    branch: str = "",
) -> Upload:
    """Store a tarball, or a file of another tool with its `reading`, for `process`, and return the upload.

    A file over the size limit is rejected and not kept. If the owner has sent the same bytes with the same reading
    before, that first upload is returned, whatever visibility and licence are requested now. A rejected file may be
    sent again. `commit` and `branch` are those of the measured program, empty if unknown.
    """
    filename = INVISIBLE.sub("", PurePath(filename.replace("\\", "/")).name)[:255] or "results.tar.gz"
    with SpooledTemporaryFile(max_size=UPLOAD_IN_MEMORY_BYTES) as spooled:
        sha256, size_bytes = _copy_hashed(file, spooled, settings.UPLOAD_MAX_PACKED_BYTES)
        upload = Upload(
            owner=owner,
            visibility=visibility,
            licence=licence,
            filename=filename,
            commit=commit,
            branch=branch,
            sha256=sha256 if reading is None else reading.sha256_of(sha256),
            form="" if reading is None else reading.form,
            reading=None if reading is None else reading.document(),
            size_bytes=size_bytes,
            report={},
        )
        if size_bytes > settings.UPLOAD_MAX_PACKED_BYTES:
            return upload.reject([report_entry(f"is larger than {settings.UPLOAD_MAX_PACKED_BYTES} bytes")])
        return _find_first(upload) or _save_upload(upload, spooled)


def _copy_hashed(file: IO[bytes], to: IO[bytes], limit: int) -> tuple[str, int]:
    """Copy the file, and stop soon after `limit` bytes. Return the SHA-256 and the size of the copy."""
    digest, size_bytes = hashlib.sha256(), 0
    while size_bytes <= limit and (piece := file.read(UPLOAD_PIECE_BYTES)):
        digest.update(piece)
        to.write(piece)
        size_bytes += len(piece)
    to.seek(0)
    return digest.hexdigest(), size_bytes


def _find_first(upload: Upload) -> Upload | None:
    same = Upload.objects.filter(sha256=upload.sha256, owner=upload.owner)
    return same.exclude(status=Upload.Status.REJECTED).first()


def _save_upload(upload: Upload, content: IO[bytes]) -> Upload:
    """Store the file before the row, so that the file of every acknowledged upload is on the disk. A file without a row
    is swept later."""
    upload.file.save(f"{uuid.uuid4().hex}.tar.gz", File(content), save=False)
    _make_durable(Path(upload.file.path))
    try:
        with transaction.atomic():
            upload.save()
    except DatabaseError as error:
        upload.file.delete(save=False)
        first = _find_first(upload) if isinstance(error, IntegrityError) else None
        if first is None:
            raise
        # Another process stored the same bytes at the same time.
        return first
    return upload


def _make_durable(path: Path) -> None:
    """Flush the file and its entry in the folder to the disk."""
    for written in (path, path.parent):
        descriptor = os.open(written, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def publish_upload(upload: Upload) -> Upload:
    """Make an accepted upload public. Do nothing if it is public already. Raises PublicationError."""
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
    """Delete the uploads with their files and everything that was stored from them. Return their number. A process that
    is reading one of them finds it deleted and stores nothing."""
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
