"""Asking a long question: answered at once where it is known or quick, else with how far it is.

The examples of the front page are such a question: computed after start and after each change of the database.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction

from predictor.computations.running import LongQuestion, stored_values
from predictor.core.steps import ComputedStep, single_thread, steps_within
from predictor.models import Computation
from predictor.predictions.showcase import ShowcaseQuestion
from profiles.jobs.queue import begin_soon
from profiles.models import Revision

KEPT_ANSWERS = 64  # of a snapshot, of those that were computed in a request
ANSWER_LAYOUT = 4  # raised when a stored answer of any kind changes shape


@dataclass(frozen=True)
class LongAnswer:
    """What is known of it: `document` is the whole one where it `is_computed`, that of an earlier revision where it
    `is_outdated`, else that so far, or None. `is_full`: no further computation is taken now, or none of whoever asks.
    """

    document: Mapping[str, Any] | None
    is_computed: bool = False
    is_outdated: bool = False
    is_full: bool = False
    has_begun: bool = True
    has_failed: bool = False
    done: int = 0
    total: int = 0


def ask(question: LongQuestion, user: Any, *, may_enqueue: Callable[[], bool] = lambda: True) -> LongAnswer:
    """The answer: known, or computed in MPET_REQUEST_SECONDS; else a computation is under way behind the request, one
    for all who ask. `may_enqueue` is asked before a new one is begun."""
    viewer = user if question.snapshot.holds_private else None
    key = question_key(question, viewer)
    kept: OrderedDict[str, dict[str, Any]] = question.snapshot.database.derive(("computed",), OrderedDict)
    if key in kept:
        return LongAnswer(kept[key], is_computed=True)
    computation = Computation.objects.filter(question_key=key, **revisions(question)).first()
    if computation is not None:
        return answer_of(computation)
    if Computation.objects.unfinished().count() >= settings.COMPUTATIONS_WAITING:
        return LongAnswer(None, is_full=True)
    # What can be computed in a request is kept in this process; what cannot is stored as far as it is.
    with single_thread():
        step, is_whole = steps_within(question.steps(), settings.REQUEST_SECONDS)
    if is_whole and step is not None:
        kept[key] = step.document()
        while len(kept) > KEPT_ANSWERS:
            kept.popitem(last=False)
        return LongAnswer(kept[key], is_computed=True)
    if not may_enqueue():
        return LongAnswer(None, is_full=True)
    return answer_of(enqueue(question, viewer, key, step))


def question_key(question: LongQuestion, viewer: Any) -> str:
    """What is computed from public rows alone is shared; the rest belongs to its viewer."""
    parts = [ANSWER_LAYOUT, question.kind, question.canonical(), viewer and viewer.pk]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def revisions(question: LongQuestion) -> dict[str, int]:
    snapshot = question.snapshot
    own = snapshot.private_revision if snapshot.holds_private else 0
    return {"revision": snapshot.database.revision, "own_revision": own}


def answer_of(computation: Computation) -> LongAnswer:
    earlier = None if computation.is_done else computation.earlier_answer()
    return LongAnswer(
        document=computation.document if earlier is None else earlier.document,
        is_computed=computation.is_done,
        is_outdated=earlier is not None,
        has_begun=computation.attempts > 0,
        has_failed=computation.has_failed,
        done=computation.done,
        total=computation.total,
    )


def enqueue(question: LongQuestion, viewer: Any, key: str, step: ComputedStep | None = None) -> Computation:
    """Its computation, which is begun where there is none; `step`: how far it is already."""
    values = {"kind": question.kind, "question": question.canonical(), "private_to": viewer}
    if step is not None:
        values |= stored_values(step)
    with transaction.atomic():
        computation, is_new = Computation.objects.get_or_create(
            question_key=key, **revisions(question), defaults=values
        )
        if is_new:
            transaction.on_commit(partial(begin_soon, "computations"))
    return computation


def request_showcase() -> None:
    """Have the examples computed for the newest revision, unless they are or will be. A periodic task."""
    public, _ = Revision.current()
    if not Computation.objects.filter(kind=ShowcaseQuestion.kind, revision=public).exists():
        question = ShowcaseQuestion.of_public()
        enqueue(question, None, question_key(question, None))


def read_showcase() -> list[dict[str, Any]]:
    """The answers to show, the most confident first: the newest that were computed since something was taken away."""
    oldest, _ = Revision.oldest()
    done = Computation.objects.filter(
        kind=ShowcaseQuestion.kind, status=Computation.Status.DONE, private_to=None, revision__gte=oldest
    )
    newest = done.order_by("-revision", "-pk").first()
    document = newest and newest.document
    return list(document["examples"]) if document else []
