from __future__ import annotations

from dataclasses import asdict
from math import isnan
from typing import TYPE_CHECKING, Any

from predictor.core import methods
from predictor.core.answers import Query
from predictor.core.threads import single_thread
from predictor.core.why.influence import Influence, influences_on_answer, predicted_scaling
from profiles.ceilings import roofline_of
from profiles.models import Platform
from profiles.scaling.boundness import boundness
from profiles.scaling.losses import bottlenecks
from profiles.scaling.roofline import Roofline
from profiles.scaling.sentences import limit_sentences

if TYPE_CHECKING:
    from predictor.predictions.basis import Basis

PLAIN_SCENARIOS = ("migration", "scaling")
LARGEST_FACTOR = 10.0
PARAMETERS = {"m": "slope", "b": "offset"}
WITHOUT = {
    "reference": "Without the reference {name}",
    "workload": "Without the benchmark {name} on the target",
    "element": "If the {name} were 0,",
}


def explain(basis: Basis, asked: dict[str, Any]) -> dict[str, Any]:
    """`why` of an answer document: {sentences, carried, bottlenecks, bound}."""
    curves = predicted_scaling(basis.answer)
    carried = influences(basis, asked)
    if curves is None or basis.scenario.name == "sequential":
        return {"sentences": told(carried), "carried": rows(carried), "bottlenecks": [], "bound": None}
    database = basis.snapshot.database
    bends = [float(column[basis.target]) for column in (database.n_nu, database.n_ht)]
    n_nu, n_ht = (None if isnan(bend) else int(bend) for bend in bends)
    roofline = ceilings(database.platforms[basis.target])
    bound = boundness(curves, None, roofline)
    return {
        "sentences": [*limit_sentences(curves, n_nu, n_ht, None, roofline), *told(carried)],
        "carried": rows(carried),
        "bottlenecks": [asdict(one) for one in bottlenecks(curves)],
        "bound": bound and {"kind": bound.kind, "by": bound.by},
    }


def ceilings(target: str) -> Roofline | None:
    """As public deliveries measured them: an answer that is everybody's may not read what is private."""
    platform = Platform.objects.filter(slug=target).first()
    return roofline_of(platform, None) if platform else None


def influences(basis: Basis, asked: dict[str, Any]) -> list[Influence]:
    """Leave-one-out of a plain question alone: sliders ask changed ones many times a second, and baselines may train a
    model for each answer."""
    method = methods.get_method(asked["method"])
    plain = basis.scenario.name in PLAIN_SCENARIOS and not basis.scenario.is_virtual and not method.baseline
    query = Query(
        workload=basis.workload,
        target=basis.target,
        group=basis.groups[0] if basis.groups else None,
        references=basis.references,
    )
    settings = method.settings_from(asked["settings"])
    database = basis.snapshot.database
    with single_thread():
        return influences_on_answer(database, query, method, settings, basis.answer, leave_out=plain)


def rows(carried: list[Influence]) -> list[dict[str, Any]]:
    return [
        {
            "kind": one.kind,
            "name": one.name,
            "share": one.share,
            "change_percent": None if one.change is None else 100 * one.change,
        }
        for one in carried
    ]


def told(carried: list[Influence]) -> list[str]:
    """Of each kind the heaviest and, among those tried, the one whose absence would change most."""
    found = []
    for kind, noun in (("reference", "reference"), ("workload", "benchmark")):
        alike = [one for one in carried if one.kind == kind]
        if alike and alike[0].share is not None:
            found.append(f"The {noun} {alike[0].name} has {alike[0].share:.0%} of the weight of the candidates.")
    tried = [one for one in carried if one.kind != "element" and one.change is not None]
    if tried:
        found.append(change_sentence(max(tried, key=lambda one: abs(one.change or 0.0))))
    elements = [one for one in carried if one.kind == "element" and is_plausible(one.change)]
    if elements:
        found.append(change_sentence(elements[0]))
    return found


def change_sentence(one: Influence) -> str:
    """
    >>> change_sentence(Influence("reference", "p", 0.5, -0.031))
    'Without the reference p the predicted times would be 3.1 % shorter.'
    >>> change_sentence(Influence("workload", "b", 0.5, 1.5))
    'Without the benchmark b on the target the predicted times would be 2.5 times as long.'
    """
    change = one.change or 0.0
    what = "the predicted time at the largest n" if one.kind == "element" else "the predicted times"
    name = spelled_element(one.name) if one.kind == "element" else one.name
    without = f"{WITHOUT[one.kind].format(name=name)} {what} would be"
    if change > 1:
        return f"{without} {1 + change:.3g} times as long."
    return f"{without} {100 * abs(change):.3g} % {'longer' if change > 0 else 'shorter'}."


def spelled_element(name: str) -> str:
    """
    >>> spelled_element("work_imbalance.m"), spelled_element("task_join.b_ht")
    ('slope of the work imbalance', 'offset of the task join beyond n_ht')
    """
    curve, _, element = name.rpartition(".")
    kind, _, breakpoint = element.partition("_")
    beyond = f" beyond n_{breakpoint}" if breakpoint else ""
    return f"{PARAMETERS[kind]} of the {curve.replace('_', ' ')}{beyond}"


def is_plausible(change: float | None) -> bool:
    """Whether an element set to 0 still leaves a time that can be meant: at most ten times as long or as short.

    >>> is_plausible(0.4), is_plausible(1668.091), is_plausible(None)
    (True, False, False)
    """
    return change is not None and 1 / LARGEST_FACTOR <= 1 + change <= LARGEST_FACTOR
