"""What is done with a received tarball: it is read, checked, ingested and reported."""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import transaction

from benchmarks.archive import ArchiveError, Limits, read_archive
from benchmarks.models import Upload, report_entry
from profiles.ingest import IngestError, IngestResult, ingest
from profiles.models import Source
from profiles.quality import quality_warnings

logger = logging.getLogger(__name__)
INTERNAL_ERROR = "internal error: nothing was stored, and the operators were told"


def process(upload: Upload) -> Upload:
    """Read, check and ingest a received upload; nothing happens where that was done, or is being done."""
    claimed = Upload.objects.filter(pk=upload.pk, status=Upload.Status.RECEIVED)
    if not claimed.update(status=Upload.Status.PROCESSING):
        upload.refresh_from_db()
        return upload
    upload.status = Upload.Status.PROCESSING
    try:
        with transaction.atomic():
            return _ingest_upload(upload)
    except ArchiveError as error:
        errors = [report_entry(problem.reason, problem.member, problem.line) for problem in error.problems]
        return upload.reject(errors + [report_entry(f"and {error.more} more")] * bool(error.more))
    except IngestError as error:
        return upload.reject([report_entry(str(error))])
    except Exception:
        logger.exception("upload %s was not processed", upload.uid)
        return upload.reject([report_entry(INTERNAL_ERROR)])


def archive_limits() -> Limits:
    return Limits(
        packed_bytes=settings.UPLOAD_MAX_PACKED_BYTES,
        unpacked_bytes=settings.UPLOAD_MAX_UNPACKED_BYTES,
        members=settings.UPLOAD_MAX_MEMBERS,
    )


def _ingest_upload(upload: Upload) -> Upload:
    with upload.file.open("rb") as file:
        measurements = read_archive(file, limits=archive_limits())
    result = ingest(
        measurements,
        kind=Source.Kind.TARBALL,
        label=upload.filename,
        sha256=upload.sha256,
        owner=upload.owner,
        private=upload.visibility == Upload.Visibility.PRIVATE,
    )
    upload.source = result.source
    warnings = [*_take_visibility(upload, result), *result.warnings, *quality_warnings(measurements)]
    return upload.finish(Upload.Status.ACCEPTED, [], list(dict.fromkeys(warnings)))


def _take_visibility(upload: Upload, result: IngestResult) -> list[str]:
    """The upload takes the visibility of what was stored; says so where another was asked for."""
    stored = Upload.Visibility.PUBLIC if result.source.private_to_id is None else Upload.Visibility.PRIVATE
    if stored == upload.visibility:
        return []
    upload.visibility = stored
    return [] if result.existing else [f"stored as {stored}: the measurements are {result.source.origin}"]
