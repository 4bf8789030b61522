"""Pages for measuring a machine, uploading its results and reading the report."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from benchmarks.client_wheel import wheel_name
from benchmarks.forms import OF_OTHER_TOOLS, UploadForm
from benchmarks.kit_archive import NoKitError
from benchmarks.kit_guide import kit_guide
from benchmarks.models import Upload
from benchmarks.notes import notes_of
from benchmarks.preview import preview_of
from benchmarks.quarantine import is_open
from benchmarks.reading import preview_table, preview_upload
from benchmarks.services import begin_processing, delete_uploads, keep_tarball, publish_upload
from mpet_site.web.pages import json_address, page_of
from mpet_site.web.tables import PageTable
from mpet_site.web.throttling import too_many_requests, wait_of_preview
from profiles.identity.descriptions import differences_in
from profiles.identity.programs import programs_by_source
from profiles.ingest.publication import PublicationError
from profiles.models import Profile, Source
from profiles.pages.columns import (
    DIFFERENCE_COLUMNS_OF_UPLOAD,
    PROFILE_COLUMNS_OF_UPLOAD,
    TOOLCHAINS_SHOWN,
    difference_table,
    profile_count_caption,
    toolchain_table,
)


@require_safe
def measure_guide(request: HttpRequest) -> HttpResponse:
    """Show how to measure a machine with the kit. Respond with status 404 if this installation does not contain the
    kit."""
    site = request.build_absolute_uri("/")
    try:
        guide = kit_guide(site, request.user)
    except NoKitError:
        return render(request, "benchmarks/measure.html", {"section": "measure"}, status=404)
    context = guide | {
        "wheel": wheel_name(),
        "wheel_address": request.build_absolute_uri(reverse("api-client", args=[wheel_name()])),
        "site_address": site.rstrip("/"),
        "quarantine": is_open() and not request.user.is_authenticated,
        "section": "measure",
        "twin": json_address("api-kit-guide"),
    }
    return render(request, "benchmarks/measure.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: HttpRequest) -> HttpResponse:
    """Show the upload form. POST stores the files, or only shows a preview if the button `preview` was pressed."""
    if "preview" in request.POST and (wait_s := wait_of_preview(request)):
        return too_many_requests(request, wait_s)
    form, found, head = UploadForm(request.POST or None, request.FILES or None, user=request.user), None, None
    if form.is_valid():
        name, file, reading = form.cleaned_data["sent"]
        visibility, licence = form.cleaned_data["visibility"], form.cleaned_data["licence"]
        if "preview" not in request.POST:
            result = keep_tarball(file, request.user, visibility, name, licence, reading=reading)
            return redirect("upload-report", uid=begin_processing(result).uid)
        found = preview_upload(file, name, reading)
        if reading is not None and reading.form == "csv":
            head = preview_table(file, name, packed=reading.packed)
    refused = bool(form.errors or (found and found["errors"]))
    context = {
        "form": form,
        "tool_fields_open": refused or any(form.data.get(name) for name in OF_OTHER_TOOLS),
        "preview": None if found is None else preview_of(found, head, form.cleaned_data["columns"]),
        "section": "upload",
        "limit_bytes": settings.UPLOAD_MAX_PACKED_BYTES,
        "address": request.build_absolute_uri(reverse("api-uploads")),
        "twin": json_address("api-uploads"),
    }
    return render(request, "benchmarks/upload.html", context, status=422 if form.errors else 200)


@login_required
@require_safe
def uploads(request: HttpRequest) -> HttpResponse:
    page = page_of(request, Upload.objects.listed_for(request.user))
    query = f"page={page.number}" if page.number > 1 else ""
    programs = programs_by_source([row.source_id for row in page if row.source_id is not None], request.user)
    context = {
        "page": page,
        "rows": [(row, programs.get(row.source_id, [])) for row in page],
        "section": "uploads",
        "twin": json_address("api-uploads", query=query),
    }
    return render(request, "benchmarks/uploads.html", context)


def tables_of_delivery(source: Source | None, user: Any) -> dict[str, PageTable | None]:
    """Return the tables of a delivery's toolchains, and of its descriptions of platforms and workloads that differ from
    the known ones."""
    if source is None:
        return {"differences": None, "toolchains": None}
    toolchains = source.platform_descriptions.visible_to(user).toolchains(TOOLCHAINS_SHOWN)
    return {
        "differences": difference_table(differences_in(source, user), DIFFERENCE_COLUMNS_OF_UPLOAD),
        "toolchains": toolchain_table(toolchains),
    }


@require_safe
def upload_report(request: HttpRequest, uid: Any) -> HttpResponse:
    """Show the report of an upload. Other users see the profiles of a public upload and can download its file, but do
    not see the file's name."""
    row = get_object_or_404(Upload.objects.readable_by(request.user), uid=uid)
    profiles = Profile.objects.visible_to(request.user).select_related("platform", "workload")
    page = page_of(request, profiles.filter(source=row.source) if row.source else profiles.none())
    context = tables_of_delivery(row.source, request.user) | {
        "upload": row,
        "notes": notes_of(row.source),
        "file_is_there": row.status == Upload.Status.ACCEPTED and row.file_is_there,
        "owned": request.user.is_authenticated and row.owner_id == request.user.pk,
        "programs": programs_by_source([row.source_id], request.user).get(row.source_id, []) if row.source_id else [],
        "page": page,
        "table": PageTable("Profiles", PROFILE_COLUMNS_OF_UPLOAD, page, profile_count_caption(page)),
        "section": "uploads",
        "twin": json_address("api-upload", row.uid),
    }
    return render(request, "benchmarks/report.html", context)


