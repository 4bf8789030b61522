"""User data of this application: uploads, and deliveries that an operator imported for a user."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.db import transaction

from accounts.user_data import ArchiveMember, UserData
from benchmarks.api.serializers import UploadSerializer
from benchmarks.models import Upload
from benchmarks.services import delete_uploads
from profiles.api.serializers import ProfileDetails, ProfileDetailSerializer
from profiles.ingest.withdrawal import withdraw
from profiles.models import Profile, Revision, Source

ROWS_AT_ONCE = 100


def count_measurements(user: Any) -> dict[str, int]:
    return {
        "uploads": Upload.objects.filter(owner=user).count(),
        "profiles": Profile.objects.filter(source__owner=user).count(),
    }


def measurement_members(user: Any, request: Any) -> Iterator[ArchiveMember]:
    """Yield the file and the report of each upload, and each profile in the form of the API. Missing files are left
    out."""
    for upload in Upload.objects.filter(owner=user).select_related("source").order_by("pk").iterator(ROWS_AT_ONCE):
        folder = f"uploads/{upload.uid}"
        report = UploadSerializer(upload, context={"request": request}).data
        yield ArchiveMember.of_json(f"{folder}/report.json", report)
        if upload.file_is_there:
            yield ArchiveMember(f"{folder}/{upload.filename}", upload.file.size, upload.file.open("rb"))
    rows = Profile.objects.in_api(user).filter(source__owner=user).order_by("pk").iterator(ROWS_AT_ONCE)
    while profiles := list(islice(rows, ROWS_AT_ONCE)):
        details = ProfileDetails(profiles, user)
        serializer = ProfileDetailSerializer(context={"request": request, "details": details})
        for profile in profiles:
            yield ArchiveMember.of_json(f"profiles/{profile.uid}.json", serializer.to_representation(profile))


def remove_measurements(user: Any, keep_public: bool) -> None:
    """Delete the user's uploads and deliveries. If `keep_public`, keep the public ones without an owner."""
    if keep_public:
        leave_without_owner(user)
    delete_uploads(Upload.objects.filter(owner=user))
    withdraw(Source.objects.filter(owner=user))


@transaction.atomic
def leave_without_owner(user: Any) -> None:
    """Remove the owner from the user's public deliveries, except where a delivery with the same bytes and no owner
    exists."""
    Revision.hold()
    there_already = Source.objects.filter(owner=None).values("sha256")
    public = Source.objects.filter(owner=user, private_to=None).exclude(sha256__in=there_already)
    keys = list(public.values_list("pk", flat=True))
    Upload.objects.filter(owner=user, source__in=keys, status=Upload.Status.ACCEPTED).update(owner=None)
    Source.objects.filter(pk__in=keys).update(owner=None)


MEASUREMENTS = UserData("measurements", count_measurements, measurement_members, remove_measurements)
