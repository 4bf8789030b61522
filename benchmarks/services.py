"""How a results tarball that somebody sends is received: kept, and handed on to be processed."""

from __future__ import annotations

import hashlib
import uuid
from datetime import timedelta
from pathlib import PurePath
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.conf import settings
from django.core.files import File
from django.db import IntegrityError, transaction
from django.utils import timezone

from benchmarks import tasks
from benchmarks.models import Upload, report_entry

UPLOAD_PIECE_BYTES = 1 << 20
UPLOAD_IN_MEMORY_BYTES = 4 << 20
ABANDONED_AFTER = timedelta(hours=1)


def receive_tarball(file: IO[bytes], owner: Any, visibility: str, filename: str) -> Upload:
    """Keep a tarball and have it processed, now or by a worker (MPET_TASKS). The same bytes from the same owner answer
    with the first upload, whatever visibility is asked for now; a rejected one may be tried again."""
    upload = keep_tarball(file, owner, visibility, filename)
    _take_up_abandoned(upload)
    if upload.status == Upload.Status.RECEIVED:
        tasks.process_upload.enqueue(upload.pk)
        upload.refresh_from_db()
    return upload


def keep_tarball(file: IO[bytes], owner: Any, visibility: str, filename: str) -> Upload:
    """Keep a tarball for `process`. One over the size limit is rejected, and not kept."""
    filename = PurePath(filename.replace("\\", "/")).name[:255] or "results.tar.gz"
    with SpooledTemporaryFile(max_size=UPLOAD_IN_MEMORY_BYTES) as spooled:
        sha256, size_bytes = _copy_hashed(file, spooled, settings.UPLOAD_MAX_PACKED_BYTES)
        upload = Upload(
            owner=owner, visibility=visibility, filename=filename, sha256=sha256, size_bytes=size_bytes, report={}
        )
        if size_bytes > settings.UPLOAD_MAX_PACKED_BYTES:
            return upload.reject([report_entry(f"is larger than {settings.UPLOAD_MAX_PACKED_BYTES} bytes")])
        return _find_first(upload) or _save_upload(upload, spooled)


def _copy_hashed(file: IO[bytes], to: IO[bytes], limit: int) -> tuple[str, int]:
    """The sha256 and the size of what was copied, which stops soon after the limit."""
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
    upload.file.save(f"{uuid.uuid4().hex}.tar.gz", File(content), save=False)
    try:
        with transaction.atomic():
            upload.save()
    except IntegrityError:  # the same bytes came in at the same moment
        first = _find_first(upload)
        upload.file.delete(save=False)
        if first is None:
            raise
        return first
    return upload


def _take_up_abandoned(upload: Upload) -> None:
    """An upload whose worker died can be processed again."""
    abandoned = Upload.objects.filter(
        pk=upload.pk, status=Upload.Status.PROCESSING, created_at__lt=timezone.now() - ABANDONED_AFTER
    )
    if abandoned.update(status=Upload.Status.RECEIVED):
        upload.refresh_from_db()
