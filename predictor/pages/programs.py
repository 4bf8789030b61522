"""Pages of a program or workload apart from the ranking: measured times, limits, history of uploads, names of regions,
and what to measure next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from mpet_site.web.pages import json_address
from mpet_site.web.parameters import Flag
from predictor.computations.asking import LongAnswer
from predictor.computations.responses import respond_with, shown_answer
from predictor.figures.answer import measured_label
from predictor.figures.platforms import ProgramPart, program_chart
from predictor.pages.presenting import asks_for_public, given_parameters, rows_by_slug_disambiguated, shown_refusal
from predictor.predictions.programs import narrowing_question, question_of_program
from predictor.predictions.question import DEFAULT_METHOD, RequestError
from predictor.predictions.ranking_choice import AT_THREAD_COUNT, value_in
from profiles.figures.base import Chart, mark_origin
from profiles.figures.profile import profile_charts
from profiles.identity.programs import (
    MeasuredProgram,
    ProfiledProgram,
    RegionLabelError,
    measured_program,
    profile_of_workload,
    program_of_profile,
    program_or_404,
    program_uploads,
    rename_regions,
)
from profiles.models import Platform, Profile, Source, Workload
from profiles.models.querysets import LONG_TEXTS_OF_SOURCE
from profiles.pages.ceilings import limits_of
from profiles.pages.views import profile_drawing, time_unit
from profiles.scaling.runs import stored_curves
from profiles.scaling.wording import whole_percent
from profiles.templatetags.quantities import unmarked

MOST_LIMITS = 3  # maximum number of sentences
MOST_UPLOADS = 10  # maximum length of a workload's history
# The charts of a profile that show what limits it. The first available one is used.
LIMITING_CHARTS = ("shares", "efficiency")


@dataclass(frozen=True)
class UploadShown:
    """An upload in the history of a program or workload. The upload that the page shows has an empty address."""

    address: str
    created_at: datetime
    time_s: float | None


@dataclass(frozen=True)
class ProgramHome:
    """The content of the page of a program apart from its ranking. A workload counts as a program with one part.

    `measured` is None if no thread count was measured for all parts. `share` and `badge` are empty for private
    programs.
    """

    program: ProfiledProgram
    address: str
    share: str
    badge: str
    known: str
    time_unit: str
    measured: MeasuredProgram | None
    limits: Sequence[str]
    parts: Sequence[dict[str, Any]]
    charts: Sequence[Chart]
    uploads: Sequence[UploadShown]
    may_rename: bool = False

    @property
    def labels(self) -> dict[str, str]:
        return {row["profile"].workload.slug: row["label"] for row in self.parts}

    def own_time(self, n: int | None) -> float | None:
        """Return the measured time of the program at n threads, or its shortest measured time if n is None."""
        if self.measured is None:
            return None
        times = self.measured.time_s if n is None else self.measured.time_s[self.measured.n == n]
        return float(times.min()) if len(times) else None


def program_home(request: HttpRequest, found: ProfiledProgram) -> ProgramHome:
    measured = measured_program(found)
    known = measured_label(found.source.origin)
    address = reverse("program", args=found.name.address)
    charts = []
    if measured is not None and len(measured.n) > 1:
        pairs = zip(found.parts, measured.parts_s, strict=True)
        parts = [ProgramPart(found.label(part), times) for part, times in pairs]
        caption = f"{known.capitalize()} on {unmarked(found.platform.name, known)}: the times of the parts, stacked."
        charts = mark_origin([program_chart(measured.n, parts, caption)], found.source.origin)
    is_public = found.source.private_to_id is None
    uploads = [
        UploadShown(
            "" if upload.name == found.name else reverse("program", args=upload.name.address),
            upload.created_at,
            upload.time_s,
        )
        for upload in program_uploads(found, request.user)
    ]
    return ProgramHome(
        program=found,
        address=address,
        share=request.build_absolute_uri(address) if is_public else "",
        badge=reverse("program-badge", args=found.name.address) if is_public else "",
        known=known,
        time_unit="s",
        measured=measured,
        limits=program_limits(found, measured, request.user),
        parts=part_rows(found, measured),
        charts=charts,
        uploads=uploads,
        may_rename=found.is_owned_by(request.user),
    )


def workload_home(request: HttpRequest, workload: Workload) -> ProgramHome | None:
    """Return the content of a workload's page, based on its representative profile, or None if the user sees no
    profile."""
    profile = profile_of_workload(workload, request.user)
    if profile is None:
        return None
    found = program_of_profile(profile)
    measured = measured_program(found)
    drawing = profile_drawing(profile)
    charts = profile_charts(drawing) if drawing else []
    limiting = [replace(chart, name="limits") for chart in charts if chart.name in LIMITING_CHARTS]
    again = Profile.objects.visible_to(request.user).filter(
        workload=workload, platform=profile.platform, source__kind=Source.Kind.TARBALL
    )
    again = again.select_related("source", "curves").defer(*LONG_TEXTS_OF_SOURCE)
    again = again.order_by("-source__created_at", "-pk")[:MOST_UPLOADS]
    uploads = [
        UploadShown(
            "" if one.pk == profile.pk else reverse("profile", args=[one.uid]),
            one.source.created_at,
            None if (curves := stored_curves(one)) is None else float(curves.time_s.min()),
        )
        for one in again
    ]
    address = reverse("workload", args=[workload.slug])
    is_public = workload.private_to_id is None
    return ProgramHome(
        program=found,
        address=address,
        share=request.build_absolute_uri(address) if is_public else "",
        badge=reverse("workload-badge", args=[workload.slug]) if is_public else "",
        known=measured_label(profile.origin),
        time_unit=time_unit(workload),
        measured=measured,
        limits=program_limits(found, measured, request.user),
        parts=part_rows(found, measured),
        charts=mark_origin(limiting[:1], profile.origin),
        uploads=uploads if profile.source.kind == Source.Kind.TARBALL else (),
    )


def part_rows(found: ProfiledProgram, measured: MeasuredProgram | None) -> list[dict[str, Any]]:
    """Return the times of each part at the first and at the best n, and the part's shares of the program's times
    there."""
    rows = [{"profile": part, "label": found.label(part), "is_region": part in found.regions} for part in found.parts]
    if measured is None:
        return rows
    return [
        row
        | {
            "first_s": float(times[0]),
            "first_share": float(times[0]) / measured.first_s,
            "best_s": float(times[measured.best]),
            "best_share": float(times[measured.best]) / measured.best_s,
        }
        for row, times in zip(rows, measured.parts_s, strict=True)
    ]


def program_limits(found: ProfiledProgram, measured: MeasuredProgram | None, user: Any) -> list[str]:
    """Return at most three sentences: the share of the serial rest in the time, and what limits the longest region."""
    sentences = []
    if measured is not None and found.serial_rest is not None:
        share = float(measured.parts_s[-1, measured.best]) / measured.best_s
        sentences.append(f"The serial rest takes {whole_percent(share)} of the time with {measured.best_n} threads.")
    longest = found.regions[0]
    curves = stored_curves(longest)
    if curves is not None:
        label = found.label(longest)
        limits = limits_of(longest, curves, user)["sentences"]
        sentences += [f"{label}: {sentence}" if len(found.parts) > 1 else sentence for sentence in limits]
    return sentences[:MOST_LIMITS]


@require_POST
@login_required
def rename_region(request: HttpRequest, uid: UUID, slug: str) -> HttpResponse:
    """Rename a region of the user's own program on POST.

    `region` is the slug of the region's workload and `label` its new name. The programs of other users are not found.
    """
    found = program_or_404(uid, slug, request.user)
    if not found.is_owned_by(request.user):
        raise Http404
    region, label = request.POST.get("region", ""), request.POST.get("label", "")
    try:
        renamed = rename_regions(found, {region: label})
    except RegionLabelError as error:
        messages.error(request, str(error))
    else:
        shown = next(renamed.label(part) for part in renamed.regions if part.workload.slug == region)
        messages.success(request, f"The region was renamed to {shown}.")
    return redirect(reverse("program", args=found.name.address) + "#parts")


@require_safe
def program_next_measurements(request: HttpRequest, uid: UUID, slug: str) -> HttpResponse:
    """Show which measurements would narrow the interval of the program's time on the target.

    The parameters are `?target=[&method=&n=&include_simulated=true&public_only=true]`. For htmx requests, render only
    this content without the surrounding page.
    """
    found = program_or_404(uid, slug, request.user)
    given = given_parameters(request.GET, ("target", "method", "n", "include_simulated", "public_only"))
    target = given.pop("target", "")
    context = {
        "program": found,
        "back": f"{reverse('program', args=found.name.address)}?{urlencode(given)}",
        "target": rows_by_slug_disambiguated(Platform, request.user, [target]).get(target),
        "method": given.get("method") or DEFAULT_METHOD,
        "known": measured_label(found.source.origin),
        "section": "predict",
        "twin": json_address(
            "api-program-measure-next", *found.name.address, query=urlencode({"target": target} | given)
        ),
    }
    public_only = asks_for_public(given)
    try:
        question = narrowing_question(
            question_of_program(
                found,
                request.user,
                method=context["method"],
                n=value_in(request.GET, AT_THREAD_COUNT),
                include_simulated=value_in(request.GET, Flag("include_simulated", default=False)),
                public_only=public_only,
            ),
            target,
            None if public_only else request.user,
        )
    except RequestError as error:
        status = 200 if request.headers.get("HX-Request") == "true" else 422  # htmx does not display error responses
        context |= {"refusal": shown_refusal(error, request, found.name.name)}
        return render(request, "predictor/program_measure_next.html", context, status=status)
    shown = shown_answer(request, question, request.user)
    return respond_with(
        request,
        shown,
        "predictor/program_measure_next.html",
        lambda: context | next_measurements_rows(request, question.request.workload, shown),
        part="predictor/program_measure_next_rows.html",
    )


def next_measurements_rows(request: HttpRequest, widest: str, shown: LongAnswer) -> dict[str, Any]:
    results = shown.document["results"] if shown.document else []
    workloads = rows_by_slug_disambiguated(Workload, request.user, [widest, *(row["workload"] for row in results)])
    platforms = rows_by_slug_disambiguated(Platform, request.user, [row["platform"] for row in results])
    return {
        "widest": workloads.get(widest),
        "rows": [(row, workloads.get(row["workload"]), platforms.get(row["platform"])) for row in results],
    }
