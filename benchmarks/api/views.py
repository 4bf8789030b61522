"""API views of uploads, the benchmark kit and the client."""

import hashlib
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import Count, Max
from django.http import FileResponse
from django.http.response import HttpResponseBase
from django_filters.rest_framework import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound, PermissionDenied, Throttled
from rest_framework.generics import get_object_or_404
from rest_framework.permissions import SAFE_METHODS, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import MayUpload
from benchmarks.api.serializers import (
    KitGuideSerializer,
    PublicationSerializer,
    UnderstoodSerializer,
    UploadRequestSerializer,
    UploadRowSerializer,
    UploadSerializer,
)
from benchmarks.client_wheel import client_wheel, wheel_name
from benchmarks.kit_archive import (
    ARCHITECTURES,
    TOP_FOLDER,
    built_tarball,
    kit_sha256,
    kit_tarball,
    kit_version,
)
from benchmarks.kit_guide import kit_guide
from benchmarks.models import Upload
from benchmarks.reading import preview_upload
from benchmarks.services import begin_processing, delete_uploads, keep_tarball, publish_upload
from mpet_site.web.api import ApiView, DetailView, ListView
from mpet_site.web.etags import etag_of, respond_unless_unchanged
from mpet_site.web.filters import ChoiceFilter, TextFilter
from mpet_site.web.parsers import MultiPartParser
from mpet_site.web.problems import Conflict
from mpet_site.web.renderers import BytesRenderer, TarballRenderer, WheelRenderer
from mpet_site.web.throttling import wait_of_preview
from profiles.ingest.publication import PublicationError
from profiles.pages.page_cache import database_etag


class UploadFilter(FilterSet):
    status = ChoiceFilter(tuple(Upload.Status.values))
    visibility = ChoiceFilter(tuple(Upload.Visibility.values))
    commit = TextFilter()
    branch = TextFilter()

    class Meta:
        model = Upload
        fields: tuple[str, ...] = ()


@extend_schema_view(get=extend_schema(operation_id="uploads_list", summary="Your own uploads"))
class UploadList(ListView):
    """Your own uploads, and the creation of new ones. If you send the same results again, the response is the first
    upload."""

    permission_classes = (MayUpload, IsAuthenticated)
    parser_classes = (MultiPartParser,)
    queryset = Upload.objects.none()
    serializer_class = UploadRowSerializer
    csv_serializer_class = UploadRowSerializer
    filterset_class = UploadFilter
    search_fields = ("filename",)
    ordering_fields: ClassVar = {
        name: name for name in ("filename", "status", "size_bytes", "created_at", "profile_count")
    }

    def get_queryset(self) -> Any:
        return Upload.objects.listed_for(self.request.user)

    def etag(self, queryset: Any) -> str:
        """Return the ETag of a list. Uploads change without a new revision, so the ETag depends on the number of
        uploads in each state and on the time at which the last of them finished."""
        states = queryset.order_by().values_list("status", "visibility").annotate(Count("pk"), Max("finished_at"))
        return database_etag(self.request, self.request.user.pk, *sorted(map(str, states)))

    @extend_schema(
        operation_id="uploads_create",
        summary="Send a results tarball, or a file of another tool",
        request=UploadRequestSerializer,
        responses={200: UnderstoodSerializer, 201: UploadSerializer, 202: UploadSerializer, 422: None},
    )
    def post(self, request: Request) -> Response:
        sent = UploadRequestSerializer(data=request.data, context={"request": request})
        sent.is_valid(raise_exception=True)
        sent.refuse_larger_than(settings.UPLOAD_MAX_PACKED_BYTES)
        visibility, licence = sent.validated_data["visibility"], sent.validated_data["licence"]
        if sent.validated_data["preview"] and (wait_s := wait_of_preview(request)):
            raise Throttled(wait=wait_s)
        name, file, reading = sent.sent()
        if sent.validated_data["preview"]:
            return Response(preview_upload(file, name, reading))
        measured = {name: sent.validated_data.get(name, "") for name in ("commit", "branch")}
        result = keep_tarball(file, request.user, visibility, name, licence, reading=reading, **measured)
        upload = begin_processing(result)
        data = UploadSerializer(upload, context={"request": request}).data
        status = 202 if upload.waits else 201
        # wsgiref accepts no subclass of str in a header.
        return Response(data, status=status, headers={"Location": str(data["url"])})


