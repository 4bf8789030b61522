"""What pages show of an answer: its sections, which the browser makes tabs of, and the stored rows behind the slugs
that it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from predictor.predictions.confidence import width_in_words
from predictor.predictions.feasibility import in_names
from profiles.figures import Breakpoints
from profiles.identity.name_disambiguation import disambiguate
from profiles.models import Platform


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


@dataclass(frozen=True)
class AnswerPart:
    """`id` is what a link behind # opens."""

    id: str
    title: str

    @property
    def template(self) -> str:
        return f"predictor/answer_{self.id.replace('-', '_')}.html"


CHANGES_PART = AnswerPart("changes", "What was changed")
WHY_PART = AnswerPart("why", "Why")
CAUTIONS_PART = AnswerPart("cautions", "Cautions")
CURVES_PART = AnswerPart("curves", "Speedup and time breakdown")
CANDIDATES_PART = AnswerPart("candidates", "Evidence")
NEXT_PART = AnswerPart("next", "What to measure next")
METHOD_PART = AnswerPart("method", "Method and sources")
COMMANDS_PART = AnswerPart("commands", "Command line")


def answer_parts(answer: Mapping[str, Any], charts: Sequence[Any], cautions: int) -> list[AnswerPart]:
    """Those that have something to show for this answer, the first of which is open."""
    shown = {
        CHANGES_PART: bool(answer.get("changes")),
        WHY_PART: True,
        CAUTIONS_PART: cautions > 0,
        CURVES_PART: len(charts) > 1,
        CANDIDATES_PART: True,
        NEXT_PART: True,
        METHOD_PART: True,
        COMMANDS_PART: True,
    }
    return [part for part, is_shown in shown.items() if is_shown]
