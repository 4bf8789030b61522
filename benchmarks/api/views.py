import hashlib
from typing import Any

from django.conf import settings
from django.db.models import Q
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import MayUpload
from benchmarks import services
from benchmarks.api.serializers import UploadRequestSerializer, UploadSerializer
from benchmarks.kit_archive import TOP, NoKitError, kit_tarball, kit_version
from benchmarks.models import Upload
from mpet_site.api import ApiView, DetailView
from mpet_site.etags import database_etag, etag_of, unless_unchanged
from mpet_site.parsers import MultiPartParser
from mpet_site.problems import PayloadTooLarge
from mpet_site.renderers import TarballRenderer

FINISHED = (Upload.Status.ACCEPTED, Upload.Status.REJECTED)


class UploadList(ApiView):
    """Send a results tarball. The same tarball again answers with the first upload."""

    permission_classes = (MayUpload,)
    parser_classes = (MultiPartParser,)

    @extend_schema(
        operation_id="uploads_create",
        summary="Send a results tarball",
        request=UploadRequestSerializer,
        responses={201: UploadSerializer, 202: UploadSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = UploadRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        file = asked.validated_data["file"]
        if file.size > settings.UPLOAD_MAX_PACKED_BYTES:
            limit = settings.UPLOAD_MAX_PACKED_BYTES
            raise PayloadTooLarge(f"The file has {file.size} bytes; at most {limit} are taken.", limit_bytes=limit)
        upload = services.receive(file, request.user, asked.validated_data["visibility"], file.name)
        data = UploadSerializer(upload, context={"request": request}).data
        status = 201 if upload.status in FINISHED else 202
        return Response(data, status=status, headers={"Location": data["url"]})


@extend_schema_view(get=extend_schema(operation_id="uploads_read", summary="How far an upload is, and what came of it"))
class UploadDetail(DetailView):
    """The owner's own; of others those that were accepted and are public."""

    serializer_class = UploadSerializer
    lookup_field = "uid"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> Any:
        published = Q(
            visibility=Upload.Visibility.PUBLIC,
            status=Upload.Status.ACCEPTED,
            source__isnull=False,
            source__private_to__isnull=True,
        )
        own = Q(owner=self.request.user) if self.request.user.is_authenticated else Q()
        return Upload.objects.filter(published | own).select_related("source")

    def etag(self, upload: Upload) -> str:
        viewer = self.request.user.pk if upload.owner_id == self.request.user.pk else None
        return database_etag(self.request, upload.status, upload.report, viewer)


class Kit(ApiView):
    """The benchmark kit: C++ sources to build and run on the machine that is to be measured."""

    renderer_classes = (TarballRenderer,)

    @extend_schema(operation_id="kit", summary="The benchmark kit as a tarball", responses={200: OpenApiTypes.BINARY})
    def get(self, request: Request) -> Any:
        try:
            version = kit_version()
        except NoKitError as error:
            raise NotFound from error
        content = kit_tarball()
        disposition = {"Content-Disposition": f'attachment; filename="{TOP}-{version}.tar.gz"'}
        return unless_unchanged(
            request,
            etag_of(version, hashlib.sha256(content).hexdigest()),
            lambda: Response(content, headers=disposition),
        )
