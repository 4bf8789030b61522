"""What happens to a results tarball that somebody sends: kept, read, checked, ingested, reported."""

from __future__ import annotations

import hashlib
import logging
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
from benchmarks.archive import ArchiveError, Limits, read_archive
from benchmarks.models import Upload
from profiles.ingest import IngestError, IngestResult, ingest
from profiles.models import Source
from profiles.quality import quality_warnings

logger = logging.getLogger(__name__)

PIECE_BYTES = 1 << 20
IN_MEMORY_BYTES = 4 << 20
ABANDONED_AFTER = timedelta(hours=1)
INTERNAL_ERROR = "internal error: nothing was stored, and the operators were told"


def receive(file: IO[bytes], owner: Any, visibility: str, filename: str) -> Upload:
    """Keep a tarball and have it processed, now or by a worker (MPET_TASKS). The same bytes from the same owner answer
    with the first upload, whatever visibility is asked for now; a rejected one may be tried again."""
    upload = keep(file, owner, visibility, filename)
    _take_up_abandoned(upload)
    if upload.status == Upload.Status.RECEIVED:
        tasks.process_upload.enqueue(upload.pk)
        upload.refresh_from_db()
    return upload


def keep(file: IO[bytes], owner: Any, visibility: str, filename: str) -> Upload:
    """Keep a tarball for `process`. One over the size limit is rejected, and not kept."""
    filename = PurePath(filename.replace("\\", "/")).name[:255] or "results.tar.gz"
    with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as spooled:
        sha256, size_bytes = _copy(file, spooled, settings.UPLOAD_MAX_PACKED_BYTES)
        upload = Upload(
            owner=owner, visibility=visibility, filename=filename, sha256=sha256, size_bytes=size_bytes, report={}
        )
        if size_bytes > settings.UPLOAD_MAX_PACKED_BYTES:
            return _reject(upload, [_error(f"is larger than {settings.UPLOAD_MAX_PACKED_BYTES} bytes")])
        return _first_of(upload) or _save(upload, spooled)


def process(upload: Upload) -> Upload:
    """Read, check and ingest a received upload; nothing happens where that was done, or is being done."""
    claimed = Upload.objects.filter(pk=upload.pk, status=Upload.Status.RECEIVED)
    if not claimed.update(status=Upload.Status.PROCESSING):
        upload.refresh_from_db()
        return upload
    upload.status = Upload.Status.PROCESSING
    try:
        with transaction.atomic():
            return _accept(upload)
    except ArchiveError as error:
        errors = [_error(one.reason, one.member, one.line) for one in error.problems]
        return _reject(upload, errors + [_error(f"and {error.more} more")] * bool(error.more))
    except IngestError as error:
        return _reject(upload, [_error(str(error))])
    except Exception:
        logger.exception("upload %s was not processed", upload.uid)
        return _reject(upload, [_error(INTERNAL_ERROR)])


def limits() -> Limits:
    return Limits(
        packed_bytes=settings.UPLOAD_MAX_PACKED_BYTES,
        unpacked_bytes=settings.UPLOAD_MAX_UNPACKED_BYTES,
        members=settings.UPLOAD_MAX_MEMBERS,
    )


def _copy(file: IO[bytes], to: IO[bytes], limit: int) -> tuple[str, int]:
    """The sha256 and the size of what was copied, which stops soon after the limit."""
    digest, size_bytes = hashlib.sha256(), 0
    while size_bytes <= limit and (piece := file.read(PIECE_BYTES)):
        digest.update(piece)
        to.write(piece)
        size_bytes += len(piece)
    to.seek(0)
    return digest.hexdigest(), size_bytes


def _first_of(upload: Upload) -> Upload | None:
    same = Upload.objects.filter(sha256=upload.sha256, owner=upload.owner)
    return same.exclude(status=Upload.Status.REJECTED).first()


def _save(upload: Upload, content: IO[bytes]) -> Upload:
    upload.file.save(f"{uuid.uuid4().hex}.tar.gz", File(content), save=False)
    try:
        with transaction.atomic():
            upload.save()
    except IntegrityError:  # the same bytes came in at the same moment
        first = _first_of(upload)
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


def _accept(upload: Upload) -> Upload:
    with upload.file.open("rb") as file:
        measurements = read_archive(file, limits=limits())
    result = ingest(
        measurements,
        kind=Source.Kind.TARBALL,
        label=upload.filename,
        sha256=upload.sha256,
        owner=upload.owner,
        private=upload.visibility == Upload.Visibility.PRIVATE,
    )
    upload.source = result.source
    warnings = [*_visibility(upload, result), *result.warnings, *quality_warnings(measurements)]
    return _finish(upload, Upload.Status.ACCEPTED, [], list(dict.fromkeys(warnings)))


def _visibility(upload: Upload, result: IngestResult) -> list[str]:
    """The upload takes the visibility of what was stored; says so where another was asked for."""
    stored = Upload.Visibility.PUBLIC if result.source.private_to_id is None else Upload.Visibility.PRIVATE
    if stored == upload.visibility:
        return []
    upload.visibility = stored
    return [] if result.existing else [f"stored as {stored}: the measurements are {result.source.origin}"]


def _reject(upload: Upload, errors: list[dict[str, Any]]) -> Upload:
    if upload.file:
        upload.file.delete(save=False)
    upload.source = None
    return _finish(upload, Upload.Status.REJECTED, errors, [])


def _finish(upload: Upload, status: str, errors: list[dict[str, Any]], warnings: list[str]) -> Upload:
    upload.status = status
    upload.report = {"errors": errors, "warnings": warnings}
    upload.finished_at = timezone.now()
    upload.save()
    return upload


def _error(reason: str, member: str | None = None, line: int | None = None) -> dict[str, Any]:
    return {"member": member, "line": line, "reason": reason}
