"""Explanations of answers: the attribution to candidates, the time breakdown, and what limits the workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import Annotated, Any, Literal, TypedDict

from predictor.core.steps import single_thread
from predictor.core.why.influence import Influence, influences_on_answer, predicted_scaling
from predictor.predictions.question import Basis
from profiles.models import Platform
from profiles.pages.ceilings import machine_facts
from profiles.scaling.limits import LimitsDocument, limits_document
from profiles.scaling.roofline import MachineFacts
from profiles.scaling.wording import whole_percent

PLAIN_SCENARIOS = ("migration", "scaling")
LARGEST_PLAUSIBLE_FACTOR = 10.0
EFFECTS = {"m": "growth of the {part} with n", "m_nu": "effect of a second NUMA node on the {part}"}
WITHOUT = {
    "reference": "Without the reference {name}",
    "workload": "Without the benchmark {name} on the target",
    "element": "Without the {name},",
}


# Version of the rules that write `why`. Raise it when they change. Version 1 counted SMT redundancy as memory, 2 did
# not order by weight, and 3 left out three influences of each kind in turn.
WHY_VERSION = "4"


class InfluenceDocument(TypedDict):
    kind: Literal["reference", "workload", "element"]
    name: str
    share: Annotated[float | None, "Share of the candidates' weight; null for an element."]
    change_percent: Annotated[
        float | None,
        (
            "Change of the predicted times in percent without this influence, mean over n (element: at "
            "the largest n), for the heaviest of each kind. null: no answer without it, a change beyond "
            "a factor of ten, or not the heaviest."
        ),
    ]


class WhyDocument(LimitsDocument):
    version: Annotated[str, "Version of the rules."]
    carried: list[InfluenceDocument]


class PredictionReasons(WhyDocument):
    revision: Annotated[int, "Revision of the data that the reasons are based on."]
    note: Annotated[
        str | None, "Note that the reasons refer to the current answer; null if they refer to the prediction."
    ]


def explain(basis: Basis) -> dict[str, Any]:
    """Return `why` of an answer document, as a `WhyDocument`."""
    curves = predicted_scaling(basis.answer)
    carried = influences(basis)
    limits: dict[str, Any] = {"sentences": [], "bottlenecks": [], "bound": None}
    lost_share = 0.0
    if curves is not None and basis.query.scenario.name != "sequential":
        limits = limits_document(curves, public_facts(basis), predicted=True)
        # This is the share of the thread time at the largest n that an ideal speedup would not need.
        lost_share = max(0.0, 1 - float(curves.t1_s / curves.time_s[-1]) / int(curves.n[-1]))
    return {
        **limits,
        "version": WHY_VERSION,
        "sentences": by_weight(influence_sentences(carried), limits["sentences"], lost_share),
        "carried": influence_documents(carried),
    }


def public_facts(basis: Basis) -> MachineFacts:
    """Return the public facts about the target. An answer may be public, so it must not use ceilings of private
    deliveries.

    The breakpoints are those of the query, which may ask for a changed platform.
    """
    database = basis.snapshot.database
    bends = [float(column[basis.query.target]) for column in (database.n_nu, database.n_ht)]
    n_nu, n_ht = (None if isnan(bend) else int(bend) for bend in bends)
    platform = Platform.objects.filter(slug=database.platforms[basis.query.target]).first()
    facts = machine_facts(platform, None) if platform else MachineFacts()
    return replace(facts, n_nu=n_nu, n_ht=n_ht)


def influences(basis: Basis) -> list[Influence]:
    """Return the influences on the answer.

    Only plain scenarios are predicted again with one input left out: sliders request changed scenarios many times a
    second, baselines may train a model for each answer, and a prediction in two steps would repeat the first one.
    """
    scenario, method = basis.query.scenario, basis.query.method
    plain = scenario.name in PLAIN_SCENARIOS and not scenario.is_virtual and not method.baseline
    plain &= not len(basis.answer.rows_of_first_step)
    query = replace(basis.query, group=basis.groups[0] if basis.groups else None, n=None)
    with single_thread():
        return influences_on_answer(
            basis.snapshot.database, query, method, query.settings, basis.answer, leave_out=plain
        )


def influence_documents(carried: list[Influence]) -> list[dict[str, Any]]:
    return [
        {
            "kind": influence.kind,
            "name": influence.name,
            "share": influence.share,
            "change_percent": (
                100 * influence.change if influence.change is not None and is_plausible(influence.change) else None
            ),
        }
        for influence in carried
    ]


def by_weight(influences: Sequence[tuple[float, str]], limits: Sequence[str], lost: float) -> list[str]:
    """Return all sentences, the three most important ones first, by falling weight.

    These are the first limit, weighted by the share of the lost time, and the two heaviest influences, weighted by
    their share or by the change without them.
    """
    heaviest = [*((lost, sentence) for sentence in limits[:1]), *influences[:2]]
    leading = [sentence for _, sentence in sorted(heaviest, key=lambda one: -one[0])]
    return [*leading, *limits[1:], *(sentence for _, sentence in influences[2:])]


def influence_sentences(carried: list[Influence]) -> list[tuple[float, str]]:
    """Return (weight, sentence) of the heaviest influence of each kind, and of the one with the largest change when it
    is left out."""
    lines = []
    for kind, noun in (("reference", "reference"), ("workload", "benchmark")):
        first = next((influence for influence in carried if influence.kind == kind), None)
        if first is not None and first.share is not None:
            sentence = f"The {noun} {first.name} has {whole_percent(first.share)} of the total weight."
            lines.append((abs(first.share), sentence))
    meant = [influence for influence in carried if is_plausible(influence.change)]
    tried = [influence for influence in meant if influence.kind != "element"]
    if tried:
        most = max(tried, key=lambda influence: abs(influence.change or 0.0))
        lines.append((abs(most.change or 0.0), change_sentence(most)))
    elements = [influence for influence in meant if influence.kind == "element"]
    if elements:
        lines.append((abs(elements[0].change or 0.0), change_sentence(elements[0])))
    return sorted(lines, key=lambda line: -line[0])


def change_sentence(influence: Influence) -> str:
    """Return a sentence about the change of the times without this influence.

    >>> change_sentence(Influence("reference", "p", 0.5, -0.031))
    'Without the reference p the predicted times would be 3.1 % shorter.'
    >>> change_sentence(Influence("workload", "b", 0.5, 1.5))
    'Without the benchmark b on the target the predicted times would be 2.5 times as long.'
    """
    change = influence.change or 0.0
    what = "the predicted time at the largest n" if influence.kind == "element" else "the predicted times"
    name = spelled_element(influence.name) if influence.kind == "element" else influence.name
    without = f"{WITHOUT[influence.kind].format(name=name)} {what} would be"
    if change > 1:
        return f"{without} {1 + change:.3g} times as long."
    return f"{without} {100 * abs(change):.3g} % {'longer' if change > 0 else 'shorter'}."


def spelled_element(name: str) -> str:
    """Return the name of an element in words.

    >>> spelled_element("work_imbalance.m"), spelled_element("task_join.m_nu")
    ('growth of the work imbalance with n', 'effect of a second NUMA node on the task join')
    """
    part, _, element = name.rpartition(".")
    return EFFECTS[element].format(part=part.replace("_", " ")) if element in EFFECTS else name


def is_plausible(change: float | None) -> bool:
    """Return whether a relative change is plausible: the time is at most ten times as long or as short.

    >>> is_plausible(0.4), is_plausible(1668.091), is_plausible(None)
    (True, False, False)
    """
    return change is not None and 1 / LARGEST_PLAUSIBLE_FACTOR <= 1 + change <= LARGEST_PLAUSIBLE_FACTOR
