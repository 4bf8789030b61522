"""The front page: the boxes for a question, an example with measured times, the accuracy, and the latest uploads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from mpet_site.web.background import NotReadyYet, note_outdated
from mpet_site.web.pages import json_address
from predictor.accuracy.own_evaluation import shown_measurements
from predictor.computations.asking import read_showcase
from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.availability import answered_pairs
from predictor.core.two_steps import lacks_in_two_steps
from predictor.figures.accuracy import error_histogram
from predictor.figures.answer import answer_drawing, answer_origin, measured_label, predicted_time_chart
from predictor.pages.forms import question_address
from predictor.pages.presenting import MOST_NAMES_IN_LIST, rows_by_slug
from predictor.snapshot.cache import read_database
from profiles.arrays import BoolArray
from profiles.figures.base import Breakpoints, mark_origin
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name, slug_of_label
from profiles.identity.programs import programs_by_source, region_rows
from profiles.models import Platform, Profile, Source, Workload
from profiles.pages.page_cache import kept_for_visitors

LATEST = 5
MOST_KEPT_WORKLOADS = 64  # workloads with their machines, per database
MOST_PROGRAM_SOURCES = 20  # number of sources that the offered programs come from
PROGRAM_MARK = "program "


@require_safe
@kept_for_visitors
def home(request: HttpRequest) -> HttpResponse:
    """Show the front page, or redirect to the answer if both `?workload=` and `?target=` are given.

    If only one of them is given, the other box offers only names that have an answer together with it. `?example=`
    selects the example.
    """
    workload, target = request.GET.get("workload", "").strip(), request.GET.get("target", "").strip()
    try:
        everything = offered_pairs(request.user)
        programs = {offer.label: offer.stands_for for offer in everything.programs}
        if workload in programs:
            return redirect(programs[workload])
        chosen = {
            "workload": workload and (slug_of_label(Workload, request.user, workload) or workload),
            "target": target and (slug_of_label(Platform, request.user, target) or target),
        }
        if workload and target:
            return redirect(question_address(chosen))
        pairs = offered_pairs(request.user, **chosen) if workload or target else everything
    except NotReadyYet:
        note_outdated()
        everything = pairs = OfferedPairs([], [], [])
    measurements = shown_measurements()
    context = {
        "workload": shown_label(everything.workloads, workload),
        "target": shown_label(everything.machines, target),
        "pairs": pairs,
        **example_context(request, read_showcase()),
        "measurements": measurements,
        "accuracy_charts": [error_histogram(measurements.errors.tolist())] if measurements else [],
        "real_machines": real_machines(request.user),
        "latest": latest_measurements(request.user),
        "sources": Source.objects.credited_to(request.user).credits(),
        "twin": json_address("api-root"),
    }
    return render(request, "predictor/home.html", context)


def shown_label(offers: Sequence[Offer], typed: str) -> str:
    """Return the text of a box: the label of the offer, even if the URL has its slug."""
    return next((offer.label for offer in offers if offer.stands_for == typed), typed)


def example_context(request: HttpRequest, examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the context of the example that `?example=` selects (default: the first), its chart and the number of the
    next example."""
    text = request.GET.get("example", "")
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0
    if not examples:
        return {"example": None}
    answer = examples[number % len(examples)]
    platforms = {answer["target"], *(reference["platform"] for reference in answer["reference_curves"])}
    rows = rows_by_slug(Platform, None, platforms)
    workloads = rows_by_slug(Workload, None, {answer["workload"]})
    if answer["target"] not in rows or answer["workload"] not in workloads:
        return {"example": None}
    names = {slug: row.name for slug, row in rows.items()}
    target = rows[answer["target"]]
    origin = answer_origin(answer)
    drawing = answer_drawing({**answer, "reference_curves": []}, names, Breakpoints(target.n_nu, target.n_ht))
    known = measured_label(origin)
    chart = replace(
        predicted_time_chart(drawing),
        title="Time by number of threads",
        caption=f"The prediction with its 90 % interval, and the {known} times. Logarithmic scale.",
    )
    return {
        "example": answer,
        "example_workload": workloads[answer["workload"]],
        "example_machine": target,
        "example_known": known,
        "example_points": len(answer["measured"]["curve"]),
        "example_charts": mark_origin([chart], origin),
        "example_address": question_address({"workload": answer["workload"], "target": answer["target"]}),
        "next_example": (number + 1) % len(examples) if len(examples) > 1 else None,
    }


