"""API views of the quarantine: uploads without an account, which their senders can read, delete and claim."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, Throttled
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import MayUpload
from benchmarks.api.serializers import FilesRequestSerializer, ReportSerializer, UploadSerializer
from benchmarks.models import Quarantine, Upload
from benchmarks.quarantine import (
    ClaimError,
    QuarantineFull,
    claim_upload,
    find_quarantine,
    is_open,
    remove_quarantine,
    store_in_quarantine,
)
from mpet_site.web.api import ApiView
from mpet_site.web.parsers import MultiPartParser
from mpet_site.web.problems import Conflict
from mpet_site.web.throttling import RequestThrottle, client_address, seconds_to_wait


class QuarantineThrottle(RequestThrottle):
    """A throttle of the uploads that one address sends without an account. It does not count reads."""

    def allow_request(self, request: Any, view: Any) -> bool:
        if request.method == "POST":
            self.wait_s = seconds_to_wait("quarantine", client_address(request))
        return self.wait_s == 0


class QuarantineSerializer(serializers.Serializer):
    """An upload without an account, as shown to its sender."""

    url = serializers.URLField(
        help_text="URL of this document. Anyone who has it may read, claim and delete the upload."
    )
    page = serializers.URLField(help_text="URL of the report with predictions, for a browser; as secret as `url`.")
    claim_url = serializers.URLField(
        help_text="A POST to this URL with a token makes it a private upload of the token's user."
    )
    status = serializers.ChoiceField(Upload.Status.choices)
    report = ReportSerializer
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(help_text="Time at which it is deleted unless it is claimed before.")


def quarantine_document(request: Request, quarantine: Quarantine, secret: str) -> dict[str, Any]:
    upload = quarantine.upload
    report = {"errors": [], "warnings": []} | (upload.report if upload else {})
    return {
        "url": request.build_absolute_uri(reverse("api-quarantined", args=[secret])),
        "page": request.build_absolute_uri(reverse("quarantined", args=[secret])),
        "claim_url": request.build_absolute_uri(reverse("api-claim", args=[secret])),
        "status": upload.status if upload else Upload.Status.RECEIVED.value,
        "report": {name: report[name] for name in ("errors", "warnings")},
        "created_at": quarantine.created_at,
        "expires_at": quarantine.expires_at,
    }


def quarantine_or_404(secret: str) -> Quarantine:
    quarantine = find_quarantine(secret)
    if quarantine is None:
        raise NotFound
    return quarantine


class QuarantineSending(ApiView):
    """Uploads without an account. Only people with the secret address see such an upload, and no other user's
    prediction uses it."""

    parser_classes = (MultiPartParser,)
    permission_classes = (AllowAny,)
    throttle_classes = (RequestThrottle, QuarantineThrottle)

    @extend_schema(
        operation_id="quarantine_create",
        summary="Send results without an account",
        request=FilesRequestSerializer,
        responses={201: QuarantineSerializer, 202: QuarantineSerializer, 404: None},
    )
    def post(self, request: Request) -> Response:
        if not is_open():
            raise NotFound
        sent = FilesRequestSerializer(data=request.data, context={"request": request})
        sent.is_valid(raise_exception=True)
        sent.refuse_larger_than(settings.QUARANTINE_MAX_PACKED_BYTES)
        name, content, reading = sent.sent()
        try:
            quarantine, secret = store_in_quarantine(content, name, reading)
        except QuarantineFull as error:
            raise Throttled(wait=error.retry_after_s) from error
        document = quarantine_document(request, quarantine, secret)
        status = 202 if document["status"] in Upload.WAITING else 201
        return Response(document, status=status, headers={"Location": document["url"]})


class QuarantineDetail(ApiView):
    """An upload without an account, for everyone who has its secret address."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="quarantine_read",
        summary="The status of an upload without an account",
        responses={200: QuarantineSerializer, 404: None},
    )
    def get(self, request: Request, secret: str) -> Response:
        return Response(quarantine_document(request, quarantine_or_404(secret), secret))

    @extend_schema(
        operation_id="quarantine_delete",
        summary="Delete an upload that was sent without an account",
        responses={204: None, 404: None},
    )
    def delete(self, request: Request, secret: str) -> Response:
        if not remove_quarantine(quarantine_or_404(secret)):
            raise NotFound
        return Response(status=204)


class QuarantineClaim(ApiView):
    """The claim of an upload that was sent without an account. The upload becomes a private upload of the user."""

    permission_classes = (MayUpload, IsAuthenticated)

    @extend_schema(
        operation_id="quarantine_claim",
        summary="Claim an upload that was sent without an account",
        request=None,
        responses={200: UploadSerializer, 404: None, 409: None},
    )
    def post(self, request: Request, secret: str) -> Response:
        try:
            upload = claim_upload(quarantine_or_404(secret), request.user)
        except ClaimError as error:
            raise Conflict(str(error)) from error
        return Response(UploadSerializer(upload, context={"request": request}).data)
