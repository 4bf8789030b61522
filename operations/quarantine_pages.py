"""The pages of uploads without an account: the upload form, the page at the secret address, and claiming.

The address of the second page is the secret (mpet_site.web.request_logs). It is sent without a referrer, so that the
CSRF check would reject its forms. Claiming therefore has its own address, and reads the upload from the session.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import F, OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import digest_of
from benchmarks.forms import OF_OTHER_TOOLS, UploadForm
from benchmarks.models import Quarantine
from benchmarks.quarantine import (
    ClaimError,
    QuarantineFull,
    claim_upload,
    find_by_digest,
    find_quarantine,
    is_open,
    store_in_quarantine,
)
from mpet_site.web.pages import json_address, page_of
from mpet_site.web.throttling import limit_posts, too_many_requests
from predictor.computations.asking import LongAnswer
from predictor.computations.responses import respond_with, shown_answer
from predictor.figures.answer import measured_label
from predictor.pages.programs import program_limits
from predictor.pages.ranking import page_number
from predictor.predictions.feasibility import ranking_refusal, refusal_in_names
from predictor.predictions.programs import question_of_program
from predictor.predictions.question import RequestError
from predictor.predictions.ranking_rows import RANKED_PER_PAGE
from predictor.predictions.rankings import RankingQuestion
from profiles.identity.programs import (
    ProfiledProgram,
    measured_program,
    profile_of_workload,
    program_of_profile,
    program_or_404,
    programs_by_source,
)
from profiles.models import Platform, Profile, Source, Workload
from profiles.pages.views import time_unit

CLAIM = "claim"  # session key of the digest of the secret of the upload to claim
MOST_WORKLOADS_OFFERED = 100


class QuarantineForm(UploadForm):
    """A form to upload without an account. Its files are smaller and always private."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        del self.fields["visibility"], self.fields["licence"]

    def limit_bytes(self) -> int:
        return int(settings.QUARANTINE_MAX_PACKED_BYTES)


@limit_posts("quarantine")
@require_http_methods(["GET", "HEAD", "POST"])
def quarantine(request: HttpRequest) -> HttpResponse:
    """Show the form to upload without an account, and accept an upload."""
    if not is_open():
        raise Http404
    if request.user.is_authenticated:
        return redirect("upload")
    form = QuarantineForm(request.POST or None, request.FILES or None, user=request.user)
    if form.is_valid():
        name, file, reading = form.cleaned_data["sent"]
        try:
            _, secret = store_in_quarantine(file, name, reading)
        except QuarantineFull as error:
            return too_many_requests(request, error.retry_after_s)
        return redirect("quarantined", secret=secret)
    context = {
        "form": form,
        "tool_fields_open": bool(form.errors) or any(form.data.get(name) for name in OF_OTHER_TOOLS),
        "days": settings.QUARANTINE_DAYS,
        "limit_bytes": settings.QUARANTINE_MAX_PACKED_BYTES,
        "address": request.build_absolute_uri(reverse("api-quarantine")),
        "section": "upload",
    }
    return render(request, "operations/quarantine.html", context, status=422 if form.errors else 200)