WHAT_GOES = (
    "The file, its profiles and their runs are deleted, and so are machines and workloads without other data.",
    "Your private predictions that use it are deleted too.",
)
WHAT_STAYS_OF_PUBLIC = (
    "Stored predictions of others keep their numbers and show that a source was withdrawn.",
    "Copies that others made while it was public stay.",
)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_upload(request: HttpRequest, uid: Any) -> HttpResponse:
    """Ask for confirmation, and delete the upload on POST."""
    row = get_object_or_404(Upload, owner=request.user, uid=uid)
    if request.method == "POST":
        delete_uploads(Upload.objects.filter(pk=row.pk))
        messages.success(request, f"{row.filename} was deleted with all its data.")
        return redirect("uploads")
    context = {
        "title": f"Delete {row.filename}?",
        "consequences": (*WHAT_GOES, *(WHAT_STAYS_OF_PUBLIC if row.visibility == Upload.Visibility.PUBLIC else ())),
        "button": "Delete it",
        "back": reverse("upload-report", args=[row.uid]),
        "section": "uploads",
    }
    return render(request, "confirm.html", context)


WHAT_BECOMES_PUBLIC = (
    "Everybody can see its profiles, runs, environment and log, predict from them, and download the file as you sent "
    "it. Its name is listed in the sources of predictions.",
    "Your other uploads stay as they are, and so do your private predictions.",
    "It cannot be made private again, because predictions of others stay. You can delete it.",
)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def publication(request: HttpRequest, uid: Any) -> HttpResponse:
    """Ask for confirmation, and publish the upload on POST."""
    row = get_object_or_404(Upload, owner=request.user, uid=uid)
    report = reverse("upload-report", args=[row.uid])
    if request.method == "POST":
        try:
            publish_upload(row)
        except PublicationError as error:
            messages.error(request, str(error))
        else:
            messages.success(request, f"{row.filename} is public.")
        return redirect(report)
    context = {
        "title": f"Make {row.filename} public?",
        "consequences": (*WHAT_BECOMES_PUBLIC, f"Its licence: {row.licence}."),
        "button": "Make it public",
        "back": report,
        "section": "uploads",
    }
    return render(request, "confirm.html", context)
