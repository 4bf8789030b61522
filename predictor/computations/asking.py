"""Long questions: answered at once if the answer is known or quick to compute, else with the progress of a computation.

The examples of the front page are such a question. They are computed after start and after each change of the database.
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
from profiles.jobs.queue import begin_in_background
from profiles.models import Revision

KEPT_ANSWERS = 64  # per snapshot, of the answers that were computed in a request
ANSWER_LAYOUT = 4  # raise it when a stored answer of any kind changes shape


@dataclass(frozen=True)
class LongAnswer:
    """The state of a long answer.

    `document` is the whole answer if `is_computed`, the answer of an earlier revision if `is_outdated`, else the answer
    so far, or None. `is_full` means that no further computation is accepted, from all users or from this one.
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
    """Return the answer if it is known or can be computed within MPET_REQUEST_SECONDS. Otherwise enqueue a computation,
    which all users with this question share, and return its state.

    `may_enqueue` is called before a new computation is enqueued.
    """
    viewer = user if question.snapshot.holds_private else None
    key = question_key(question, viewer)
    answers: OrderedDict[str, dict[str, Any]] = question.snapshot.database.derive(("computed",), OrderedDict)
    if key in answers:
        return LongAnswer(answers[key], is_computed=True)
    computation = Computation.objects.filter(question_key=key, **revisions(question)).first()
    if computation is not None:
        return answer_of(computation)
    if Computation.objects.unfinished().count() >= settings.COMPUTATIONS_WAITING:
        return LongAnswer(None, is_full=True)
    # Answers that are computed within the request are cached in this process. Otherwise the answer so far is stored.
    with single_thread():
        step, is_whole = steps_within(question.steps(), settings.REQUEST_SECONDS)
    if is_whole and step is not None:
        answers[key] = step.document()
        while len(answers) > KEPT_ANSWERS:
            answers.popitem(last=False)
        return LongAnswer(answers[key], is_computed=True)
    if not may_enqueue():
        return LongAnswer(None, is_full=True)
    return answer_of(enqueue(question, viewer, key, step))


def question_key(question: LongQuestion, viewer: Any) -> str:
    """Return the key of the question. Answers from public rows alone are shared, any other answer belongs to its
    viewer."""
    parts = [ANSWER_LAYOUT, question.kind, question.canonical(), viewer and viewer.pk]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def revisions(question: LongQuestion) -> dict[str, int]:
    snapshot = question.snapshot
    private = snapshot.private_revision if snapshot.holds_private else 0
    return {"revision": snapshot.database.revision, "own_revision": private}


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
    """Return the computation of the question, which is enqueued if there is none. `step` is its last step so far."""
    values = {"kind": question.kind, "question": question.canonical(), "private_to": viewer}
    if step is not None:
        values |= stored_values(step)
    with transaction.atomic():
        computation, is_new = Computation.objects.get_or_create(
            question_key=key, **revisions(question), defaults=values
        )
        if is_new:
            transaction.on_commit(partial(begin_in_background, "computations"))
    return computation


def request_showcase() -> None:
    """Enqueue the examples for the newest revision, unless they are computed or enqueued. This is a periodic task."""
    public, _ = Revision.current()
    if not Computation.objects.filter(kind=ShowcaseQuestion.kind, revision=public).exists():
        question = ShowcaseQuestion.of_public()
        enqueue(question, None, question_key(question, None))


def read_showcase() -> list[dict[str, Any]]:
    """Return the answers to show, the most confident first: the newest ones that were computed after data were last
    removed."""
    oldest, _ = Revision.oldest()
    done = Computation.objects.filter(
        kind=ShowcaseQuestion.kind, status=Computation.Status.DONE, private_to=None, revision__gte=oldest
    )
    newest = done.order_by("-revision", "-pk").first()
    document = newest and newest.document
    return list(document["examples"]) if document else []
