"""Why an answer is what it is: which candidates it rests on, where the threads' time goes, what bounds the workload."""

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
LARGEST_PLAUSIBLE_FACTOR = 10.0
PARAMETERS = {"m": "slope", "b": "offset"}
WITHOUT = {
    "reference": "Without the reference {name}",
    "workload": "Without the benchmark {name} on the target",
    "element": "If the {name} were 0,",
}


def explain(basis: Basis, request: dict[str, Any]) -> dict[str, Any]:
    """`why` of an answer document: {sentences, carried, bottlenecks, bound}."""
    curves = predicted_scaling(basis.answer)
    carried = influences(basis, request)
    if curves is None or basis.scenario.name == "sequential":
        return {
            "sentences": influence_sentences(carried),
            "carried": influence_documents(carried),
            "bottlenecks": [],
            "bound": None,
        }
    database = basis.snapshot.database
    bends = [float(column[basis.target]) for column in (database.n_nu, database.n_ht)]
    n_nu, n_ht = (None if isnan(bend) else int(bend) for bend in bends)
    roofline = public_roofline(database.platforms[basis.target])
    bound = boundness(curves, None, roofline)
    return {
        "sentences": [*limit_sentences(curves, n_nu, n_ht, None, roofline), *influence_sentences(carried)],
        "carried": influence_documents(carried),
        "bottlenecks": [asdict(bottleneck) for bottleneck in bottlenecks(curves)],
        "bound": bound and {"kind": bound.kind, "by": bound.by},
    }


def public_roofline(target: str) -> Roofline | None:
    """The roofline that public deliveries measured: an answer that everybody reads may not use what is private."""
    platform = Platform.objects.filter(slug=target).first()
    return roofline_of(platform, None) if platform else None


def influences(basis: Basis, request: dict[str, Any]) -> list[Influence]:
    """What the answer rests on. Only plain questions are answered again with one thing left out: sliders ask changed
    questions many times a second, and baselines may train a model for each answer."""
    method = methods.get_method(request["method"])
    plain = basis.scenario.name in PLAIN_SCENARIOS and not basis.scenario.is_virtual and not method.baseline
    query = Query(
        workload=basis.workload,
        target=basis.target,
        group=basis.groups[0] if basis.groups else None,
        references=basis.references,
    )
    settings = method.settings_from(request["settings"])
    database = basis.snapshot.database
    with single_thread():
        return influences_on_answer(database, query, method, settings, basis.answer, leave_out=plain)


def influence_documents(carried: list[Influence]) -> list[dict[str, Any]]:
    return [
        {
            "kind": influence.kind,
            "name": influence.name,
            "share": influence.share,
            "change_percent": None if influence.change is None else 100 * influence.change,
        }
        for influence in carried
    ]


def influence_sentences(carried: list[Influence]) -> list[str]:
    """Sentences about the heaviest influence of each kind, and about the one whose absence would change most."""
    lines = []
    for kind, noun in (("reference", "reference"), ("workload", "benchmark")):
        alike = [influence for influence in carried if influence.kind == kind]
        if alike and alike[0].share is not None:
            lines.append(f"The {noun} {alike[0].name} has {alike[0].share:.0%} of the weight of the candidates.")
    tried = [influence for influence in carried if influence.kind != "element" and influence.change is not None]
    if tried:
        lines.append(change_sentence(max(tried, key=lambda influence: abs(influence.change or 0.0))))
    elements = [influence for influence in carried if influence.kind == "element" and is_plausible(influence.change)]
    if elements:
        lines.append(change_sentence(elements[0]))
    return lines


def change_sentence(influence: Influence) -> str:
    """
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
    return change is not None and 1 / LARGEST_PLAUSIBLE_FACTOR <= 1 + change <= LARGEST_PLAUSIBLE_FACTOR
