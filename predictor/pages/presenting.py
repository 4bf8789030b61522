"""What the pages about predictions have in common: what their forms offer to choose from, and the pair that they begin
with. What they show of an answer: its sections, which the browser makes tabs of, and the stored rows behind the slugs
that it names. And why there is none: one sentence in names, and one link to what would help or to what was meant."""

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
from profiles.figures import Breakpoints
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name
from profiles.models import Platform, Workload
from profiles.templatetags.quantities import significant

MOST_OFFERED = 150  # of a list to choose from
MOST_NAMES_IN_LIST = 2000  # of a field; any other visible name can be typed
LARGEST_WORKLOADS_SEEN = 64


def mixing_choices(method: str, chosen: str) -> list[tuple[str, bool]]:
    """What `mix_runtimes` may be, and which of it is chosen; empty for a method that has no such setting."""
    kind = typing.get_type_hints(METHODS[method].settings).get("mix_runtimes") if method in METHODS else None
    choices = typing.get_args(kind)
    return [(choice, choice == (chosen or choices[0])) for choice in choices]


def offered_names(model: Any, user: Any, chosen: str, *, scaling: bool = False) -> list[tuple[str, str]]:
    """Slugs and names to choose from, the chosen one among them, those of one name with a label (`disambiguate`);
    `scaling`: of what ran with more than one thread."""
    offered = disambiguate(model.objects.offered_to(user, scaling=scaling)[:MOST_OFFERED], user)
    rows = [(row.slug, disambiguated_name(row)) for row in offered]
    if not chosen or chosen in dict(rows):
        return rows
    (name,) = model.objects.visible_to(user).filter(slug=chosen).values_list("name", flat=True) or (chosen,)
    return [(chosen, name), *rows]


def first_pair(user: Any) -> tuple[str, str]:
    """The workload and the machine that an empty form shows: those of MPET_FIRST_PAIR where the user sees them, else
    the workload with the most profiles that has curves, on the machine that has it and most profiles. Measured profiles
    come before simulated ones; where nothing has a curve, any pair."""
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
    """Whether the workload was measured on two platforms or more, at more than one thread count."""
    rows = database.rows_of_workload(workload)
    lengths = database.curve_offsets[rows + 1] - database.curve_offsets[rows]
    return len(np.unique(database.platform_index[rows[lengths > 1]])) > 1


def asks_for_public(parameters: Mapping[str, str]) -> bool:
    """Whether the check box of a form, or the parameter of an address, asks for public data only."""
    return parameters.get("public_only", "").lower() in {"true", "on", "1"}


