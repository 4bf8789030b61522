"""Helpers of the pages about predictions: the choices of forms, the parts of an answer, the stored rows for the slugs
of an answer, and refusals as one sentence with a link to a remedy or to similar names."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from mpet_site.web.tables import NUMBER, TableColumn
from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.comparisons.documents import positions_with_most_profiles
from predictor.core.database import Database
from predictor.core.methods import DEFAULT_METHOD, METHODS
from predictor.predictions.advice import MIXED_ORIGINS, WIDEST_MIXING
from predictor.predictions.confidence import width_in_words
from predictor.predictions.feasibility import in_names, ranking_refusal, refusal_in_names
from predictor.predictions.question import NoPrediction, Remedy, RequestError, UnknownName
from predictor.predictions.rankings import RankingQuestion
from predictor.snapshot.cache import read_database
from profiles.figures.base import Breakpoints
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name
from profiles.models import Platform, Profile, Workload
from profiles.templatetags.quantities import significant

MOST_NAMES_IN_LIST = 2000  # choices of a field; users can type any other visible name into a text field
LARGEST_WORKLOADS_SEEN = 64


def mixing_choices(method: str, chosen: str) -> list[tuple[str, bool]]:
    """Return the choices of `mix_runtimes` and whether each is chosen, or an empty list if the method has no such
    setting."""
    kind = typing.get_type_hints(METHODS[method].settings).get("mix_runtimes") if method in METHODS else None
    choices = typing.get_args(kind)
    return [(choice, choice == (chosen or choices[0])) for choice in choices]


def offered_names(model: Any, user: Any, chosen: str, *, scaling: bool = False) -> list[tuple[str, str]]:
    """Return slugs and names to choose from, including the chosen one.

    Equal names get labels (`disambiguate`). With `scaling`, only rows with profiles at more than one thread count are
    offered.
    """
    offered = disambiguate(model.objects.offered_to(user, scaling=scaling)[:MOST_NAMES_IN_LIST], user)
    rows = [(row.slug, disambiguated_name(row)) for row in offered]
    if not chosen or chosen in dict(rows):
        return rows
    (name,) = model.objects.visible_to(user).filter(slug=chosen).values_list("name", flat=True) or (chosen,)
    return [(chosen, name), *rows]


def first_pair(user: Any) -> tuple[str, str]:
    """Return the workload and the machine for an empty form.

    These are the pair in MPET_FIRST_PAIR if the user sees both. Otherwise the workload is the one with the most
    profiles among those that have curves, and the machine is the one with the most profiles among its machines.
    Measured profiles are preferred to simulated ones. If no workload has curves, any workload is used.
    """
    if len(settings.FIRST_PAIR) == 2:
        workload, target = settings.FIRST_PAIR
        rows = ((Workload, workload), (Platform, target))
        if all(model.objects.visible_to(user).filter(slug=slug).exists() for model, slug in rows):
            return workload, target
    for needs_curves in (True, False):
        for origins in (MEASURED, SIMULATED):
            database = read_database(user, origins=origins)
            for workload in positions_with_most_profiles(database, "workloads", LARGEST_WORKLOADS_SEEN):
                if needs_curves and not has_curves(database, workload):
                    continue
                platforms = np.unique(database.platform_index[database.rows_of_workload(workload)])
                profiles = np.bincount(database.platform_index)[platforms]
                return database.workloads[workload], database.platforms[platforms[profiles.argmax()]]
    return "", ""


def has_curves(database: Database, workload: int) -> bool:
    """Return whether the workload has curves with more than one thread count on at least two platforms."""
    rows = database.rows_of_workload(workload)
    lengths = database.curve_offsets[rows + 1] - database.curve_offsets[rows]
    return len(np.unique(database.platform_index[rows[lengths > 1]])) > 1


def asks_for_public(parameters: Mapping[str, str]) -> bool:
    """Return whether the check box of a form or a query parameter asks for public data only."""
    return is_checked(parameters, "public_only")


def is_checked(parameters: Mapping[str, str], name: str) -> bool:
    """Return whether a check box or a query parameter is set."""
    return parameters.get(name, "").lower() in {"true", "on", "1"}


def given_parameters(parameters: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the named parameters that have a value."""
    return {name: parameters[name] for name in names if parameters.get(name)}


