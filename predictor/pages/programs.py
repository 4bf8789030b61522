"""What only a profiled program has on the page of its ranking: its times where it was measured, what limits it, the
history of its uploads; and what to measure next for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address
from mpet_site.web.parameters import Flag
from predictor.figures.answer import measured_label
from predictor.figures.programs import ProgramPart, program_chart
from predictor.pages.long_answers import ShownAnswer, respond_with, shown_answer
from predictor.pages.offers import asks_for_public
from predictor.pages.presenting import rows_by_slug_disambiguated
from predictor.pages.refusals import shown_refusal
from predictor.predictions.programs import narrowing_question, question_of_program
from predictor.predictions.ranking_choice import AT_THREAD_COUNT, value_in
from predictor.predictions.request import DEFAULT_METHOD, RequestError
from profiles.figures import Chart, mark_origin
from profiles.judgement.stored import stored_curves
from profiles.models import Platform, Profile, Workload
from profiles.pages.ceilings import limits_of
from profiles.programs import (
    MeasuredProgram,
    ProfiledProgram,
    ProgramUpload,
    measured_program,
    program_or_404,
    program_uploads,
)
from profiles.templatetags.quantities import unmarked

MOST_LIMITS = 3  # sentences


@dataclass(frozen=True)
class ProgramHome:
    """What the page shows of a program besides its ranking. `measured` is None where no thread count was measured for
    all parts."""

    program: ProfiledProgram
    address: str
    share: str
    badge: str
    known: str
    measured: MeasuredProgram | None
    limits: Sequence[str]
    parts: Sequence[dict[str, Any]]
    charts: Sequence[Chart]
    uploads: Sequence[ProgramUpload]

    @property
    def labels(self) -> dict[str, str]:
        return {row["profile"].workload.slug: row["label"] for row in self.parts}

    @property
    def first_n(self) -> int | None:
        return None if self.measured is None else int(self.measured.n[0])

    @property
    def first_s(self) -> float | None:
        return None if self.measured is None else float(self.measured.time_s[0])

    @property
    def best_n(self) -> int | None:
        return None if self.measured is None else int(self.measured.n[self.measured.best()])

    @property
    def best_s(self) -> float | None:
        return self.own_time(None)

    def own_time(self, n: int | None) -> float | None:
        """What the program took where it was measured: at n, or at the best n."""
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
        parts = [ProgramPart(part_label(part), times) for part, times in pairs]
        caption = f"{known.capitalize()} on {unmarked(found.platform.name, known)}: the times of the parts, stacked."
        charts = mark_origin([program_chart(measured.n, parts, caption)], found.source.origin)
    is_public = found.source.private_to_id is None
    return ProgramHome(
        program=found,
        address=address,
        share=request.build_absolute_uri(address) if is_public else "",
        badge=request.build_absolute_uri(reverse("program-badge", args=found.name.address)) if is_public else "",
        known=known,
        measured=measured,
        limits=program_limits(found, request.user),
        parts=part_rows(found, measured),
        charts=charts,
        uploads=program_uploads(found, request.user),
    )


def part_label(part: Profile) -> str:
    """What a part is called beside the program's name."""
    return part.workload.section or part.workload.name


def part_rows(found: ProfiledProgram, measured: MeasuredProgram | None) -> list[dict[str, Any]]:
    """Of each part the times at the first n and at the best one, and its share of the program's there."""
    if measured is None:
        return [{"profile": part, "label": part_label(part)} for part in found.parts]
    best = measured.best()
    return [
        {
            "profile": part,
            "label": part_label(part),
            "first_s": float(times[0]),
            "first_share": float(times[0] / measured.time_s[0]),
            "best_s": float(times[best]),
            "best_share": float(times[best] / measured.time_s[best]),
        }
        for part, times in zip(found.parts, measured.parts_s, strict=True)
    ]


def program_limits(found: ProfiledProgram, user: Any) -> list[str]:
    """Three sentences at most: what the serial rest leaves to gain, and what limits the longest region."""
    sentences = []
    measured = measured_program(found)
    if measured is not None and found.serial_rest is not None:
        best = measured.best()
        share = float(measured.parts_s[-1, best] / measured.time_s[best])
        sentences.append(f"The serial rest takes {100 * share:.0f} % of the time with {measured.n[best]} threads.")
    longest = found.regions[0]
    curves = stored_curves(longest)
    if curves is not None:
        label = part_label(longest)
        limits = limits_of(longest, curves, user)["sentences"]
        sentences += [f"{label}: {sentence}" if len(found.parts) > 1 else sentence for sentence in limits]
    return sentences[:MOST_LIMITS]


@require_safe
def program_next_measurements(request: HttpRequest, uid: UUID, slug: str) -> HttpResponse:
    """?target=[&method=&n=&include_simulated=true&public_only=true]: what would narrow the interval of the program
    there, a page or the part of one that htmx asks for."""
    found = program_or_404(uid, slug, request.user)
    names = ("target", "method", "n", "include_simulated", "public_only")
    given = {name: request.GET[name] for name in names if request.GET.get(name)}
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
    public_only = asks_for_public(given.get("public_only"))
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
        status = 200 if request.headers.get("HX-Request") == "true" else 422  # htmx shows no error
        context |= {"refusal": shown_refusal(error, request)}
        return render(request, "predictor/program_measure_next.html", context, status=status)
    shown = shown_answer(request, question, request.user)
    return respond_with(
        request,
        shown,
        "predictor/program_measure_next.html",
        lambda: context | next_measurements_rows(request, question.request.workload, shown),
        part="predictor/program_measure_next_rows.html",
    )


def next_measurements_rows(request: HttpRequest, widest: str, shown: ShownAnswer) -> dict[str, Any]:
    results = shown.document["results"] if shown.document else []
    workloads = rows_by_slug_disambiguated(Workload, request.user, [widest, *(row["workload"] for row in results)])
    platforms = rows_by_slug_disambiguated(Platform, request.user, [row["platform"] for row in results])
    return {
        "widest": workloads.get(widest),
        "rows": [(row, workloads.get(row["workload"]), platforms.get(row["platform"])) for row in results],
    }