def given_parameters(parameters: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Those of these parameters that the address has a value for."""
    return {name: parameters[name] for name in names if parameters.get(name)}


def fastest_point(curve: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The point with the least time; with the largest speedup where only the scaling was asked for."""
    timed = [row for row in curve if row["time_s"] is not None]
    if timed:
        return min(timed, key=lambda row: row["time_s"])
    return max((row for row in curve if row["speedup"] is not None), key=lambda row: row["speedup"], default=None)


def answer_facts(answer: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The fastest point, for a changed question also the fastest one of the baseline and their ratio, the warnings that
    the reasons of the confidence do not repeat, and how many cautions these are together. `names`: of machines, by
    slug."""
    best = fastest_point(answer["curve"])
    before = fastest_point(answer.get("baseline") or [])
    ratio = None
    if best and before and best["time_s"] and before["time_s"]:
        ratio = before["time_s"] / best["time_s"]
    reasons = answer["confidence"].get("reasons", [])
    half_width = answer["confidence"].get("half_width")
    warnings = [in_names(warning, names) for warning in answer["warnings"] if warning not in reasons]
    return {
        "fastest": best,
        "fastest_before": before,
        "times_as_fast": ratio,
        "interval_width": None if half_width is None else width_in_words(half_width),
        "warnings": warnings,
        "cautions": len(reasons) + len(warnings),
    }


def rows_by_slug(model: Any, user: Any, slugs: Iterable[str]) -> dict[str, Any]:
    """The platforms or workloads of these slugs that the user may see."""
    return {row.slug: row for row in model.objects.visible_to(user).filter(slug__in=set(slugs))}


def rows_by_slug_disambiguated(model: Any, user: Any, slugs: Iterable[str]) -> dict[str, Any]:
    """The same, with labels where several have one name (`profiles.identity.name_disambiguation`)."""
    rows = rows_by_slug(model, user, slugs)
    disambiguate(rows.values(), user)
    return rows


def names_by_slug(model: Any, user: Any, slugs: Iterable[str]) -> dict[str, str]:
    """Their names alone."""
    return dict(model.objects.visible_to(user).filter(slug__in=set(slugs)).values_list("slug", "name"))


def breakpoints_of(target: Platform | None, answer: Mapping[str, Any]) -> Breakpoints:
    """The breakpoints of the target's curves, as a what-if changed them."""
    if target is None:
        return Breakpoints()
    changes = answer.get("platform_changes") or {}
    return Breakpoints(changes.get("n_nu", target.n_nu), changes.get("n_ht", target.n_ht))


def short_names(names: Mapping[str, str], origin: str) -> dict[str, str]:
    """Names without the mark of the origin, which the title of a figure says of all of them."""
    mark = f" ({origin})"
    return {slug: name.removesuffix(mark) for slug, name in names.items()}


def number_column(title: str, name: str, term: str = "") -> TableColumn:
    """A column for a number that the rows, which are dictionaries, have by this name."""
    return TableColumn(title, lambda row: significant(row.get(name)), kind=NUMBER, term=term)


@dataclass(frozen=True)
class AnswerPart:
    """`id` is what a link behind # opens."""

    id: str
    title: str

    @property
    def template(self) -> str:
        return f"predictor/answer_{self.id}.html"


def answer_parts(answer: Mapping[str, Any], charts: Sequence[Any], cautions: int) -> list[AnswerPart]:
    """Those that have something to show for this answer, the first of which is open."""
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
    """`action` and `address` of a link, both empty where nothing helps; `suggestions`: names and addresses of what a
    misspelt name may have meant."""

    sentence: str
    action: str = ""
    address: str = ""
    suggestions: Sequence[tuple[str, str]] = ()


def shown_refusal(error: RequestError, request: HttpRequest, program: str = "") -> ShownRefusal:
    """Why the question of the page's address, or of its form, has no answer; `program`: what it is about, in place of a
    workload."""
    asked = request.POST if request.method == "POST" else request.GET
    workload, target = asked.get("workload", program), asked.get("target", "")
    sentence = refusal_in_names(error, request.user, workload, target)
    if isinstance(error, UnknownName):
        field = error.request_field
        suggestions = suggested_links(error, request, field)
        if not suggestions and field != "method":
            lists = ("All workloads", "workloads") if field == "workload" else ("All machines", "platforms")
            return ShownRefusal(sentence, lists[0], reverse(lists[1]))
        return ShownRefusal(sentence, suggestions=suggestions)
    remedy = error.remedy if isinstance(error, NoPrediction) else None
    return ShownRefusal(sentence, *action_of(remedy, request))


def suggested_links(error: UnknownName, request: HttpRequest, field: str) -> list[tuple[str, str]]:
    """What may have been meant, by name, each with the page's address that asks for it."""
    model: Any = Workload if field == "workload" else Platform
    slugs = error.suggestions
    rows = model.objects.visible_to(request.user).filter(slug__in=slugs) if field != "method" else ()
    names = {row.slug: row.name for row in rows}
    return [(names.get(slug, slug), changed_address(request, {field: slug})) for slug in slugs]


def action_of(remedy: Remedy | None, request: HttpRequest) -> tuple[str, str]:
    """Text and address of the link that does what would help."""
    if remedy is None:
        return "", ""
    if remedy.kind == MIXED_ORIGINS:
        return "Show simulated ones", f"{reverse('profiles')}?origin=simulated"
    changes: dict[str, tuple[str, dict[str, str]]] = {
        "simulated": ("Use simulated profiles too", {"include_simulated": "true"}),
        "method": (f"Ask {DEFAULT_METHOD}", {"method": DEFAULT_METHOD}),
        "references": ("Use all references", {"references": ""}),
        "settings": ("Mix runtimes", {"mix_runtimes": WIDEST_MIXING}),
        "scenario": ("Ask for t(1) alone", {"scenario": "sequential"}),
    }
    if remedy.kind in changes:
        text, parameters = changes[remedy.kind]
        return text, changed_address(request, parameters)
    return ("How to measure", reverse("measure")) if remedy.kind in {"kit", "measure"} else ("", "")


def changed_address(request: HttpRequest, changes: Mapping[str, str]) -> str:
    """The page's address with other parameters; those of a form that was sent are in it."""
    asked = request.POST if request.method == "POST" else request.GET
    parameters = {name: asked[name] for name in asked if asked[name] and name != "csrfmiddlewaretoken"}
    path = reverse("predict") if request.path == reverse("predict-possible") else request.path
    return f"{path}?{urlencode({name: value for name, value in {**parameters, **changes}.items() if value})}"


def shown_ranking_refusal(
    question: RankingQuestion,
    refused: Sequence[Mapping[str, Any]],
    request: HttpRequest,
) -> ShownRefusal | None:
    """One line about all machines without a place; None where each has one."""
    if not refused:
        return None
    sentence, remedy = ranking_refusal(question, refused, request.user)
    return ShownRefusal(sentence, *action_of(remedy, request))