def fastest_point(curve: Sequence[Mapping[str, Any]], credible_n: int | None) -> Mapping[str, Any] | None:
    """Return the point with the shortest time, or with the largest speedup if only the scaling was predicted.

    As in rankings, thread counts beyond the last one with a credible gain are left out, unless no other was predicted.
    """
    curve = [row for row in curve if credible_n is None or row["n"] <= credible_n] or curve
    timed = [row for row in curve if row["time_s"] is not None]
    if timed:
        return min(timed, key=lambda row: row["time_s"])
    return max((row for row in curve if row["speedup"] is not None), key=lambda row: row["speedup"], default=None)


def answer_facts(answer: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the fastest point, the largest n with a credible gain if n is limited, the warnings, and the number of
    cautions of an answer.

    For a changed question, add the fastest point of the baseline and the ratio of both times. Warnings that repeat a
    reason of the confidence are omitted. `names` maps slugs to names of machines.
    """
    credible_n = answer.get("credible_n")  # answers of versions before 33 have none
    best = fastest_point(answer["curve"], credible_n)
    before = fastest_point(answer.get("baseline") or [], credible_n)
    ratio = None
    if best and before and best["time_s"] and before["time_s"]:
        ratio = before["time_s"] / best["time_s"]
    reasons = answer["confidence"].get("reasons", [])
    half_width = answer["confidence"].get("half_width")
    warnings = [in_names(warning, names) for warning in answer["warnings"] if warning not in reasons]
    return {
        "fastest": best,
        "limited_to": credible_n,
        "fastest_before": before,
        "times_as_fast": ratio,
        "interval_width": None if half_width is None else width_in_words(half_width),
        "warnings": warnings,
        "cautions": len(reasons) + len(warnings),
    }


def rows_by_slug(model: Any, user: Any, slugs: Iterable[str]) -> dict[str, Any]:
    """Return by slug the platforms or workloads that the user may see."""
    return {row.slug: row for row in model.objects.visible_to(user).filter(slug__in=set(slugs))}


def rows_by_slug_disambiguated(model: Any, user: Any, slugs: Iterable[str]) -> dict[str, Any]:
    """Return `rows_by_slug` with labels for equal names (`profiles.identity.name_disambiguation`)."""
    rows = rows_by_slug(model, user, slugs)
    disambiguate(rows.values(), user)
    return rows


def names_by_slug(model: Any, user: Any, slugs: Iterable[str]) -> dict[str, str]:
    """Return by slug the names of the platforms or workloads that the user may see."""
    return dict(model.objects.visible_to(user).filter(slug__in=set(slugs)).values_list("slug", "name"))


def breakpoints_of(target: Platform | None, answer: Mapping[str, Any]) -> Breakpoints:
    """Return the breakpoints of the target's curves, including the changes of a what-if question."""
    if target is None:
        return Breakpoints()
    changes = answer.get("platform_changes") or {}
    return Breakpoints(changes.get("n_nu", target.n_nu), changes.get("n_ht", target.n_ht))


def short_names(names: Mapping[str, str], origin: str) -> dict[str, str]:
    """Return the names without the suffix for the origin, which the title of the figure already shows."""
    mark = f" ({origin})"
    return {slug: name.removesuffix(mark) for slug, name in names.items()}


def number_column(title: str, name: str, term: str = "") -> TableColumn:
    """Return a column for the number that the row dictionaries hold under `name`."""
    return TableColumn(title, lambda row: significant(row.get(name)), kind=NUMBER, term=term)


@dataclass(frozen=True)
class AnswerPart:
    """A section of an answer's page. `id` is the fragment of the URL that opens it."""

    id: str
    title: str

    @property
    def template(self) -> str:
        return f"predictor/answer_{self.id}.html"


def answer_parts(answer: Mapping[str, Any], charts: Sequence[Any], cautions: int) -> list[AnswerPart]:
    """Return the sections with content for this answer. The first one is open."""
    parts = (
        ("changes", "What was changed", bool(answer.get("changes"))),
        ("why", "Why", True),
        ("cautions", "Cautions", cautions > 0),
        ("curves", "Speedup and time breakdown", len(charts) > 1),
        ("candidates", "Evidence", True),
        ("next", "What to measure next", True),
        ("method", "Method and sources", True),
        ("commands", "Command line", True),
    )
    return [AnswerPart(name, title) for name, title, is_shown in parts if is_shown]


@dataclass(frozen=True)
class ShownRefusal:
    """The reason why a question has no answer.

    `action` and `address` are the text and URL of a link to a remedy, or both empty. `suggestions` holds names and URLs
    for a misspelt name. `measured` is the URL of the profile of the pair, which needs no prediction, or empty. `lacks`
    is what the method lacks (`NoPrediction`), or empty.
    """

    sentence: str
    action: str = ""
    address: str = ""
    suggestions: Sequence[tuple[str, str]] = ()
    measured: str = ""
    lacks: str = ""


def shown_refusal(error: RequestError, request: HttpRequest, program: str = "") -> ShownRefusal:
    """Return the reason why the question of the URL or form has no answer. `program` replaces the name of the
    workload."""
    parameters = request.POST if request.method == "POST" else request.GET
    workload, target = parameters.get("workload", program), parameters.get("target", "")
    sentence = refusal_in_names(error, request.user, workload, target)
    if isinstance(error, UnknownName):
        field = error.request_field
        suggestions = suggested_links(error, request, field)
        if not suggestions and field != "method":
            lists = ("All workloads", "workloads") if field == "workload" else ("All machines", "platforms")
            return ShownRefusal(sentence, lists[0], reverse(lists[1]))
        return ShownRefusal(sentence, suggestions=suggestions)
    if not isinstance(error, NoPrediction):
        return ShownRefusal(sentence)
    pair = {"workload__slug": workload, "platform__slug": target}
    profile = Profile.objects.visible_to(request.user).filter(**pair, origin="measured").order_by("-pk").first()
    measured = reverse("profile", args=[profile.uid]) if profile else ""
    return ShownRefusal(sentence, *action_of(error.remedy, request), measured=measured, lacks=error.lacks)


def suggested_links(error: UnknownName, request: HttpRequest, field: str) -> list[tuple[str, str]]:
    """Return the names that may have been meant, each with the URL of the page with this name."""
    model: Any = Workload if field == "workload" else Platform
    slugs = error.suggestions
    rows = model.objects.visible_to(request.user).filter(slug__in=slugs) if field != "method" else ()
    names = {row.slug: row.name for row in rows}
    return [(names.get(slug, slug), changed_address(request, {field: slug})) for slug in slugs]


def action_of(remedy: Remedy | None, request: HttpRequest) -> tuple[str, str]:
    """Return the text and URL of the link to the remedy."""
    if remedy is None:
        return "", ""
    if remedy.kind == MIXED_ORIGINS:
        return "Show simulated profiles", f"{reverse('profiles')}?origin=simulated"
    changes: dict[str, tuple[str, dict[str, str]]] = {
        "simulated": ("Include simulated profiles", {"include_simulated": "true"}),
        "method": (f"Use method {DEFAULT_METHOD}", {"method": DEFAULT_METHOD}),
        "references": ("Use all references", {"references": "", "measured": ""}),
        "settings": ("Mix runtimes", {"mix_runtimes": WIDEST_MIXING}),
        "scenario": ("Predict t(1) alone", {"scenario": "sequential"}),
    }
    if remedy.kind in changes:
        text, parameters = changes[remedy.kind]
        return text, changed_address(request, parameters)
    return ("How to measure", reverse("measure")) if remedy.kind in {"kit", "measure"} else ("", "")


def changed_address(request: HttpRequest, changes: Mapping[str, str]) -> str:
    """Return the URL of the page with changed parameters. It includes the fields of a submitted form."""
    given = request.POST if request.method == "POST" else request.GET
    parameters = {name: given[name] for name in given if given[name] and name != "csrfmiddlewaretoken"}
    path = reverse("predict") if request.path == reverse("predict-possible") else request.path
    return f"{path}?{urlencode({name: value for name, value in {**parameters, **changes}.items() if value})}"


def shown_ranking_refusal(
    question: RankingQuestion, refused: Sequence[Mapping[str, Any]], request: HttpRequest
) -> ShownRefusal | None:
    """Return one refusal for all machines without a rank, or None if all machines are ranked."""
    if not refused:
        return None
    sentence, remedy = ranking_refusal(question, refused, request.user)
    return ShownRefusal(sentence, *action_of(remedy, request))