@extend_schema_view(get=extend_schema(operation_id="uploads_read", summary="The status and the report of an upload"))
class UploadDetail(DetailView):
    """One upload: your own, or an accepted public upload of another user."""

    serializer_class = UploadSerializer
    lookup_field = "uid"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> Any:
        return Upload.objects.readable_by(self.request.user)

    def get_permissions(self) -> list[Any]:
        return [MayUpload()] if self.request.method not in SAFE_METHODS else list(super().get_permissions())

    def get_own(self) -> Upload:
        upload: Upload = self.get_object()
        if upload.owner_id != self.request.user.pk:
            raise PermissionDenied("This upload is not yours.")
        return upload

    @extend_schema(
        operation_id="uploads_publish",
        summary="Publish one of your private uploads",
        request=PublicationSerializer,
        responses={200: UploadSerializer, 409: None},
    )
    def patch(self, request: Request, id: Any) -> Response:
        """Publish an upload. It cannot be made private again, only deleted."""
        sent = PublicationSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        try:
            upload = publish_upload(self.get_own())
        except PublicationError as error:
            raise Conflict(str(error)) from error
        return Response(UploadSerializer(upload, context={"request": request}).data)

    @extend_schema(operation_id="uploads_delete", summary="Delete one of your uploads", responses={204: None})
    def delete(self, request: Request, id: Any) -> Response:
        """Delete an upload with its file and all data that came from it. Stored predictions of other users keep their
        numbers and show that a source was withdrawn."""
        delete_uploads(Upload.objects.filter(pk=self.get_own().pk))
        return Response(status=204)

    def etag(self, upload: Upload) -> str:
        viewer = self.request.user.pk if upload.owner_id == self.request.user.pk else None
        return database_etag(self.request, upload.status, upload.visibility, upload.report, viewer)


class UploadFile(ApiView):
    """The file of an upload, byte for byte: a results tarball, a file of another tool, or a tar archive of several such
    files. Only its owner can read the file of a private upload."""

    renderer_classes = (BytesRenderer,)

    @extend_schema(
        operation_id="uploads_file", summary="The file of an upload", responses={200: OpenApiTypes.BINARY, 404: None}
    )
    def get(self, request: Request, id: Any) -> HttpResponseBase:
        upload = get_object_or_404(Upload.objects.readable_by(request.user), uid=id)

        def build() -> HttpResponseBase:
            try:
                content = upload.file.open("rb")
            except (OSError, ValueError) as error:  # the upload was rejected, or deleted a moment ago
                raise NotFound from error
            name = f"mpet-{upload.uid}{upload.file_suffix}"
            return FileResponse(content, as_attachment=True, filename=name, content_type=BytesRenderer.media_type)

        return respond_unless_unchanged(request, etag_of(upload.sha256, upload.status, upload.visibility), build)


class Kit(ApiView):
    """The benchmark kit: C++ sources to build and run on the machine that you want to measure."""

    renderer_classes = (TarballRenderer,)

    @extend_schema(
        operation_id="kit", summary="The benchmark kit as a tarball", responses={200: OpenApiTypes.BINARY, 404: None}
    )
    def get(self, request: Request) -> Any:
        version = kit_version()
        content = kit_tarball(request.build_absolute_uri("/"))
        return respond_with_file(request, f"{TOP_FOLDER}-{version}.tar.gz", content, version, kit_sha256(content))


class BuiltKitArchive(ApiView):
    """The programs of the kit for one architecture, for machines without a compiler. The status is 404 if the operator
    has not built them. The guide (`kit/guide/`) lists the available architectures with their SHA-256."""

    renderer_classes = (TarballRenderer,)

    @extend_schema(
        operation_id="kit_built",
        summary="The benchmark kit as static programs",
        parameters=[OpenApiParameter("architecture", enum=ARCHITECTURES, location=OpenApiParameter.PATH)],
        responses={200: OpenApiTypes.BINARY, 404: None},
    )
    def get(self, request: Request, architecture: str) -> Any:
        content = built_tarball(architecture, request.build_absolute_uri("/"))
        version = f"{kit_version()}-{architecture}"
        return respond_with_file(request, f"{TOP_FOLDER}-{version}.tar.gz", content, version, kit_sha256(content))


class ClientWheel(ApiView):
    """The client `mpet` as a wheel, for `pipx install ADDRESS`. Only the version of the server exists."""

    renderer_classes = (WheelRenderer,)

    @extend_schema(
        operation_id="client", summary="The client as a wheel", responses={200: OpenApiTypes.BINARY, 404: None}
    )
    def get(self, request: Request, name: str) -> Any:
        if name != wheel_name():
            raise NotFound
        content = client_wheel()
        return respond_with_file(request, name, content, hashlib.sha256(content).hexdigest())


def respond_with_file(request: Request, name: str, content: bytes, *etag_parts: str) -> HttpResponseBase:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return respond_unless_unchanged(request, etag_of(*etag_parts), lambda: Response(content, headers=disposition))


class KitGuide(ApiView):
    """The content of the page "Measure your machine": the commands, and the programs of the kit."""

    @extend_schema(
        operation_id="kit_guide", summary="How to measure a machine", responses={200: KitGuideSerializer, 404: None}
    )
    def get(self, request: Request) -> Response:
        site = request.build_absolute_uri("/")
        guide = kit_guide(site, request.user) | {"url": f"{site}api/v1/kit/"}
        return Response(KitGuideSerializer(guide).data)