def real_machines(user: Any) -> int:
    """Return the number of machines with measured profiles. Simulated machines do not count."""
    rows = Profile.objects.visible_to(user).filter(origin="measured").order_by()
    return rows.values("platform").distinct().count()


def latest_measurements(user: Any) -> list[dict[str, Any]]:
    """Return the latest sources with at most three of their measured machines.

    In each row, `machines` holds names and URLs, and `more` is true if the source measured further machines.
    """
    latest = []
    for source in Source.objects.latest_seen_by(user, LATEST):
        rows = Profile.objects.visible_to(user).filter(source=source).order_by()
        machines = list(rows.values_list("platform__slug", "platform__name").distinct()[:4])
        latest.append(
            {
                "source": source,
                "machines": [(name, reverse("platform", args=[slug])) for slug, name in machines[:3]],
                "more": len(machines) > 3,
            }
        )
    return latest


@dataclass(frozen=True)
class Offer:
    """A choice in a box: the label that is shown and sent, and the slug or URL that it stands for."""

    label: str
    stands_for: str


@dataclass(frozen=True)
class OfferedPairs:
    """The choices of both boxes. Each workload or machine has an answer together with the content of the other box."""

    workloads: list[Offer]
    programs: list[Offer]
    machines: list[Offer]


def offered_pairs(user: Any, workload: str = "", target: str = "") -> OfferedPairs:
    """Return the choices of both boxes. `workload` and `target` are the slugs in the boxes, or empty for empty
    boxes."""
    workloads, machines = set(), set()
    answered: set[str] = set()
    for origins in (MEASURED, SIMULATED):
        database = read_database(user, origins=origins)
        # The table has the shape (workloads, platforms) and is computed once per database. It does not know predictions
        # in two steps, which are found for a given workload only.
        table: BoolArray = database.derive("answered pairs", partial(answered_pairs, database))
        if target in database.platforms:
            wanted = table[:, database.platforms.index(target)]
        else:
            wanted = np.full(len(database.workloads), not target) & table.any(axis=1)
        known = np.bincount(database.workload_index, minlength=len(database.workloads)) > 0
        measured = {database.workloads[row] for row in np.flatnonzero(known).tolist()} - answered
        workloads |= {database.workloads[row] for row in np.flatnonzero(wanted).tolist()} & measured
        if workload in measured:
            row = database.workloads.index(workload)
            lacks = database.derive_one_of(
                "lacks", row, partial(lacks_in_two_steps, database, row), MOST_KEPT_WORKLOADS
            )
            columns = np.array([not word for word in lacks])
        else:
            rows = [] if workload else [database.workloads.index(slug) for slug in measured]
            columns = np.asarray(table[rows].any(axis=0))
        machines |= {database.platforms[column] for column in np.flatnonzero(columns).tolist()}
        answered |= measured
    return OfferedPairs(offers(Workload, user, workloads), offered_programs(user), offers(Platform, user, machines))


def offers(model: Any, user: Any, slugs: set[str]) -> list[Offer]:
    rows = model.objects.offered_to(user).filter(slug__in=sorted(slugs)[:MOST_NAMES_IN_LIST])
    return [Offer(disambiguated_name(row), row.slug) for row in disambiguate(rows, user)]


def offered_programs(user: Any) -> list[Offer]:
    """Return the programs of the latest sources. Each stands for the URL of its page."""
    sources = region_rows(Profile.objects.visible_to(user)).order_by("-source").values_list("source", flat=True)
    newest = list(sources.distinct()[:MOST_PROGRAM_SOURCES])
    return [
        Offer(f"{PROGRAM_MARK}{program.name}", reverse("program", args=program.address))
        for programs in programs_by_source(newest, user).values()
        for program in programs
    ]
