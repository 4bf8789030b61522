"""The examples of the front page: computed after start and after each change of the database, read by the page."""

from __future__ import annotations

from typing import Any

from predictor.computations.asking import question_key, revisions
from predictor.computations.tasks import start_computing
from predictor.models import Computation
from predictor.predictions.showcase import ShowcaseQuestion
from profiles.models import Revision


def request_showcase() -> None:
    """Have the examples computed for the newest revision, unless they are or will be. A periodic task."""
    public, _ = Revision.current()
    showcases = Computation.objects.filter(kind=ShowcaseQuestion.kind, revision=public)
    if showcases.exists():
        return
    question = ShowcaseQuestion.of_public()
    _, is_new = Computation.objects.get_or_create(
        question_key=question_key(question, None),
        **revisions(question),
        defaults={"kind": question.kind, "question": question.canonical()},
    )
    if is_new:
        start_computing()


def read_showcase() -> list[dict[str, Any]]:
    """The answers to show, the most confident first: the newest that were computed since something was taken away."""
    oldest, _ = Revision.oldest()
    done = Computation.objects.filter(
        kind=ShowcaseQuestion.kind, status=Computation.Status.DONE, private_to=None, revision__gte=oldest
    )
    newest = done.order_by("-revision", "-pk").first()
    document = newest and newest.document
    return list(document["examples"]) if document else []
