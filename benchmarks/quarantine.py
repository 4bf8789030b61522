"""Uploads without an account: kept for their sender alone, claimed by whoever has the secret, or deleted in time.

docs/decisions/quarantine.md says why they belong to a user of their own.
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
NEVER_CAME_AFTER_LEASES = 10  # a quarantine without an upload is older: its process was killed before it stored one
STANDS = Q(ended_at=None)


class QuarantineFull(Exception):
    """So many uploads are in quarantine that no further one is taken, or none is taken at all."""

    retry_after_s = 3_600


class ClaimError(Exception):
    """Why nothing can be claimed; nothing was changed."""


def is_open() -> bool:
    return settings.QUARANTINE_DAYS > 0


def take_in(file: IO[bytes], filename: str, reading: ForeignReading | None = None) -> tuple[Quarantine, str]:
    """Keep and process a tarball in quarantine, or a file of another tool with its `reading`. Returns the secret too,
    of which only the digest is stored.

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
    """The one of this secret, as long as it stands."""
    return find_by_digest(digest_of(secret))


def find_by_digest(digest: str) -> Quarantine | None:
    """The one whose secret has this digest, if its time is not over and nobody has claimed or deleted it."""
    oldest = timezone.now() - timedelta(days=settings.QUARANTINE_DAYS)
    return Quarantine.objects.filter(STANDS, created_at__gt=oldest, digest=digest).select_related("holder").first()


def claim_upload(quarantine: Quarantine, user: Any) -> Upload:
    """Make it a private upload of the user, as if the user had sent the file, and end the quarantine; where the user
    has sent it before, that one. Of several claims one succeeds. Raises ClaimError where nothing is left to claim."""
    upload = quarantine.upload
    if upload is None or not upload.file_is_there:
        raise ClaimError("Its file was refused and is not kept: there is nothing to claim.")
    claimed = _end(quarantine) if quarantine.claim(STANDS, ended_at=timezone.now(), claimed_by=user) else None
    if claimed is None:
        raise ClaimError("It was claimed or deleted a moment ago.")
    return claimed


def remove_quarantine(quarantine: Quarantine) -> bool:
    """Delete it with the upload and all that came of it; False where it was claimed or deleted a moment ago."""
    if not quarantine.claim(STANDS, ended_at=timezone.now()):
        return False
    _end(quarantine)
    return True


def end_abandoned() -> int:
    """Finish the claims and deletions of killed processes, and delete quarantines without an upload. Returns
    their number."""
    oldest = timezone.now() - timedelta(seconds=NEVER_CAME_AFTER_LEASES * settings.LEASE_SECONDS)
    never_came = Q(~Exists(Upload.objects.filter(owner=OuterRef("holder"))), created_at__lt=oldest)
    left = list(Quarantine.objects.unheld().filter(~STANDS | never_came).select_related("holder", "claimed_by"))
    for quarantine in left:
        if quarantine.claim(ended_at=quarantine.ended_at or timezone.now()):
            _end(quarantine)
    return len(left)


def drop_quarantined(before: datetime) -> int:
    """Delete those that came before. Returns their number."""
    old = list(Quarantine.objects.filter(STANDS, created_at__lt=before).select_related("holder"))
    return [remove_quarantine(quarantine) for quarantine in old].count(True)


def _end(quarantine: Quarantine) -> Upload | None:
    """What follows the end of a quarantine that this process has claimed: its tarball becomes an upload of the user who
    claimed it, which is returned, and all else is deleted. A second process may repeat every step."""
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
