"""The kinds of long questions, and the computation of claimed ones, in a worker or in the periodic task of a server
(profiles.jobs.queue)."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from django.conf import settings
from django.db.models import Case, F, When
from django.utils import timezone

from predictor.comparisons import MapQuestion, MatrixQuestion
from predictor.core.steps import ComputedStep, single_thread
from predictor.models import Computation
from predictor.models.computations import ComputationQuerySet, pack_document
from predictor.predictions.next_measurements import NextMeasurementsQuestion
from predictor.predictions.question import RequestError
from predictor.predictions.rankings import RankingQuestion
from predictor.predictions.showcase import ShowcaseQuestion
from predictor.snapshot.building import Snapshot
from profiles.models import held
from profiles.models.base import MOST_ATTEMPTS

logger = logging.getLogger(__name__)

SAVE_SECONDS = 2.0


class LongQuestion(Protocol):
    """A question against one snapshot."""

    @property
    def kind(self) -> str: ...

    @property
    def snapshot(self) -> Snapshot: ...

    def canonical(self) -> dict[str, Any]:
        """Return the question in canonical form, as plain JSON values."""

    def steps(self, earlier: Mapping[str, Any] | None = None) -> Iterator[ComputedStep]:
        """Yield the steps to the answer, or only the remaining ones if `earlier` is the document of an earlier step."""


QUESTIONS = (RankingQuestion, MatrixQuestion, MapQuestion, NextMeasurementsQuestion, ShowcaseQuestion)
LONG_QUESTIONS: dict[str, Callable[[Mapping[str, Any], Any], LongQuestion]] = {
    **{question.kind: question.from_canonical for question in QUESTIONS},
    "program": RankingQuestion.from_canonical,  # of older stored computations
}


def unclaimed_computations() -> ComputationQuerySet:
    """Return the computations that no process has claimed, the oldest first. Rankings take longest and come after all
    others."""
    others_first = Case(When(kind=RankingQuestion.kind, then=1), default=0)
    return Computation.objects.unfinished().unheld().order_by(others_first, "pk")


def compute(computation: Computation) -> None:
    """Compute the rest of a claimed computation. A computation of an earlier revision is deleted, because a repeated
    question is about the newest revision."""
    if computation.attempts > MOST_ATTEMPTS:
        finish(computation, Computation.Status.FAILED)
        return
    try:
        with held(computation), single_thread():
            question = resume(computation)
            if question is None:
                computation.while_held().delete()
            else:
                compute_steps(computation, question)
    except Exception:
        logger.exception("%s was not computed", computation)
        finish(computation, Computation.Status.FAILED)


def resume(computation: Computation) -> LongQuestion | None:
    """Return the question of the computation; None if its subject or its revision is gone."""
    try:
        question = LONG_QUESTIONS[computation.kind](computation.question, computation.private_to)
    except RequestError:
        return None
    snapshot = question.snapshot
    own_revision = snapshot.private_revision if snapshot.holds_private else 0
    same_revision = (snapshot.database.revision, own_revision) == (computation.revision, computation.own_revision)
    same_viewer = snapshot.holds_private == (computation.private_to_id is not None)
    same_question = json.loads(json.dumps(question.canonical())) == computation.question
    return question if same_revision and same_viewer and same_question else None


def compute_steps(computation: Computation, question: LongQuestion) -> None:
    """Compute the answer, store the progress regularly, and stop if another process has taken over the computation."""
    saved = time.monotonic()
    for step in question.steps(computation.document):
        last = step
        if time.monotonic() - saved > SAVE_SECONDS:
            if not save(computation, step):
                return
            saved = time.monotonic()
    if save(computation, last):
        finish(computation, Computation.Status.DONE)


def save(computation: Computation, step: ComputedStep) -> bool:
    """Store the answer so far. Returns whether the lease is still held."""
    return bool(computation.while_held().update(**stored_values(step)))


def stored_values(step: ComputedStep) -> dict[str, Any]:
    """Return the columns with the answer so far."""
    packed = pack_document(step.document())
    return {"done": step.done, "total": step.total, "packed": packed, "size_bytes": len(packed)}


def finish(computation: Computation, status: str) -> None:
    if computation.release(status=status, finished_at=timezone.now()):
        remove_old()


def remove_old() -> None:
    """Delete all answers but the newest of each question, and the oldest ones beyond MPET_COMPUTATIONS_KEPT_BYTES."""
    seen, size_bytes, old = set(), 0, []
    rows = Computation.objects.finished().order_by(F("finished_at").desc(), "-pk")
    for key, question_key, row_bytes in rows.values_list("pk", "question_key", "size_bytes"):
        size_bytes += row_bytes
        if question_key in seen or size_bytes > settings.COMPUTATIONS_KEPT_BYTES:
            old.append(key)
        seen.add(question_key)
    Computation.objects.filter(pk__in=old).delete()
