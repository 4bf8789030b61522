"""Feasibility: whether a prediction is possible, before it is computed, and what would make it possible.

It is checked for the form, for the API, and for all targets of a workload at once. The core's checks decide, so that
the result agrees with the later prediction.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np

from mpet_site.web.parameters import SLUG_PATTERN
from predictor.core.assembly import SIMULATED
from predictor.core.database import Database
from predictor.core.scenarios import ScenarioQuery
from predictor.predictions.advice import (
    MIXED_ORIGINS,
    absent_platforms,
    complete_refusal,
    left_out_outliers,
    remedy_for_all,
)
from predictor.predictions.question import (
    DEFAULT_METHOD,
    InvalidField,
    InvalidSettings,
    NoPrediction,
    PredictionRequest,
    Remedy,
    RequestError,
    UnknownName,
    position_named,
    refusal_of_query,
    registered_method,
    resolve_with_snapshot,
    workload_snapshot,
)
from predictor.predictions.ranking_rows import REASONS_OF_ORIGIN
from predictor.predictions.rankings import RankingQuestion, summarise_refused
from predictor.predictions.sliders import title_of
from profiles.models import Platform, Profile, Workload

REASONS = {
    "reference": "{workload} was measured on no other machine",
    "benchmark": "no other workload was measured on {target}",
    "shared": "{target} shares no workload with the machines where {workload} was measured",
    "comparable": "no profile of {target} is comparable with those where {workload} was measured",
}


@dataclass(frozen=True)
class ConnectingProfiles:
    """The numbers of profiles that connect the workload and the target."""

    references: Annotated[int, "Number of platforms with the workload."]
    benchmarks: Annotated[int, "Number of other workloads on the target."]
    shared: Annotated[int, "Number of these that also have a profile on a reference."]
    connecting: Annotated[int, "Number of profiles of these on references."]
    measured: Annotated[int, "Number of profiles of the pair itself, which are not used."]


class RemedyDocument(TypedDict):
    kind: Annotated[str, "kit, measure, or the part of the request to change."]
    platform: Annotated[str | None, "Platform on which to run the command."]
    command: Annotated[str | None, "Command to run in the folder of the benchmark kit."]
    shares_with: Annotated[str | None, "Platform that then shares workloads with it."]
    shared_workloads: int | None


class FeasibleTargetsDocument(TypedDict):
    platforms: Annotated[int, "Number of platforms where the workload was not measured."]
    feasible: Annotated[int, "Number of these on which it can be predicted."]
    measured: Annotated[int, "Number of platforms where the workload was measured."]
    lacks: Annotated[dict[str, int], "Number of the other platforms per missing item."]


class FeasibilityDocument(TypedDict):
    """The feasibility for one target, or counted over all targets."""

    workload: str
    target: Annotated[str | None, "Requested target; null if none was given: `targets` counts all platforms."]
    method: str
    scenario: str
    possible: Annotated[bool, "Whether the prediction is possible; without a target, on at least one platform."]
    reason: Annotated[str | None, "Reason of the refusal, as in the response of a prediction."]
    lacks: Annotated[str | None, "Reason as a keyword."]
    evidence: ConnectingProfiles | None
    targets: FeasibleTargetsDocument | None
    advice: Annotated[str | None, "Suggested remedy, a sentence without its full stop."]
    remedy: RemedyDocument | None


@dataclass(frozen=True)
class Feasibility:
    """The feasibility of one request: it can be answered if `refusal` is None."""

    workload: str
    target: str
    method: str
    scenario: str
    evidence: ConnectingProfiles
    refusal: NoPrediction | None

    def document(self) -> dict[str, Any]:
        refusal = self.refusal
        asked = {name: getattr(self, name) for name in ("workload", "target", "method", "scenario")}
        return asked | {
            "possible": refusal is None,
            "reason": refusal and refusal.reason,
            "lacks": (refusal and refusal.lacks) or None,
            "evidence": vars(self.evidence),
            "targets": None,
            **advice_members(None if refusal is None else refusal.remedy),
        }


def advice_members(remedy: Remedy | None) -> dict[str, Any]:
    """Return the members `advice` and `remedy`, which answers and problem documents share."""
    return {"advice": remedy and remedy.sentence, "remedy": remedy and remedy.document()}


def feasibility(request: PredictionRequest, user: Any) -> Feasibility:
    """Return whether `predict` can answer this request, with a remedy if it cannot. Raises a RequestError if a name or
    a value is invalid."""
    query, snapshot = resolve_with_snapshot(request, user)
    refusal = refusal_of_query(query, snapshot)
    if refusal is not None:
        complete_refusal(refusal, query, snapshot, request.viewer(user))
    return Feasibility(
        workload=snapshot.database.workloads[query.workload],
        target=snapshot.database.platforms[query.target],
        method=query.method.name,
        scenario=query.scenario.name,
        evidence=count_connecting(snapshot.database, query),
        refusal=refusal,
    )


def count_connecting(database: Database, query: ScenarioQuery) -> ConnectingProfiles:
    """Return the numbers of profiles that a prediction could use."""
    workload, target = query.workload, query.target
    rows_a, rows_t = database.rows_of_workload(workload), database.rows_of_platform(target)
    platforms = np.unique(database.platform_index[rows_a])
    if query.references is not None:
        platforms = platforms[np.isin(platforms, query.references)]
    platforms = platforms[platforms != target]
    workloads = np.unique(database.workload_index[rows_t])
    workloads = workloads[workloads != workload]
    connects = np.isin(database.platform_index, platforms) & np.isin(database.workload_index, workloads)
    connects &= ~database.hidden
    return ConnectingProfiles(
        references=len(platforms),
        benchmarks=len(workloads),
        shared=len(np.unique(database.workload_index[connects])),
        connecting=int(np.count_nonzero(connects)),
        measured=int(np.count_nonzero(database.workload_index[rows_t] == workload)),
    )


def feasible_targets(
    workload: str, user: Any, *, method: str = DEFAULT_METHOD, include_simulated: bool = False
) -> dict[str, Any]:
    """Count the platforms without the workload on which it can be predicted, and find a remedy for most of the others.
    Returns a `FeasibilityDocument`.

    Raises a RequestError, also for a method that cannot check all platforms at once.
    """
    chosen = registered_method(method)
    if chosen.lacks_by_target is None:
        raise InvalidField("method", f"{method} checks one target per request; name a target")
    snapshot = workload_snapshot(workload, user, include_simulated=include_simulated)
    database = snapshot.database
    index = position_named(workload, database, user)
    has_profile = np.bincount(database.platform_index, minlength=len(database.platforms)) > 0
    has_workload = np.zeros(len(database.platforms), dtype=bool)
    has_workload[database.platform_index[database.rows_of_workload(index)]] = True
    wanted = np.flatnonzero(has_profile & ~has_workload)
    words = chosen.lacks_by_target(database, index)
    lacking = {database.platforms[p]: words[p] for p in wanted.tolist() if words[p]}
    return {
        "workload": database.workloads[index],
        "target": None,
        "method": method,
        "scenario": "migration",
        "possible": len(wanted) > len(lacking),
        "reason": None,
        "lacks": None,
        "evidence": None,
        "targets": {
            "platforms": len(wanted),
            "feasible": len(wanted) - len(lacking),
            "measured": int(has_workload.sum()),
            "lacks": dict(sorted(Counter(lacking.values()).items())),
        },
        **advice_members(remedy_for_all(snapshot, index, lacking, user)),
    }


def refusal_in_names(error: RequestError, user: Any, workload: str, target: str) -> str:
    """Return one sentence with the reason of the refusal and the remedy. It has the names of platforms and workloads
    instead of their slugs."""
    if isinstance(error, UnknownName):
        return f"There is no {error.noun} “{error.name}”."
    if isinstance(error, InvalidSettings):
        # Pages have a label for each member of the request, such as `platform_changes.n_nu`.
        return finished_sentence(f"{title_of(error.name.rpartition('.')[2])}: {error.reason}")
    if not isinstance(error, NoPrediction):
        return finished_sentence(str(error))
    remedy = error.remedy
    names = names_of((workload, target, *named_by(remedy)), user)
    if remedy is not None and remedy.kind == MIXED_ORIGINS:
        return finished_sentence(in_names(remedy.sentence, names))
    reason = REASONS.get(error.lacks, "").format(workload=workload, target=target) or error.reason
    if error.left_out:
        reason = error.reason
    helps = f": {remedy.sentence}" if remedy else ""
    return finished_sentence(in_names(reason + helps, names))


def ranking_refusal(
    question: RankingQuestion, refused: Sequence[Mapping[str, Any]], user: Any
) -> tuple[str, Remedy | None]:
    """Return one sentence about all platforms that are not ranked, and the remedy that helps most of them."""
    snapshot, workload = question.snapshot, question.snapshot.database.workloads[question.workload]
    mixed, word = platforms_of_other_origin(question, refused, user)
    left_out = ""
    if mixed:
        many = f"1 {word} machine is" if len(mixed) == 1 else f"{len(mixed):,} {word} machines are"
        left_out = f"Simulated and measured machines are never mixed: {many} left out here. "
        refused = [row for row in refused if row["platform"] not in mixed]
    show_others = Remedy(MIXED_ORIGINS, left_out) if mixed and word == "simulated" else None
    if not refused:
        return left_out.strip(), show_others
    lacking = {row["platform"]: row["lacks"] for row in refused}
    remedy = remedy_for_all(snapshot, question.workload, lacking, user)
    (first, *others) = summarise_refused(refused)
    reason = first["reason"] if first["lacks"] else refused[0]["reason"]
    machines = "1 machine has" if len(refused) == 1 else f"{len(refused):,} machines have"
    mostly = ", most of them because " if others else ": "
    names = names_of((workload, *named_by(remedy), *list(lacking)[:2]), user)
    helps = f". {remedy.sentence[:1].upper()}{remedy.sentence[1:]}" if remedy else ""
    return left_out + finished_sentence(
        in_names(f"{machines} no prediction{mostly}{reason}{helps}", names)
    ), remedy or show_others


def platforms_of_other_origin(
    question: RankingQuestion, refused: Sequence[Mapping[str, Any]], user: Any
) -> tuple[set[str], str]:
    """Return the refused platforms that only have profiles of the other origin than the workload, and that origin:
    simulated or measured."""
    snapshot = question.snapshot
    is_simulated = bool(snapshot.is_simulated[snapshot.database.rows_of_workload(question.workload)].any())
    # These platforms have no row in the snapshot.
    absent = absent_platforms(snapshot).intersection(row["platform"] for row in refused)
    other = Profile.objects.candidates_for(user).filter(platform__slug__in=absent)
    other = other.filter(origin="measured") if is_simulated else other.filter(origin__in=SIMULATED)
    found = set(other.values_list("platform__slug", flat=True)) if absent else set()
    return found, "measured" if is_simulated else "simulated"


def named_by(remedy: Remedy | None) -> list[str]:
    return [slug for slug in (remedy.platform, remedy.shares_with) if slug] if remedy else []


def names_of(slugs: Iterable[str], user: Any) -> dict[str, str]:
    """Return the names of these workloads and platforms by slug."""
    wanted = set(slugs)
    rows = [model.objects.visible_to(user).filter(slug__in=wanted) for model in (Workload, Platform)]
    return {slug: name for found in rows for slug, name in found.values_list("slug", "name")}


def in_names(text: str, names: Mapping[str, str]) -> str:
    """Replace the slugs in the text by names.

    >>> in_names("run it on laptop-2 and laptop", {"laptop": "My laptop"})
    'run it on laptop-2 and My laptop'
    """
    return re.sub(SLUG_PATTERN, lambda match: names.get(match[0], match[0]), text)


def finished_sentence(text: str) -> str:
    """Capitalise the text and end it with a full stop.

    >>> finished_sentence("no workload 'x'"), finished_sentence("Choose one.")
    ("No workload 'x'.", 'Choose one.')
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def described_ranking(question: RankingQuestion, ranking: Mapping[str, Any], user: Any) -> dict[str, Any]:
    """Return the ranking with a summary of the refusals and a remedy for most of the refused platforms.

    The remedy depends on the viewer, so it is not part of the ranking, which several viewers may share.
    """
    lacking = {row["platform"]: row["lacks"] for row in ranking["refused"]}
    refused = [dict(row) for row in ranking["refused"]]
    mixed, word = platforms_of_other_origin(question, refused, user)
    for row in refused:
        if row["platform"] in mixed and row["lacks"] == "benchmark":
            row["reason"] = REASONS_OF_ORIGIN[word]
    if "reference" in lacking.values():
        left_out = left_out_outliers(question.snapshot.database, question.part_slugs, None, "reference", user)
        for row in refused if left_out else ():
            if row["lacks"] == "reference":
                row["reason"] += f"; excluded outliers: {left_out}"
    remedy = remedy_for_all(question.snapshot, question.workload, lacking, user)
    return {
        **ranking,
        "refused": refused,
        "refused_summary": summarise_refused(refused),
        "advice": None if remedy is None else remedy.sentence,
    }
