"""Uploads without an account: only their sender can read them, until they are claimed with the secret, deleted or
expired.

docs/decisions/quarantine.md explains why each of them belongs to a user of its own.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import IO, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from accounts.models import digest_of
from accounts.user_data import close_account
from benchmarks.formats.deliveries import ForeignReading
from benchmarks.models import Quarantine, Upload
from benchmarks.services import begin_processing, keep_tarball
from profiles.models import held

SECRET_BYTES = 32
# A quarantine without an upload is abandoned after so many leases: its process was killed before it stored one.
NEVER_CAME_AFTER_LEASES = 10
STANDS = Q(ended_at=None)


class QuarantineFull(Exception):
    """No further upload is accepted, because the quarantine is full or disabled."""

    retry_after_s = 3_600


class ClaimError(Exception):
    """The reason why nothing can be claimed. Nothing was changed."""


def is_open() -> bool:
    return settings.QUARANTINE_DAYS > 0


def store_in_quarantine(
    file: IO[bytes], filename: str, reading: ForeignReading | None = None
) -> tuple[Quarantine, str]:
    """Store a results tarball, or a file of another tool with its `reading`, in quarantine and process it. Return the
    quarantine and its secret, which is stored only as a digest.

    Raises QuarantineFull.
    """
    if not is_open() or Quarantine.objects.count() >= settings.QUARANTINE_MOST:
        raise QuarantineFull
    secret = secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        holder = get_user_model()._default_manager.create(
            username=f"quarantine-{secrets.token_hex(8)}", password=make_password(None), is_active=False
        )
        quarantine = Quarantine.objects.create(holder=holder, digest=digest_of(secret))
    begin_processing(keep_tarball(file, holder, Upload.Visibility.PRIVATE, filename, reading=reading))
    return quarantine, secret


def find_quarantine(secret: str) -> Quarantine | None:
    """Return the quarantine with this secret, or None if it is expired, claimed or deleted."""
    return find_by_digest(digest_of(secret))


def find_by_digest(digest: str) -> Quarantine | None:
    """Return the quarantine with this digest of its secret, or None if it is expired, claimed or deleted."""
    oldest = timezone.now() - timedelta(days=settings.QUARANTINE_DAYS)
    return Quarantine.objects.filter(STANDS, created_at__gt=oldest, digest=digest).select_related("holder").first()


def claim_upload(quarantine: Quarantine, user: Any) -> Upload:
    """Make the upload a private upload of the user, as if the user had sent the file, and end the quarantine. If the
    user has sent the file before, return that upload. Only one of several concurrent claims succeeds. Raises ClaimError
    if there is nothing to claim."""
    upload = quarantine.upload
    if upload is None or not upload.file_is_there:
        raise ClaimError("There is nothing to claim: the file was rejected and is not stored.")
    claimed = _end(quarantine) if quarantine.claim(STANDS, ended_at=timezone.now(), claimed_by=user) else None
    if claimed is None:
        raise ClaimError("It has just been claimed or deleted.")
    return claimed


def remove_quarantine(quarantine: Quarantine) -> bool:
    """Delete the quarantine with its upload and everything that was stored from it. Return False if it was claimed or
    deleted in the meantime."""
    if not quarantine.claim(STANDS, ended_at=timezone.now()):
        return False
    _end(quarantine)
    return True


def end_abandoned() -> int:
    """Finish the claims and deletions of killed processes, and delete quarantines without an upload. Return their
    number."""
    oldest = timezone.now() - timedelta(seconds=NEVER_CAME_AFTER_LEASES * settings.LEASE_SECONDS)
    never_came = Q(~Exists(Upload.objects.filter(owner=OuterRef("holder"))), created_at__lt=oldest)
    abandoned = list(Quarantine.objects.unheld().filter(~STANDS | never_came).select_related("holder", "claimed_by"))
    for quarantine in abandoned:
        if quarantine.claim(ended_at=quarantine.ended_at or timezone.now()):
            _end(quarantine)
    return len(abandoned)


def drop_quarantined(before: datetime) -> int:
    """Delete the quarantines that were created before this time. Return their number."""
    old = list(Quarantine.objects.filter(STANDS, created_at__lt=before).select_related("holder"))
    return [remove_quarantine(quarantine) for quarantine in old].count(True)


def _end(quarantine: Quarantine) -> Upload | None:
    """Complete the claim or the deletion of a quarantine that this process has claimed. If a user claimed the upload,
    store its file as an upload of that user and return it. Delete everything else. Every step can be repeated by a
    second process."""
    with held(quarantine):
        upload, kept = quarantine.upload, None
        if quarantine.claimed_by is not None and upload is not None and upload.file_is_there:
            with upload.file.open("rb") as file:
                kept = keep_tarball(
                    file,
                    quarantine.claimed_by,
                    Upload.Visibility.PRIVATE,
                    upload.filename,
                    reading=upload.foreign_reading,
                )
        close_account(quarantine.holder, keep_public=False)
    return None if kept is None else begin_processing(kept)
