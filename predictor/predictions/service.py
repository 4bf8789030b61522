"""From a request to a stored prediction: names to rows, the method on the viewer's snapshot, the answer kept for ever.

docs/decisions/prediction-idempotence.md: the same request at the same revision is the same stored prediction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mpet_site.web.plain_json import nan_to_null
from predictor.core.database import Database
from predictor.core.threads import single_thread
from predictor.models import AskedPrediction, Prediction
from predictor.predictions.advice import with_suggestion
from predictor.predictions.answering import run_question
from predictor.predictions.basis import Basis
from predictor.predictions.document import answer_document, stored_sources
from predictor.predictions.question import Question, resolve_with_snapshot
from predictor.predictions.request import PredictionRequest
from predictor.snapshot.building import Snapshot

ANSWER_VERSION = "5"  # of the document: raised when it changes shape, so that no stored one is taken for a new one


def predict(request: PredictionRequest, user: Any = None) -> Prediction:
    """The stored prediction for the request, made now unless it was made before. Raises a RequestError.

    A workload that nobody measured anywhere is predicted from simulated profiles alone, which needs no asking.
    """
    question, snapshot, origins = resolve_with_snapshot(request, user)
    canonical = canonical_request(question, snapshot.database) | {"include_outliers": request.include_outliers}
    key = request_key(canonical, snapshot, user, origins)
    stored: Prediction | None = Prediction.objects.filter(request_key=key).first()
    if stored is not None:
        note_asked(stored, user, is_first=False)
        return stored
    with with_suggestion(question, snapshot, request.viewer(user)):
        document, basis = answer_with_basis(request, question, snapshot)
    stored, is_new = Prediction.objects.get_or_create(
        request_key=key,
        defaults={
            "private_to": user if snapshot.holds_private else None,
            "workload": document["workload"],
            "target": document["target"],
            "method": document["method"],
            "method_version": document["method_version"],
            "revision": document["revision"],
            "answer": document,
            "source_uids": [str(uid) for uid in stored_sources(basis).order_by("uid").values_list("uid", flat=True)],
        },
    )
    note_asked(stored, user, is_first=is_new)
    return stored


def note_asked(prediction: Prediction, user: Any, *, is_first: bool) -> None:
    """It is one of the user's own from now on."""
    if user is not None and user.is_authenticated:
        AskedPrediction.objects.get_or_create(user=user, prediction=prediction, defaults={"is_first": is_first})


def preview_answer(request: PredictionRequest, user: Any = None, *, explained: bool = False) -> dict[str, Any]:
    """The document of the same answer, which is not kept; where it shall be `explained` with `why`, which takes longer
    than the rest. Raises a RequestError."""
    question, snapshot, _ = resolve_with_snapshot(request, user)
    with with_suggestion(question, snapshot, request.viewer(user)):
        return answer_with_basis(request, question, snapshot, explained=explained)[0]


def answer_with_basis(
    request: PredictionRequest, question: Question, snapshot: Snapshot, *, explained: bool = False
) -> tuple[dict[str, Any], Basis]:
    canonical = canonical_request(question, snapshot.database) | {
        "include_simulated": request.include_simulated,
        "include_outliers": request.include_outliers,
    }
    with single_thread():
        basis = run_question(question, snapshot)
        return answer_document(basis, canonical, explained=explained), basis


def canonical_request(question: Question, database: Database) -> dict[str, Any]:
    """The request as plain values in its only spelling: every name a slug, every setting with its value."""
    references = question.references
    canonical: dict[str, Any] = nan_to_null(
        {
            "workload": database.workloads[question.workload],
            "target": database.platforms[question.target],
            "references": None if references is None else [database.platforms[reference] for reference in references],
            "method": question.method.name,
            "method_version": question.method.version,
            "n": question.n,
            "settings": asdict(question.settings),
            "scenario": question.scenario.name,
            "strategy": question.scenario.strategy,
            "workload_changes": question.scenario.workload.as_values(),
            "platform_changes": question.scenario.platform.as_values(),
        }
    )
    return canonical


def request_key(canonical: dict[str, Any], snapshot: Snapshot, user: Any, origins: Sequence[str]) -> str:
    """The key of the stored prediction. Answers from public data alone are shared; others belong to their viewer and to
    the revision of that viewer's own data."""
    viewer = [user.pk, snapshot.private_revision] if snapshot.holds_private else None
    parts = [ANSWER_VERSION, canonical, snapshot.database.revision, viewer, origins]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
