"""Uploads without an account: kept for their sender alone, claimed by whoever has the secret, or deleted in time.

docs/decisions/quarantine.md says why they belong to a user of their own.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import IO, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.db import transaction

from accounts.belongings import close_account
from accounts.models import digest_of
from benchmarks.models import Quarantine, Upload
from benchmarks.services import receive_tarball

SECRET_BYTES = 32


class QuarantineFull(Exception):
    """So many uploads are in quarantine that no further one is taken, or none is taken at all."""

    retry_after_s = 3_600


class ClaimError(Exception):
    """Why nothing can be claimed; nothing was changed."""


def is_open() -> bool:
    return settings.QUARANTINE_DAYS > 0


def take_in(file: IO[bytes], filename: str) -> tuple[Quarantine, str]:
    """Keep and process a tarball in quarantine; the secret, of which only the digest is stored, is told here once.

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
    receive_tarball(file, holder, Upload.Visibility.PRIVATE, filename)
    return quarantine, secret


def find_quarantine(secret: str) -> Quarantine | None:
    """The one of this secret, as long as its time is not over."""
    return find_by_digest(digest_of(secret))


def find_by_digest(digest: str) -> Quarantine | None:
    return Quarantine.objects.standing().select_related("holder").filter(digest=digest).first()


def claim_upload(quarantine: Quarantine, user: Any) -> Upload:
    """Make it a private upload of the user, as if the user had sent the file, and end the quarantine; where the user
    has sent it before, that one. Raises ClaimError where nothing is left to claim."""
    upload = quarantine.upload
    if upload is None or not upload.file or upload.status == Upload.Status.REJECTED:
        raise ClaimError("Its file was refused and is not kept: there is nothing to claim.")
    with upload.file.open("rb") as file:
        claimed = receive_tarball(file, user, Upload.Visibility.PRIVATE, upload.filename)
    remove_quarantine(quarantine)
    return claimed


def remove_quarantine(quarantine: Quarantine) -> None:
    """With the upload and all that came of it."""
    close_account(quarantine.holder, keep_public=False)


def drop_quarantined(before: datetime) -> int:
    """Delete those that came before; how many."""
    old = list(Quarantine.objects.filter(created_at__lt=before).select_related("holder"))
    for quarantine in old:
        remove_quarantine(quarantine)
    return len(old)
