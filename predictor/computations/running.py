"""Computing what waits: in a worker, or in a thread of the server, by whoever claims it first."""

from __future__ import annotations

import json
import logging
import threading
import time

from django.conf import settings
from django.db.models import Case, F, When
from django.utils import timezone

from predictor.computations.kinds import LONG_QUESTIONS, LONGEST_KINDS, LongQuestion
from predictor.core.steps import ComputedStep, single_thread
from predictor.models import Computation
from predictor.models.computations import pack_document
from predictor.predictions.question import RequestError
from profiles.models import held
from profiles.models.base import MOST_ATTEMPTS

logger = logging.getLogger(__name__)

SAVE_SECONDS = 2.0
CLAIMED_FROM = 8  # of the oldest that wait: others may be claiming as well
_one_at_a_time = threading.Lock()


def compute_waiting() -> int:
    """Compute what waits, the oldest first, until nothing does; one thread of a process at a time does. Returns how
    many were computed."""
    if not _one_at_a_time.acquire(blocking=False):
        return 0
    try:
        computed = 0
        while (computation := claim_next()) is not None:
            compute(computation)
            computed += 1
        return computed
    finally:
        _one_at_a_time.release()


def claim_next() -> Computation | None:
    """The oldest computation without a holder, now claimed; None: there is none. Rankings, which take longest,
    come after all others."""
    others_first = Case(When(kind__in=LONGEST_KINDS, then=1), default=0)
    waiting = Computation.objects.unfinished().unheld().order_by(others_first, "pk")
    return next((computation for computation in waiting[:CLAIMED_FROM] if computation.claim()), None)


def compute(computation: Computation) -> None:
    """Compute the rest of a claimed computation. One of a revision that is gone is dropped: whoever asks again asks
    about the newest."""
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
    """The question again; None: what it asked about, or the revision, is no longer there."""
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
    """Compute, store how far it is now and then, and stop where another has taken it over."""
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
    """Store the answer so far; whether the lease is still held."""
    packed = pack_document(step.document())
    values = {"done": step.done, "total": step.total, "packed": packed, "size_bytes": len(packed)}
    return bool(computation.while_held().update(**values))


def finish(computation: Computation, status: str) -> None:
    if computation.release(status=status, finished_at=timezone.now()):
        remove_old()


def remove_old() -> None:
    """Keep the newest answer of each question, and of all of them the newest MPET_COMPUTATIONS_KEPT_BYTES."""
    seen, size_bytes, old = set(), 0, []
    rows = Computation.objects.finished().order_by(F("finished_at").desc(), "-pk")
    for key, question_key, row_bytes in rows.values_list("pk", "question_key", "size_bytes"):
        size_bytes += row_bytes
        if question_key in seen or size_bytes > settings.COMPUTATIONS_KEPT_BYTES:
            old.append(key)
        seen.add(question_key)
    Computation.objects.filter(pk__in=old).delete()