@require_safe
def quarantined(request: HttpRequest, secret: str) -> HttpResponse:
    """Show what was measured of one of the upload's programs (?program=) or workloads (?workload=) with its ranking of
    platforms, and the errors or warnings of the upload."""
    row = find_quarantine(secret)
    if row is None:
        raise Http404
    upload = row.upload
    context: dict[str, Any] = {
        "quarantine": row,
        "upload": upload,
        "secret": secret,
        "section": "upload",
        "twin": json_address("api-quarantined", secret),
    }
    if upload is None or upload.source is None:
        return render(request, "operations/quarantined.html", context)
    source = upload.source
    workloads = workloads_of(row.holder, source)
    if not workloads:
        return render(request, "operations/quarantined.html", context)
    # A ranking of a program predicts each of its parts, so an upload of very many parts has none of whole programs.
    is_ranked = len(workloads) < MOST_WORKLOADS_OFFERED
    programs = programs_by_source([source.pk], row.holder).get(source.pk, []) if is_ranked else []
    # Whole programs come first: their regions are workloads, too.
    workload = next((one for one in workloads if one.slug == request.GET.get("workload")), None)
    name = next((one for one in programs if one.slug == request.GET.get("program")), None)
    if name is None and workload is None:
        name, workload = (programs[0], None) if programs else (None, workloads[0])
    if name is not None:
        program, workload = program_or_404(*name.address, row.holder), None
    else:
        # The holder has one upload only, so this is its profile.
        profile = profile_of_workload(workload, row.holder) if workload else None
        if profile is None:  # deleted meanwhile
            raise Http404
        program = program_of_profile(profile)
    context |= {"workloads": workloads, "programs": programs, "program": program, "workload": workload}
    context |= measured_facts(program, row.holder)
    page = page_number(request.GET.get("page", ""))
    is_simulated = source.origin == "simulated"
    try:
        question = question_of_program(program, row.holder, include_simulated=is_simulated, page=page)
    except RequestError as error:
        slug = program.regions[0].workload.slug
        context["refusal"] = refusal_in_names(error, row.holder, slug, "")
        return render(request, "operations/quarantined.html", context)
    shown = shown_answer(request, question, row.holder)
    return respond_with(
        request, shown, "operations/quarantined.html", lambda: context | page_of_ranking(request, row, question, shown)
    )


def workloads_of(holder: Any, source: Source) -> list[Workload]:
    """Return the workloads of the upload: the sender's own, which are private, before public ones such as the kit's. If
    the server knows none of them, the sender's program comes first, as in the file."""
    profiles = Profile.objects.visible_to(holder).filter(source=source)
    first = profiles.filter(workload=OuterRef("pk")).order_by("pk").values("pk")[:1]
    workloads = Workload.objects.visible_to(holder).annotate(first=Subquery(first)).filter(first__isnull=False)
    return list(workloads.order_by(F("private_to").asc(nulls_last=True), "first")[:MOST_WORKLOADS_OFFERED])


def measured_facts(program: ProfiledProgram, holder: Any) -> dict[str, Any]:
    """Return the context of what the upload measured of a program: its times, and what limits it."""
    measured = measured_program(program)
    if measured is None:
        return {}
    return {
        "known": measured_label(program.source.origin),
        "time_unit": time_unit(program.regions[0].workload),
        "measured": measured,
        "limits": program_limits(program, measured, holder),
    }


def page_of_ranking(
    request: HttpRequest, row: Quarantine, question: RankingQuestion, shown: LongAnswer
) -> dict[str, Any]:
    """Return the context of a page of the ranking: its rows with their platforms."""
    ranking = question.stored_ranking(shown.document)
    page = page_of(request, ranking.results, RANKED_PER_PAGE)
    slugs = {result["platform"] for result in page}
    platforms = {one.slug: one for one in Platform.objects.visible_to(row.holder).filter(slug__in=slugs)}
    return {
        "page": page,
        "rows": [(result, platforms[result["platform"]]) for result in page if result["platform"] in platforms],
        "refused_because": ranking_refusal(question, ranking.refused, row.holder)[0] if ranking.refused else "",
        "is_relative": ranking.time_kind == "relative",
    }


@require_safe
def begin_claim(request: HttpRequest, secret: str) -> HttpResponse:
    """Store the digest of the secret in the session, so that no address during sign-in contains the secret."""
    if find_quarantine(secret) is None:
        raise Http404
    request.session[CLAIM] = digest_of(secret)
    return redirect("claim")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def claim(request: HttpRequest) -> HttpResponse:
    """Ask for confirmation, and claim the upload on POST."""
    row = find_by_digest(request.session.get(CLAIM, ""))
    upload = row.upload if row else None
    if row is None or upload is None:
        raise Http404
    if request.method == "POST":
        try:
            claimed = claim_upload(row, request.user)
        except ClaimError as error:
            messages.error(request, str(error))
            return redirect("upload")
        del request.session[CLAIM]
        messages.success(request, f"{claimed.filename} is now your private upload.")
        return redirect("upload-report", uid=claimed.uid)
    context = {
        "title": f"Claim {upload.filename}?",
        "consequences": (
            "It becomes a private upload of yours: only you see it and predict from it. You can make it public later.",
            "The secret link stops working.",
        ),
        "button": "Claim it",
        "back": reverse("uploads"),
        "section": "uploads",
    }
    return render(request, "confirm.html", context)
